"""First neighbours of rows, and k-nearest-neighbour graphs."""

from .method.neighbors import (
    FirstNeighbors,
    NeighborGraph,
    NeighborReport,
    first_neighbors,
    neighbor_graph,
)

__all__ = ["FirstNeighbors", "NeighborGraph", "NeighborReport", "first_neighbors", "neighbor_graph"]
