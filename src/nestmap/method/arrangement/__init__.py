"""How the children of a node lie relative to each other, before they are scaled to their ball.

A node's frame is a linear map from coordinates of its members to offsets in the map.

- "global" is the paper's: the preliminary embedding itself, the same for all nodes, optionally
  inflated.
- "local" is each node's own principal components, which say more about a handful of neighbours than
  one map for everything can. What PCA leaves open, rotation and reflection, is settled by the nodes
  around it: the frame is turned until neighbours in the data lie where they lie in the map
  (orthogonal Procrustes).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.arrays import Array
from .local import LocalArrangement
from .old import OldArrangement
from .plain import GlobalArrangement

ARRANGEMENTS = ("auto", "local", "global")
MOST_LOCAL = 8  # up to so many, local frames are the more faithful arrangement
Arrangement = LocalArrangement | OldArrangement | GlobalArrangement
# of new rows; None where they were given for the training rows only
Coordinates = Callable[[Any, int], Array] | None
