"""`python -m nestmap` is the command `nestmap`."""

from .cli import main

raise SystemExit(main())
