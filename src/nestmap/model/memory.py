"""Bytes that a fit will need beyond X, stage by stage (docs/use/scale.md)."""

from __future__ import annotations

from ..core.points.reduce import ALL_COLUMNS, MOST_COLUMNS, MOVED, sample_size
from ..method.arrangement import MOST_LOCAL
from ..method.arrangement.local import n_columns
from ..method.neighbors.effort import TABLE, cell_size, list_bytes
from ..method.neighbors.prepared import ROWS_WITH_PANELS
from .plan import Plan, n_items
from .settings import FitSettings

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


def stage_bytes(plan: Plan, settings: FitSettings) -> dict[str, int]:
    """Bytes at each stage of a fit."""
    stages = _search_bytes(plan) | _map_bytes(plan, settings) | _graph_bytes(plan, settings)
    if settings.n_components == 0:
        del stages["layout"]
    if plan.method in ("given", "brute force"):
        stages = {name: size for name, size in stages.items() if name not in _SEARCH_STAGES}
    # kept to the end
    graph = n_items(plan.graphs.tree, plan.n_rows, LEAVES_PER_ROW) * _GRAPH_ITEM_BYTES
    holders = _GRAPH_IS_KEPT + (_SEARCH_STAGES if plan.graphs.tree == "rows" else ())
    return {
        name: int(size + (graph if name in holders else 0)) + FIXED_BYTES
        for name, size in stages.items()
    }


def whole_columns(n_features: int) -> int:
    """Reduced columns that hold all columns of a row."""
    return -(-n_features // 16) * 16


def _short_row_bytes(plan: Plan) -> float:
    """Of a short row, its tails and its size."""
    return 4.5 * plan.columns + 4


def _panel_bytes(plan: Plan) -> float:
    """Of a row in the panels that tiles read: its leading columns."""
    if plan.method == "exact":
        head: float = min(plan.columns, 96)
    elif plan.columns <= ALL_COLUMNS:
        head = min(plan.columns, 64)
    else:
        head = 0.8 * plan.columns
    return 4 * (head + 2) * _PANEL_FILL


def _search_bytes(plan: Plan) -> dict[str, float]:
    """The search of the first neighbours of the rows."""
    n = plan.n_rows
    short = _short_row_bytes(plan)
    if plan.method == "exact":
        lists = n * (_panel_bytes(plan) + 24)
        n_cells = 0.0
    else:
        lists = n * list_bytes(plan.n_listed) + min(n, ROWS_WITH_PANELS) * _panel_bytes(plan)
        n_cells = n / cell_size(n)
    sample = sample_size(n, plan.n_features)
    basis = 16 * sample * plan.n_features + 24 * plan.n_features * min(plan.columns, sample)
    near_cells = 4 * n_cells * min(n_cells, TABLE.near_cells)
    return {
        "short rows": n * (_ROW_BYTES + short + 0.5 * plan.columns + 4 * MOVED + 16),
        "directions": n * _ROW_BYTES + basis,
        "first neighbours": n * (_ROW_BYTES + short + 24) + lists + near_cells,
    }


def _map_bytes(plan: Plan, settings: FitSettings) -> dict[str, float]:
    """Centroids and the layout."""
    n = plan.n_rows
    d = settings.n_components
    p = n_columns(n, plan.n_features) if settings.is_local and d <= MOST_LOCAL else d
    table = 0 if plan.disk else plan.table
    frames = LEAVES_PER_ROW * n * 4 * p * (d + 3)
    stages = {
        "centroids": n * (_ROW_BYTES + 48) + table,
        "layout": n * (_ROW_BYTES + 16 + 8 * d * 4) + frames + table,
    }
    if settings.has_forces:
        graph = "rows" if settings.detail(n) == "rows" else plan.graphs.tree or plan.graphs.forces
        items = n_items(graph, n, LEAVES_PER_ROW)
        stages["islands"] = stages["layout"] + items * (_ISLAND_NODE_BYTES + _GRAPH_ITEM_BYTES)
    return stages


def _graph_bytes(plan: Plan, settings: FitSettings) -> dict[str, float]:
    """The search of neighbour graphs, and communities."""
    found: dict[str, float] = {}
    centroids = plan.n_rows * (_ROW_BYTES + 48) + (0 if plan.disk else plan.table)
    graphs = plan.graphs
    if graphs.tree or graphs.forces:
        both = (graphs.tree, graphs.forces)
        items = max(n_items(each, plan.n_rows, LEAVES_PER_ROW) for each in both)
        short = 5 * min(TABLE.usual_columns, whole_columns(plan.n_features)) + 4 * MOVED + 44
        panels = 4 * 66 * _PANEL_FILL
        # lists, and neighbours in float64
        each = short + list_bytes(TABLE.longest_list) + 2 * _GRAPH_ITEM_BYTES
        found["graph"] = centroids + items * each + min(items, ROWS_WITH_PANELS) * panels
        keeps_all = plan.columns >= min(MOST_COLUMNS, plan.n_features)
        if graphs.tree == "rows" and plan.method == "exact" and keeps_all:
            # short rows of the join are made before the graph (neighbors/shared.py)
            found["graph"] += plan.n_rows * _short_row_bytes(plan)
    if settings.hierarchy == "graph":
        items = n_items(graphs.tree or "rows", plan.n_rows, LEAVES_PER_ROW)
        leaves = n_items("nodes", plan.n_rows, LEAVES_PER_ROW)
        links = items * _LINKS_PER_ITEM * _LINK_BYTES
        found["communities"] = centroids + links + leaves * _COMMUNITY_BYTES
    return found
