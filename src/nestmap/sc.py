"""Single cells: `nestmap.sc.tl.hnne` and `nestmap.sc.pl.hnne` (docs/use/single-cells.md)."""

from .app.sc import pl, tl
from .app.sc.models import model

__all__ = ["model", "pl", "tl"]
