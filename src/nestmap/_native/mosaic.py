"""What cpp/mosaic.cpp computes, in plain Python: a convex region divided among children, area by share.

The parts are a power diagram: polygon i is where |x - s_i|^2 - w_i is smallest. Sites s start at the children's
arrangement; weights w are found by damped Newton steps so that areas are right; for a few rounds sites move to the
centres of their polygons. Polygons are (n, 2) arrays, counter-clockwise.
"""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from .._geometry import INSIDE, root

MOST, AREA_ERROR, NEWTON_STEPS = 48, 0.01, 20  # as in the C++


def divide_regions(
    region_starts: Array,
    region_points: Array,
    order: Array,
    starts: Array,
    offsets: Array,
    shares: Array,
    rounds: int,
) -> tuple[Array, list[Array]]:
    """Centres and polygons of all children of all groups."""
    centres, polygons = np.zeros((len(order), 2)), [np.empty((0, 2))] * len(order)
    for g in range(len(starts) - 1):
        region = region_points[region_starts[g] : region_starts[g + 1]]
        _divide(region, order[starts[g] : starts[g + 1]], offsets, shares, rounds, centres, polygons)
    return centres, polygons


def _divide(
    region: Array, ids: Array, offsets: Array, shares: Array, rounds: int, centres: Array, polygons: list[Array]
) -> None:
    area, centre, covariance = moments(region)
    if area <= 0 or len(ids) == 1:
        for i in ids:
            centres[i], polygons[i] = (centre if area > 0 else region[0]), region
        return
    sites = _place_sites(region, area, centre, covariance, offsets[ids], shares[ids])
    targets = area * shares[ids] / shares[ids].sum()
    if len(ids) > MOST:
        for part, half in _halve(region, covariance, sites, targets):
            _divide(part, ids[half], offsets, shares, rounds, centres, polygons)
        return
    found = _solve(region, sites, targets)
    for _ in range(rounds):
        found = _solve(region, np.array([_centre(p, s) for (p, _), s in zip(found, sites, strict=True)]), targets)
    for i, (polygon, _) in zip(ids, found, strict=True):
        centres[i], polygons[i] = _centre(polygon, centre), polygon


def _centre(polygon: Array, default: Array) -> Array:
    area, centre, _ = moments(polygon)
    return centre if area > 0 else default


def moments(polygon: Array) -> tuple[float, Array, Array]:
    """Area, centre and covariance of a uniform density on a convex polygon."""
    if len(polygon) < 3:
        return 0.0, np.zeros(2), np.zeros((2, 2))
    a, b = polygon[1:-1] - polygon[0], polygon[2:] - polygon[0]
    t = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2
    area = float(t.sum())
    if area <= 0:
        return 0.0, polygon[0], np.zeros((2, 2))
    mean = (t[:, None] * (a + b)).sum(axis=0) / (3 * area)
    total = a + b
    second = np.einsum("t,ti,tj->ij", t, a, a) + np.einsum("t,ti,tj->ij", t, b, b)
    second = (second + np.einsum("t,ti,tj->ij", t, total, total)) / (12 * area)
    return area, polygon[0] + mean, second - np.outer(mean, mean)


def clip(polygon: Array, edges: Array, normal: Array, limit: float, edge: int) -> tuple[Array, Array]:
    """The part of a polygon where normal . x <= limit; edges name the cut behind each side."""
    away = polygon @ normal - limit
    points, names = [], []
    for i in range(len(polygon)):
        j = i + 1 if i + 1 < len(polygon) else 0
        if away[i] <= 0:
            points.append(polygon[i])
            names.append(edges[i])
        if (away[i] <= 0) != (away[j] <= 0):
            t = away[i] / (away[i] - away[j])
            points.append(polygon[i] + t * (polygon[j] - polygon[i]))
            names.append(edge if away[i] <= 0 else edges[i])
    return np.array(points).reshape(-1, 2), np.array(names, dtype=np.int64)


def outside(starts: Array, corners: Array, ids: Array, points: Array) -> Array:
    """How far point i lies outside polygon ids[i] (a slice of corners); negative: inside."""
    out = np.full(len(ids), -np.inf)
    counts = np.diff(starts)[ids]
    for k in range(counts.max(initial=0)):
        rows = np.flatnonzero(counts > k)
        first = starts[ids[rows]]
        a = corners[first + k]
        edge, away = corners[first + (k + 1) % counts[rows]] - a, points[rows] - a
        length = np.sqrt((edge * edge).sum(axis=1))
        cross = away[:, 0] * edge[:, 1] - away[:, 1] * edge[:, 0]
        distance = np.divide(cross, length, out=np.full_like(cross, -np.inf), where=length > 0)
        out[rows] = np.maximum(out[rows], distance)
    return out


