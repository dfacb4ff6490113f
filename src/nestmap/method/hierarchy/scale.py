"""The resolution of modularity at which a graph has the clearest communities."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...core.arrays import Array
from ...core.exact import exp, log
from ...core.threads import map_blocks
from .link_graph import LinkGraph, borders, find_communities

# resolutions, from 1/16 to 1 in half octaves
CANDIDATES = tuple(2.0 ** (k // 2) * (math.sqrt(2) if k % 2 else 1) for k in range(-8, 1))
_LOG_2 = 0.6931471805599453
# resolutions far above the clusters' scale: communities cut through clusters there, which shows how
# many links random cuts lose
_FINE_RESOLUTIONS = (8.0, 16.0, 32.0)
# resolution of the pieces that candidates are built from: faster and more stable than from atoms
PIECE_RESOLUTION = 64.0
# partitions per resolution: the mean of several depends less on the order of the nodes
_N_TRIES = 4
_N_TRIES_FINE = 2
# lowest score of a clear scale: two separate clusters score log(2) = 0.69, a cloud about 0.1
_MIN_SCORE = 0.5
_TOLERANCE = 0.1  # candidates within this share of the best score are averaged
_MIN_LOSS = 1e-4  # share of links, a floor for logarithms


@dataclass(frozen=True)
class _Attempt:
    """One partition to compute; `number` is the order in which nodes are visited."""

    graph: LinkGraph
    resolution: float
    number: int = 0


@dataclass(frozen=True)
class _PartitionMeans:
    """Logarithms of two means over partitions."""

    n_effective: float  # communities, by the inverse Simpson index
    loss: float  # share of links that leave their community


def natural_scale(graph: LinkGraph, n_threads: int = 1) -> float | None:
    """The resolution at which communities have the thinnest borders for their number.

    None where no resolution stands out. Random cuts through a continuous cloud lose a share of
    links that grows as a power of the number of parts; a line through fine communities, in
    logarithms, estimates that power. Where clusters exist, fewer links are lost than the line
    predicts. The ratio of both losses is 1 without clusters of that size, and near 0 for
    well-separated ones. A resolution scores (1 - ratio) * log(effective number of communities); the
    result is the weighted mean (of logarithms) of the resolutions with about the highest score.
    """
    tried = [_Attempt(graph, PIECE_RESOLUTION, number) for number in range(_N_TRIES)]
    tried += [
        _Attempt(graph, resolution, i)
        for resolution in _FINE_RESOLUTIONS
        for i in range(_N_TRIES_FINE)
    ]
    cut = _partitions(tried, n_threads)
    pieces = cut[:_N_TRIES]
    fine = cut[_N_TRIES:]
    coarse = _on_pieces(graph, pieces, n_threads)
    line = _fit_line(_measure(graph, fine, _N_TRIES_FINE) + _measure(graph, pieces, _N_TRIES))
    if line is None:
        return None
    height, slope = line
    scores = [
        round(_excess(each, height + slope * each.n_effective) * each.n_effective, 6)
        for each in _measure(graph, coarse, _N_TRIES)
    ]
    return _best_resolution(scores)


def _excess(found: _PartitionMeans, usual: float) -> float:
    """Share of the usual loss that a partition does without."""
    return 1 - float(exp(found.loss - usual))


def _best_resolution(scores: list[float]) -> float | None:
    """The mean of the candidates, in half octaves, weighted by closeness to the best score."""
    best = max(scores)
    if best < _MIN_SCORE:
        return None
    shares = [max(0.0, 1 - (1 - score / best) / _TOLERANCE) for score in scores]
    weighted = math.fsum(number * share for number, share in enumerate(shares))
    half_octaves = weighted / math.fsum(shares)
    resolution: float = CANDIDATES[0] * float(exp(half_octaves / 2 * _LOG_2))
    return round(resolution, 9)


def _on_pieces(graph: LinkGraph, pieces: list[Array], n_threads: int) -> list[Array]:
    """Partitions at the candidate resolutions, each of communities that consist of pieces."""
    parts = [slice(i, i + 1) for i in range(_N_TRIES)]

    def contract(part: slice) -> LinkGraph:
        labels = pieces[part.start]
        return graph.contract(labels, int(labels.max()) + 1)

    small = map_blocks(contract, parts, n_threads)
    tried = [_Attempt(own, resolution) for resolution in CANDIDATES for own in small]
    found = _partitions(tried, n_threads)
    return [labels[pieces[i % _N_TRIES]] for i, labels in enumerate(found)]


def _partitions(tried: list[_Attempt], n_threads: int) -> list[Array]:
    def attempt(part: slice) -> Array:
        own = tried[part.start]
        return find_communities(own.graph, own.resolution, number=own.number)

    return map_blocks(attempt, [slice(i, i + 1) for i in range(len(tried))], n_threads)


def _measure(graph: LinkGraph, partitions: list[Array], n_tries: int) -> list[_PartitionMeans]:
    """Means over every `n_tries` consecutive partitions."""
    starts = range(0, len(partitions), n_tries)
    return [_mean_borders(graph, partitions[i : i + n_tries]) for i in starts]


def _mean_borders(graph: LinkGraph, partitions: list[Array]) -> _PartitionMeans:
    found = [borders(graph, labels) for labels in partitions]
    numbers = [-float(log(concentration)) for _, concentration in found]
    losses = [float(log(max(lost, _MIN_LOSS))) for lost, _ in found]
    return _PartitionMeans(math.fsum(numbers) / len(found), math.fsum(losses) / len(found))


def _fit_line(measured: list[_PartitionMeans]) -> tuple[float, float] | None:
    """Height and slope of loss over number, by least squares; None if all numbers are equal."""
    x = [each.n_effective for each in measured]
    y = [each.loss for each in measured]
    middle = math.fsum(x) / len(x)
    height = math.fsum(y) / len(y)
    spread = math.fsum((each - middle) ** 2 for each in x)
    if spread < _MIN_LOSS:
        return None
    slope = math.fsum((a - middle) * (b - height) for a, b in zip(x, y, strict=True)) / spread
    return height - slope * middle, slope
