"""The options of a fit, and those that several commands share."""

from __future__ import annotations

from .declare import Option
from .namer_options import NAMER
from .reading_options import ENCODING, READING
from .values import to_dims, to_json, to_shape

MAP = "map"
LAYOUT = "layout"
NEIGHBORS = "neighbours"
RESOURCES = "resources"
OUTPUT = "output"

RUN = Option("run", "a folder that `nestmap fit` wrote", "RUN")
THREADS = Option("--threads", "threads (default: all cores)", convert=int, group=RESOURCES)
QUIET = Option("--quiet", "say nothing but errors", is_switch=True, group=OUTPUT)
AS_JSON = Option(
    "--json", "say the result as JSON on standard output", is_switch=True, group=OUTPUT
)
RUNNING = (THREADS, QUIET, AS_JSON)
FORCE = Option("--force", "replace what is there", is_switch=True, group=OUTPUT)
FOR_SPREADSHEETS = Option(
    "--for-spreadsheets",
    "in .csv and .tsv files, put ' before texts that a spreadsheet would take for a formula "
    "(= + - @)",
    is_switch=True,
    group=OUTPUT,
)
TRUST = Option(
    "--trust",
    "keep 10 true neighbours of each row and how many of them the map keeps together: "
    "the explorer shows where to trust the map",
    is_switch=True,
    group=OUTPUT,
)


def output(metavar: str, text: str, default: str | None = None) -> tuple[Option, ...]:
    """Where a result goes, and whether it may replace what is there."""
    where = Option(
        "-o --output", text, metavar, default=default, is_required=default is None, group=OUTPUT
    )
    return where, FORCE


_MAP = (
    Option(
        "--dims",
        "dimensions of the map, or of several maps on one hierarchy: 2,3",
        "D[,D]",
        convert=to_dims,
        default=[2],
        group=MAP,
    ),
    Option(
        "--metric",
        "euclidean, cosine, manhattan, correlation, mahalanobis, seuclidean and hellinger are "
        "fast; other metrics of scikit-learn compare all rows with all. precomputed: the data are "
        "a square matrix of distances",
        "NAME",
        default="euclidean",
        parameter="metric",
        group=MAP,
    ),
    Option(
        "--metric-params",
        "parameters of the metric, such as '{\"p\": 3}' of minkowski",
        "JSON",
        convert=to_json,
        parameter="metric_params",
        group=MAP,
        is_expert=True,
    ),
    Option(
        "--hierarchy",
        "the levels above the leaves: communities of the neighbour graph on several scales, or "
        "components of first neighbours of centroids (the paper's); see docs/explain/tree.md",
        choices=("graph", "first_neighbors"),
        default="graph",
        parameter="hierarchy",
        group=MAP,
    ),
    Option(
        "--like",
        "an earlier model file of data that share rows with these: the new map lies on its map, "
        "and clusters that are the same keep their numbers (docs/use/living.md)",
        "FILE",
        parameter="like",
        group=MAP,
    ),
    Option(
        "--new-points",
        "which cluster a new row joins: that of the nearest level-0 centroid (the paper's rule), "
        "or that of the nearest training row (keeps the training data)",
        choices=("centroid", "neighbor"),
        default="centroid",
        parameter="new_points",
        group=MAP,
        is_expert=True,
    ),
)

