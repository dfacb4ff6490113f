"""Bytes that a fit will need beyond X, stage by stage (docs/use/scale.md)."""

from __future__ import annotations

from ..core.points.reduce import ALL_COLUMNS, MOST_COLUMNS, MOVED, sample_size
from ..method.arrangement import MOST_LOCAL, n_columns
from ..method.neighbors.effort import TABLE, cell_size, list_bytes
from ..method.neighbors.prepared import ROWS_WITH_PANELS
from .job import Job, n_items

# level-0 nodes per row, at most, about: pairs alone would give 0.5, real data give 0.15 to 0.22
LEAVES_PER_ROW = 0.25
FIXED_BYTES = 150_000_000  # the interpreter, libraries, blocks in flight
_ROW_BYTES = 32  # per row: hashes and their order, members, links
_GRAPH_ITEM_BYTES = 30 * 8  # per item of a neighbour graph
_ISLAND_NODE_BYTES = 2 * 50 * 12 + 200  # per node: weights both ways while they are added, grid
_LINK_BYTES = 60  # per link between communities, while links are added
_LINKS_PER_ITEM = 15
_COMMUNITY_BYTES = 1500  # per leaf: what a leaf takes while communities are found
_PANEL_FILL = 1.2  # times: cells are not multiples of a panel
_SEARCH_STAGES = ("short rows", "directions", "first neighbours")
_GRAPH_IS_KEPT = ("centroids", "communities", "layout")  # stages after the search of the graph


def stage_bytes(job: Job) -> dict[str, int]:
    """Bytes at each stage of a fit."""
    stages = _search_bytes(job) | _map_bytes(job) | _graph_bytes(job)
    if job.n_components == 0:
        del stages["layout"]
    if job.method in ("given", "brute force"):
        stages = {name: size for name, size in stages.items() if name not in _SEARCH_STAGES}
    graph = n_items(job.graphs.tree, job.n, LEAVES_PER_ROW) * _GRAPH_ITEM_BYTES  # kept to the end
    holders = _GRAPH_IS_KEPT + (_SEARCH_STAGES if job.graphs.tree == "rows" else ())
    return {
        name: int(size + (graph if name in holders else 0)) + FIXED_BYTES
        for name, size in stages.items()
    }


def _short_row_bytes(job: Job) -> float:
    """Of a short row, its tails and its size."""
    return 4.5 * job.columns + 4


def _panel_bytes(job: Job) -> float:
    """Of a row in the panels that tiles read: its leading columns."""
    if job.method == "exact":
        head: float = min(job.columns, 96)
    elif job.columns <= ALL_COLUMNS:
        head = min(job.columns, 64)
    else:
        head = 0.8 * job.columns
    return 4 * (head + 2) * _PANEL_FILL


def _search_bytes(job: Job) -> dict[str, float]:
    """The search of the first neighbours of the rows."""
    n = job.n
    short = _short_row_bytes(job)
    if job.method == "exact":
        lists = n * (_panel_bytes(job) + 24)
        n_cells = 0.0
    else:
        lists = n * list_bytes(job.n_listed) + min(n, ROWS_WITH_PANELS) * _panel_bytes(job)
        n_cells = n / cell_size(n)
    sample = sample_size(n, job.n_features)
    basis = 16 * sample * job.n_features + 24 * job.n_features * min(job.columns, sample)
    near_cells = 4 * n_cells * min(n_cells, TABLE.near_cells)
    return {
        "short rows": n * (_ROW_BYTES + short + 0.5 * job.columns + 4 * MOVED + 16),
        "directions": n * _ROW_BYTES + basis,
        "first neighbours": n * (_ROW_BYTES + short + 24) + lists + near_cells,
    }


def _map_bytes(job: Job) -> dict[str, float]:
    """Centroids and the layout."""
    n = job.n
    d = job.n_components
    p = n_columns(n, job.n_features) if job.is_local and d <= MOST_LOCAL else d
    table = 0 if job.on_disk else job.table
    frames = LEAVES_PER_ROW * n * 4 * p * (d + 3)
    stages = {
        "centroids": n * (_ROW_BYTES + 48) + table,
        "layout": n * (_ROW_BYTES + 16 + 8 * d * 4) + frames + table,
    }
    if job.has_forces:
        graph = "rows" if job.detail == "rows" else job.graphs.tree or job.graphs.forces
        items = n_items(graph, n, LEAVES_PER_ROW)
        stages["islands"] = stages["layout"] + items * (_ISLAND_NODE_BYTES + _GRAPH_ITEM_BYTES)
    return stages


def _graph_bytes(job: Job) -> dict[str, float]:
    """The search of neighbour graphs, and communities."""
    found: dict[str, float] = {}
    centroids = job.n * (_ROW_BYTES + 48) + (0 if job.on_disk else job.table)
    graphs = job.graphs
    if graphs.tree or graphs.forces:
        items = max(n_items(each, job.n, LEAVES_PER_ROW) for each in (graphs.tree, graphs.forces))
        short = 5 * min(TABLE.usual_columns, -(-job.n_features // 16) * 16) + 4 * MOVED + 44
        panels = 4 * 66 * _PANEL_FILL
        # lists, and neighbours in float64
        each = short + list_bytes(TABLE.longest_list) + 2 * _GRAPH_ITEM_BYTES
        found["graph"] = centroids + items * each + min(items, ROWS_WITH_PANELS) * panels
        keeps_all = job.columns >= min(MOST_COLUMNS, job.n_features)
        if graphs.tree == "rows" and job.method == "exact" and keeps_all:
            # short rows of the join are made before the graph (neighbors/shared.py)
            found["graph"] += job.n * _short_row_bytes(job)
    if job.communities:
        items = n_items(graphs.tree or "rows", job.n, LEAVES_PER_ROW)
        leaves = n_items("nodes", job.n, LEAVES_PER_ROW)
        links = items * _LINKS_PER_ITEM * _LINK_BYTES
        found["communities"] = centroids + links + leaves * _COMMUNITY_BYTES
    return found