def _place_sites(
    region: Array, area: float, centre: Array, covariance: Array, offsets: Array, shares: Array
) -> Array:
    """The arrangement, whitened and given the region's own spread, inside the region."""
    weights = shares / shares.sum()
    away = offsets - weights @ offsets
    whiten = root((weights[:, None] * away).T @ away, 1e-4, True)
    steps = away @ whiten @ root(covariance, 1e-4, False)
    # equal places would have no border between them: a small spiral tells them apart
    rank = np.empty(len(steps))
    rank[np.lexsort((shares, offsets[:, 1], offsets[:, 0]))] = np.arange(len(steps))
    turn = 2.399963 * rank
    steps = steps + 1e-3 * np.sqrt(area / len(steps)) * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    reach = np.array([border(region, centre, step) for step in steps])
    return np.asarray(centre + np.where(reach < 1 / INSIDE, INSIDE * reach, 1.0)[:, None] * steps)


def border(region: Array, start: Array, step: Array) -> float:
    """How many times `step` fits between a point inside and the border."""
    edge = np.roll(region, -1, axis=0) - region
    towards = step[0] * edge[:, 1] - step[1] * edge[:, 0]
    distance = (region[:, 0] - start[0]) * edge[:, 1] - (region[:, 1] - start[1]) * edge[:, 0]
    ahead = towards > 0
    return max(0.0, float((distance[ahead] / towards[ahead]).min())) if ahead.any() else 1e300


def _halve(region: Array, covariance: Array, sites: Array, targets: Array) -> list[tuple[Array, Array]]:
    """Two halves across the region's longer axis, and who goes where."""
    angle = np.arctan2(covariance[0, 1], (covariance[0, 0] - covariance[1, 1]) / 2) / 2
    axis = np.array([np.cos(angle), np.sin(angle)])
    order = np.argsort(sites @ axis, kind="stable")
    half, k = 0.0, 0
    while k + 1 < len(order) and (k == 0 or half + targets[order[k]] / 2 < targets.sum() / 2):
        half += targets[order[k]]
        k += 1
    along = region @ axis
    low, high = float(along.min()), float(along.max())
    none = np.full(len(region), -1)
    for _ in range(50):
        middle = (low + high) / 2
        if moments(clip(region, none, axis, middle, -1)[0])[0] < half:
            low = middle
        else:
            high = middle
    middle = (low + high) / 2
    below, above = clip(region, none, axis, middle, -1)[0], clip(region, none, -axis, -middle, -1)[0]
    return [(below, order[:k]), (above, order[k:])]


def _diagram(region: Array, sites: Array, weights: Array) -> list[tuple[Array, Array]]:
    """Polygons with the neighbour behind each side (-1: the border)."""
    found = []
    for i, site in enumerate(sites):
        polygon, edges = region, np.full(len(region), -1)
        for j, other in enumerate(sites):
            if j != i and len(polygon):
                limit = other @ other - site @ site - weights[j] + weights[i]
                polygon, edges = clip(polygon, edges, 2 * (other - site), limit, j)
        found.append((polygon, edges))
    return found


def _solve(region: Array, sites: Array, targets: Array) -> list[tuple[Array, Array]]:
    """Polygons whose areas are the targets."""
    weights = np.zeros(len(sites))

    def look(w: Array) -> tuple[list[tuple[Array, Array]], Array]:
        found = _diagram(region, sites, w)
        return found, np.array([moments(polygon)[0] for polygon, _ in found])

    found, areas = look(weights)
    least = 0.5 * min(1.0, float((areas / targets).min()))
    for _ in range(NEWTON_STEPS):
        before = float((np.abs(areas - targets) / targets).max())
        if before <= AREA_ERROR:
            break
        direction, length, start = _newton(found, sites, targets - areas), 1.0, weights
        for _ in range(12):
            weights = start + length * direction
            found, areas = look(weights)
            error = float((np.abs(areas - targets) / targets).max())
            if (areas / targets).min() > least and error < (1 - length / 4) * before:
                break
            length /= 2
        if areas.min() <= 0:  # no way on: a polygon that is lost has no borders to find it by
            return look(start)[0]
    return found


def _newton(found: list[tuple[Array, Array]], sites: Array, missing: Array) -> Array:
    """Solves H d = missing area; H_ij = -border_ij / (2 |s_i - s_j|), the derivative of areas by weights."""
    n = len(sites)
    h = np.zeros((n, n))
    for i, (polygon, edges) in enumerate(found):
        sides = np.linalg.norm(np.roll(polygon, -1, axis=0) - polygon, axis=1)
        for j, side in zip(edges, sides, strict=True):
            if j >= 0:
                slope = side / (2 * max(float(np.linalg.norm(sites[i] - sites[j])), 1e-300))
                h[i, j] -= slope
                h[i, i] += slope
    h[np.diag_indices(n)] += 1e-9 * h.diagonal().max() + 1e-300
    return np.linalg.solve(h, missing)
