"""Twin of cpp/mosaic.cpp: a convex region divided among children, with areas by their shares.

The parts are a power diagram: polygon i is where |x - s_i|^2 - w_i is smallest. Sites s start at
the children's arrangement; damped Newton steps find the weights w at which areas match; for a few
rounds sites move to the centroids of their polygons (Lloyd's algorithm). Polygons are (n, 2)
arrays, counter-clockwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array

# the same values as in cpp/mosaic.cpp
INSIDE = 0.9  # sites lie at most this share of the way from the centre to the border
MAX_CHILDREN = 48  # of one power diagram; a region with more is halved first
AREA_ERROR = 0.01  # largest relative error of an area at which Newton's method stops
NEWTON_STEPS = 20
LINE_SEARCH_STEPS = 12  # halvings of a Newton step
BISECTION_STEPS = 50  # for the cut that halves a region


@dataclass(frozen=True, eq=False)
class PolygonMoments:
    """Moments of a uniform density on a polygon."""

    area: float
    centre: Array  # (2,)
    covariance: Array  # (2, 2)


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
    centres = np.zeros((len(order), 2))
    polygons = [np.empty((0, 2))] * len(order)
    for g in range(len(starts) - 1):
        region = region_points[region_starts[g] : region_starts[g + 1]]
        _divide(
            region, order[starts[g] : starts[g + 1]], offsets, shares, rounds, centres, polygons
        )
    return centres, polygons


def _divide(
    region: Array,
    ids: Array,
    offsets: Array,
    shares: Array,
    rounds: int,
    centres: Array,
    polygons: list[Array],
) -> None:
    whole = moments(region)
    if whole.area <= 0 or len(ids) == 1:
        for i in ids:
            centres[i] = whole.centre if whole.area > 0 else region[0]
            polygons[i] = region
        return
    sites = _place_sites(region, whole, offsets[ids], shares[ids])
    targets = whole.area * shares[ids] / shares[ids].sum()
    if len(ids) > MAX_CHILDREN:
        for part, half in _halve(region, whole.covariance, sites, targets):
            _divide(part, ids[half], offsets, shares, rounds, centres, polygons)
        return
    found = _solve(region, sites, targets)
    for _ in range(rounds):
        found = _solve(
            region,
            np.array([_centre(p, s) for (p, _), s in zip(found, sites, strict=True)]),
            targets,
        )
    for i, (polygon, _) in zip(ids, found, strict=True):
        centres[i] = _centre(polygon, whole.centre)
        polygons[i] = polygon


def _centre(polygon: Array, default: Array) -> Array:
    found = moments(polygon)
    return found.centre if found.area > 0 else default


def long_axis(half: Any, xy: Any) -> tuple[Array, Array]:
    """The direction in which a covariance is the largest, from (xx - yy) / 2 and xy."""
    r = np.sqrt(half * half + xy * xy)
    safe = np.where(r > 0, r, 1.0)
    larger = np.where(r > 0, np.sqrt((r + np.abs(half)) / (2 * safe)), 1.0)
    smaller = np.abs(xy) / (2 * safe * larger)
    sign = np.where(xy < 0, -1.0, 1.0)
    wide = half >= 0
    return np.where(wide, larger, smaller), np.where(wide, sign * smaller, sign * larger)


def root(covariance: Array, floor: float, inverse: bool) -> Array:
    """Symmetric square root of 2 x 2 covariances, or its inverse.

    Eigenvalues below `floor` times the largest are raised to that.
    """
    xx = covariance[..., 0, 0]
    xy = covariance[..., 0, 1]
    yy = covariance[..., 1, 1]
    mean = (xx + yy) / 2
    half = (xx - yy) / 2
    r = np.sqrt(half * half + xy * xy)
    major = mean + r
    minor = np.maximum(mean - r, floor * major)
    c, s = long_axis(half, xy)
    none = major <= 0
    major = np.sqrt(np.where(none, 1.0, major))
    minor = np.sqrt(np.where(none, 1.0, minor))
    if inverse:
        major = 1 / major
        minor = np.divide(1.0, minor, out=np.zeros_like(minor), where=minor > 0)
    out = np.empty(np.shape(covariance))
    out[..., 0, 0] = c * c * major + s * s * minor
    out[..., 0, 1] = out[..., 1, 0] = c * s * (major - minor)
    out[..., 1, 1] = s * s * major + c * c * minor
    return out


def moments(polygon: Array) -> PolygonMoments:
    """Moments of a convex polygon, as a fan of triangles; area 0 for a degenerate one."""
    if len(polygon) < 3:
        return PolygonMoments(0.0, np.zeros(2), np.zeros((2, 2)))
    a = polygon[1:-1] - polygon[0]
    b = polygon[2:] - polygon[0]
    t = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2
    area = float(t.sum())
    if area <= 0:
        return PolygonMoments(0.0, polygon[0], np.zeros((2, 2)))
    mean = (t[:, None] * (a + b)).sum(axis=0) / (3 * area)
    total = a + b
    second = np.einsum("t,ti,tj->ij", t, a, a) + np.einsum("t,ti,tj->ij", t, b, b)
    second = (second + np.einsum("t,ti,tj->ij", t, total, total)) / (12 * area)
    return PolygonMoments(area, polygon[0] + mean, second - np.outer(mean, mean))


def clip(
    polygon: Array, edges: Array, normal: Array, limit: float, edge: int
) -> tuple[Array, Array]:
    """The part of a polygon where normal . x <= limit; edges[i] is the site beyond side i."""
    away = polygon @ normal - limit
    points = []
    names = []
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
    """Signed distance of point i to polygon ids[i] (a slice of corners); negative inside."""
    out = np.full(len(ids), -np.inf)
    counts = np.diff(starts)[ids]
    for k in range(counts.max(initial=0)):
        rows = np.flatnonzero(counts > k)
        first = starts[ids[rows]]
        a = corners[first + k]
        edge = corners[first + (k + 1) % counts[rows]] - a
        away = points[rows] - a
        length = np.sqrt((edge * edge).sum(axis=1))
        cross = away[:, 0] * edge[:, 1] - away[:, 1] * edge[:, 0]
        distance = np.divide(cross, length, out=np.full_like(cross, -np.inf), where=length > 0)
        out[rows] = np.maximum(out[rows], distance)
    return out


def _place_sites(region: Array, whole: PolygonMoments, offsets: Array, shares: Array) -> Array:
    """The arrangement, whitened and given the covariance of the region, inside the region."""
    weights = shares / shares.sum()
    away = offsets - weights @ offsets
    whiten = root((weights[:, None] * away).T @ away, 1e-4, True)
    steps = away @ whiten @ root(whole.covariance, 1e-4, False)
    # sites at the same point have no border between them: a small spiral separates them
    rank = np.empty(len(steps), dtype=np.int64)
    rank[np.lexsort((shares, offsets[:, 1], offsets[:, 0]))] = np.arange(len(steps))
    spiral = _spiral(len(steps))[rank]
    steps = steps + 1e-3 * np.sqrt(whole.area / len(steps)) * spiral
    reach = np.array([border(region, whole.centre, step) for step in steps])
    return np.asarray(
        whole.centre + np.where(reach < 1 / INSIDE, INSIDE * reach, 1.0)[:, None] * steps
    )


def _spiral(n: int) -> Array:
    """Unit vectors, each turned by the golden angle from the one before."""
    c = -0.7373688780783197
    s = 0.6754902942615238
    found = [(1.0, 0.0)]
    for _ in range(n - 1):
        x, y = found[-1]
        found.append((x * c - y * s, x * s + y * c))
    return np.array(found)


def border(region: Array, start: Array, step: Array) -> float:
    """The multiple of `step` at which a ray from a point inside meets the border."""
    edge = np.roll(region, -1, axis=0) - region
    towards = step[0] * edge[:, 1] - step[1] * edge[:, 0]
    distance = (region[:, 0] - start[0]) * edge[:, 1] - (region[:, 1] - start[1]) * edge[:, 0]
    ahead = towards > 0
    return max(0.0, float((distance[ahead] / towards[ahead]).min())) if ahead.any() else 1e300


def _halve(
    region: Array, covariance: Array, sites: Array, targets: Array
) -> list[tuple[Array, Array]]:
    """Cut a region across its longer axis: two polygons, and the sites of each."""
    half_difference = (covariance[0, 0] - covariance[1, 1]) / 2
    axis = np.array(long_axis(half_difference, covariance[0, 1]))
    order = np.argsort(sites @ axis, kind="stable")
    half = 0.0
    k = 0
    while k + 1 < len(order) and (k == 0 or half + targets[order[k]] / 2 < targets.sum() / 2):
        half += targets[order[k]]
        k += 1
    along = region @ axis
    low = float(along.min())
    high = float(along.max())
    none = np.full(len(region), -1)
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if moments(clip(region, none, axis, middle, -1)[0]).area < half:
            low = middle
        else:
            high = middle
    middle = (low + high) / 2
    below = clip(region, none, axis, middle, -1)[0]
    above = clip(region, none, -axis, -middle, -1)[0]
    return [(below, order[:k]), (above, order[k:])]


def _diagram(region: Array, sites: Array, weights: Array) -> list[tuple[Array, Array]]:
    """The power diagram: polygons with the site beyond each side (-1: the border)."""
    found = []
    for i, site in enumerate(sites):
        polygon = region
        edges = np.full(len(region), -1)
        for j, other in enumerate(sites):
            if j != i and len(polygon):
                limit = other @ other - site @ site - weights[j] + weights[i]
                polygon, edges = clip(polygon, edges, 2 * (other - site), limit, j)
        found.append((polygon, edges))
    return found


def _solve(region: Array, sites: Array, targets: Array) -> list[tuple[Array, Array]]:
    """The power diagram whose areas are the targets, by damped Newton steps on the weights."""
    weights = np.zeros(len(sites))

    def look(w: Array) -> tuple[list[tuple[Array, Array]], Array]:
        found = _diagram(region, sites, w)
        return found, np.array([moments(polygon).area for polygon, _ in found])

    found, areas = look(weights)
    least = 0.5 * min(1.0, float((areas / targets).min()))
    for _ in range(NEWTON_STEPS):
        before = float((np.abs(areas - targets) / targets).max())
        if before <= AREA_ERROR:
            break
        direction = _newton(found, sites, targets - areas)
        length = 1.0
        start = weights
        for _ in range(LINE_SEARCH_STEPS):
            weights = start + length * direction
            found, areas = look(weights)
            error = float((np.abs(areas - targets) / targets).max())
            if (areas / targets).min() > least and error < (1 - length / 4) * before:
                break
            length /= 2
        if areas.min() <= 0:  # an empty polygon has no sides, so Newton cannot recover it
            return look(start)[0]
    return found


def _newton(found: list[tuple[Array, Array]], sites: Array, missing: Array) -> Array:
    """The Newton step: solves H d = missing area.

    H_ij = -side_ij / (2 |s_i - s_j|) is the derivative of areas with respect to weights.
    """
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
