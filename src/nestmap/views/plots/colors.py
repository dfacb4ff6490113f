"""Colours: few hues that colour-blind people tell apart, children in their parent's shades."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.input.validate import check_option
from ...method.hierarchy import Hierarchy

# The seven of Okabe and Ito (2008), and four computed to be as far as possible from them and from
# each other, as people with any kind of colour blindness see them; a test checks it
PALETTE = (
    *(
        "#0072B2",
        "#E69F00",
        "#009E73",
        "#CC79A7",
        "#56B4E9",
        "#D55E00",
        "#961E1E",
        "#A569FF",
        "#F0E442",
    ),
    *("#A5D2A5", "#4BF0FF"),
)
# clusters of the level that has a hue each: about so many, at most so many
_HUES = 9
_MOST_HUES = 16
_LIGHTNESS_STEPS = (
    -0.13,
    0.13,
    -0.07,
    0.07,
)  # in lightness: from a group to others of the same hue
NUMBERS = "cividis"  # from dark blue to yellow, the same for colour-blind people
# of the shades of a parent's children: in lightness, and in hue (radians)
_SPREAD = 0.32
_TURN = 0.3

_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@dataclass(frozen=True)
class Theme:
    """Colours of what is not data, and how light data may be."""

    background: str
    text: str
    line: str  # coasts of the coarser level, leader lines
    quiet: str  # rows without a colour
    lightest: float  # in OKLab
    darkest: float
    scale: tuple[float, float]  # the part of a scale of numbers that stands out


THEMES = {
    "light": Theme("#ffffff", "#1a1a1a", "#4a4a4a", "#b5b5b5", 0.83, 0.42, (0.0, 0.95)),
    "dark": Theme("#12151a", "#f2f2f2", "#c8c8c8", "#5a5f66", 0.92, 0.52, (0.22, 1.0)),
}


def get_theme(theme: str) -> Theme:
    """A theme by its name."""
    check_option("theme", theme, tuple(THEMES))
    return THEMES[theme]


def parse(*colors: str) -> Array:
    """#rrggbb as rows of red, green and blue from 0 to 1."""
    return np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colors]) / 255


def to_oklab(rgb: Array) -> Array:
    """Colours in OKLab (Ottosson 2020): lightness, two opponent axes; as different as they look."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ _TO_LMS.T) @ _TO_LAB.T)


def to_rgb(lab: Array) -> Array:
    """Back from OKLab; what a screen cannot show is cut off."""
    linear = ((lab @ np.linalg.inv(_TO_LAB).T) ** 3) @ np.linalg.inv(_TO_LMS).T
    linear = np.clip(linear, 0, 1)
    return np.asarray(
        np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    )


def base_colors(n: int, theme: Theme) -> Array:
    """Colours of n groups: the palette, then it darker and lighter as the theme has room."""
    lab = _within(to_oklab(parse(*PALETTE)), theme)
    room = [
        [step for step in _LIGHTNESS_STEPS if theme.darkest <= L + step <= theme.lightest]
        for L in lab[:, 0].tolist()
    ]
    found = lab[np.arange(n) % len(PALETTE)]
    for i in range(len(PALETTE), n):
        own = room[i % len(PALETTE)]
        found[i, 0] += own[(i // len(PALETTE) - 1) % len(own)]
    return to_rgb(found)


def _within(lab: Array, theme: Theme) -> Array:
    lab = lab.copy()
    lab[:, 0] = np.clip(lab[:, 0], theme.darkest, theme.lightest)
    return lab


def shade_children(parents: Array, parent_of: Array, spread: float, theme: Theme) -> Array:
    """Colours of children: their parent's, darker to lighter, turned a little, evenly spread."""
    order = np.argsort(parent_of, kind="stable")
    counts = np.bincount(parent_of, minlength=len(parents))
    rank = np.empty(len(parent_of))
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    siblings = counts[parent_of]
    # neighbours in number are often neighbours in the map: darkest, lightest, second darkest, …
    rank = np.where(rank % 2 == 0, rank // 2, siblings - 1 - rank // 2)
    place = np.where(siblings > 1, rank / np.maximum(siblings - 1, 1) - 0.5, 0.0)
    lab = to_oklab(parents)[parent_of]
    middle = np.clip(lab[:, 0], theme.darkest + spread / 2, theme.lightest - spread / 2)
    lab[:, 0] = np.where(siblings > 1, middle + place * spread, lab[:, 0])
    turn = place * _TURN * spread / _SPREAD
    cos = np.cos(turn)
    sin = np.sin(turn)
    lab[:, 1], lab[:, 2] = cos * lab[:, 1] - sin * lab[:, 2], sin * lab[:, 1] + cos * lab[:, 2]
    return to_rgb(_within(lab, theme))


def hue_level(hierarchy: Hierarchy, level: int) -> int:
    """The level whose clusters have a hue each: about nine (16 at most), not below `level`."""
    sizes = hierarchy.level_sizes
    few = [k for k in range(level, len(sizes)) if sizes[k] <= _MOST_HUES]
    return min(few, key=lambda k: abs(np.log(sizes[k] / _HUES)), default=len(sizes) - 1)


def color_levels(hierarchy: Hierarchy, level: int, theme: Theme) -> dict[int, Array]:
    """Colours of nodes of `level` and above: hues on one level, shades below it, grey beyond."""
    first = hue_level(hierarchy, level)
    by_size = np.argsort(-hierarchy.levels[first].sizes, kind="stable")
    base = np.empty((len(by_size), 3))
    base[by_size] = base_colors(len(by_size), theme)
    colors = {
        k: np.tile(parse(theme.quiet), (n, 1))
        for k, n in enumerate(hierarchy.level_sizes)
        if k > first
    }
    colors[first] = base
    spread = _SPREAD
    for k in range(first - 1, level - 1, -1):
        colors[k] = shade_children(colors[k + 1], hierarchy.levels[k + 1].members, spread, theme)
        spread /= 2
    return colors