_LAYOUT = (
    Option(
        "--layout",
        "how much room clusters get: islands by the forces of t-SNE, coarse to fine along the "
        "hierarchy (2-D only); balls around their centres (the paper's descent); or regions that "
        "fill the picture, area by number of rows (2-D only). auto: islands in 2-D, else descent. "
        "docs/explain/layouts.md compares them. The paper's own map is --hierarchy first_neighbors "
        "--layout descent --arrangement global",
        choices=("auto", "islands", "descent", "mosaic"),
        default="auto",
        parameter="layout",
        group=LAYOUT,
    ),
    Option(
        "--tightness",
        "of islands: 1 is about t-SNE's balance of attraction and repulsion; more makes smaller "
        "islands with wider seas",
        convert=float,
        default=1.0,
        parameter="tightness",
        group=LAYOUT,
    ),
    Option(
        "--detail",
        "of islands: the finest that forces act on, leaves (their rows lie around them in balls) "
        "or rows. auto: rows up to 100,000 of them",
        choices=("auto", "leaves", "rows"),
        default="auto",
        parameter="detail",
        group=LAYOUT,
        is_expert=True,
    ),
    Option(
        "--radius",
        "of the descent, and of leaves of islands: a cluster's members move into a ball with this "
        "fraction of the distance to the nearest other cluster. At most 0.2 guarantees that "
        "clusters do not overlap in a descent (Lemma 1)",
        convert=float,
        default=1 / 3,
        parameter="radius",
        group=LAYOUT,
        is_expert=True,
    ),
    Option(
        "--arrangement",
        "of the descent: members of a cluster lie by the cluster's own principal components, "
        "turned towards its neighbours (local), or by the preliminary embedding (global, the "
        "paper's). auto: local up to 8 components, global beyond (docs/explain/descent.md)",
        choices=("auto", "local", "global"),
        default="auto",
        parameter="arrangement",
        group=LAYOUT,
        is_expert=True,
    ),
    Option(
        "--preliminary",
        "of the descent: where points lie relative to each other before it, pca_centroids (PCA "
        "fitted on about a thousand centroids, the paper's), pca, random_projection, random, or "
        "a .npy file of coordinates. With a local arrangement it only places the clusters of the "
        "top level",
        "KIND",
        default="pca_centroids",
        parameter="preliminary",
        group=LAYOUT,
        is_expert=True,
    ),
    Option(
        "--inflate",
        "of the descent: stretch squeezed clusters, as the authors' code does (--arrangement "
        "global in 2-D and 3-D only)",
        default=False,
        is_switch=True,
        parameter="inflate",
        group=LAYOUT,
        is_expert=True,
    ),
    Option(
        "--seed",
        "of the random preliminary embeddings",
        "N",
        convert=int,
        parameter="random_state",
        group=LAYOUT,
        is_expert=True,
    ),
)

_NEIGHBORS = (
    Option(
        "--neighbors",
        "first neighbours of the rows: exact, approximate, or auto, which finds the exact ones as "
        "long as that is a matter of seconds (docs/explain/search.md has the rule); or a file of "
        "yours: .npy with the index of each row's nearest other row, or of its k nearest; .npz "
        "with indices and distances, or a sparse matrix of distances (docs/use/distances.md)",
        "HOW",
        default="auto",
        parameter="neighbors",
        group=NEIGHBORS,
    ),
    Option(
        "--target-recall",
        "of the approximate search: the share of rows whose neighbour is to be the true one",
        convert=float,
        default=0.9,
        parameter="target_recall",
        group=NEIGHBORS,
        is_expert=True,
    ),
)

_RESOURCES = (
    Option(
        "--max-memory",
        "bytes that a fit may use beyond the data, such as 4GB (default: 60% of what the machine "
        "or the container has to give)",
        "SIZE",
        parameter="max_memory",
        group=RESOURCES,
    ),
    Option(
        "--resume",
        "keep finished levels beside RUN, and go on from them after a fit that was stopped",
        is_switch=True,
        group=RESOURCES,
    ),
    Option(
        "--scheduler",
        "fit on a dask cluster, such as tcp://10.0.0.1:8786; DATA is a .npy file, a .zarr array "
        "or parquet files ('rows/*.parquet') that its workers see, and so is the folder of RUN "
        "(docs/use/dask.md)",
        "ADDRESS",
        group=RESOURCES,
        is_expert=True,
    ),
)

_KEPT = (
    Option("--plot", "also draw the map: a .png, .svg or .pdf file", "FILE", group=OUTPUT),
    TRUST,
    Option(
        "--images",
        "rows are pictures of so many pixels (28x28, or 32x32x3 for colours): keep thumbnails "
        "for the explorer. Those of folders and arrays of pictures are kept anyway; none: they "
        "are not",
        "HxW",
        convert=to_shape,
        group=OUTPUT,
    ),
)

FIT = (
    Option("data", "a file (docs/use/files.md lists the formats), or - for standard input", "DATA"),
    *READING,
    *ENCODING,
    *_MAP,
    *_LAYOUT,
    *_NEIGHBORS,
    THREADS,
    *_RESOURCES,
    *output("RUN", "the folder to write"),
    *_KEPT,
    *NAMER,
    QUIET,
    AS_JSON,
)
# Options that set a parameter of the model, by the name of the parameter.
MODEL_OPTIONS = {option.parameter: option for option in FIT if option.parameter}
# Parameters that the command line has another word for, or that are set in another way.
FLAGS = {
    **{name: option.flag for name, option in MODEL_OPTIONS.items()},
    "n_components": "--dims",
    "n_jobs": THREADS.flag,
}
