"""`python -m nestmap` is the command `nestmap`."""

from .app.cli import main

raise SystemExit(main())
