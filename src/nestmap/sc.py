"""Single cells: `nestmap.sc.tl.hnne` and `nestmap.sc.pl.hnne` (docs/use/single-cells.md)."""

from .app.sc import pl, tl

__all__ = ["pl", "tl"]
