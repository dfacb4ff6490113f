"""Texts of the command line as values: numbers of dimensions, inches, shapes, lists, JSON."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from typing import Any

LARGEST_SIDE_INCHES = 200  # of a picture
LARGEST_SIDE_PIXELS = 256  # of a thumbnail


def to_json(text: str) -> Any:
    """Any JSON value."""
    try:
        return json.loads(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no JSON, such as '{{\"p\": 3}}'") from None


def to_dims(text: str) -> list[int]:
    """'2' or '2,3': numbers of dimensions."""
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise ArgumentTypeError(f"{text!r}: numbers of dimensions, such as 2 or 2,3")
    return [int(part) for part in parts]


def to_inches(text: str) -> tuple[float, float]:
    """'9' or '12,8': width and height of a picture."""
    try:
        sides = [float(part) for part in text.split(",")]
    except ValueError:
        sides = []
    if len(sides) not in (1, 2) or not all(1 <= side <= LARGEST_SIDE_INCHES for side in sides):
        raise ArgumentTypeError(
            f"{text!r}: inches from 1 to {LARGEST_SIDE_INCHES}, such as 9 or 12,8"
        )
    return sides[0], sides[-1]


def to_shape(text: str) -> tuple[int, ...]:
    """'8x8' or '32x32x3': height, width and colours of the pictures that rows are; 'none': ()."""
    if text == "none":
        return ()
    parts = text.lower().split("x")
    if len(parts) not in (2, 3) or not all(part.isascii() and part.isdigit() for part in parts):
        raise ArgumentTypeError(
            f"{text!r} is no HEIGHTxWIDTH, such as 28x28, or 32x32x3 for colours"
        )
    shape = tuple(int(part) for part in parts)
    sides = shape[:2]
    if not 1 <= min(sides) <= max(sides) <= LARGEST_SIDE_PIXELS or shape[2:] not in ((), (3,)):
        raise ArgumentTypeError(
            f"{text!r}: 1 to {LARGEST_SIDE_PIXELS} pixels to a side, and 3 colours or none"
        )
    return shape


def to_names(text: str) -> list[str]:
    """'a,b,c': names without the blanks around them."""
    return [part.strip() for part in text.split(",")]


def to_kind(text: str) -> tuple[str, str]:
    """'zip=category': a column and what it is taken for; the column's name may hold =."""
    from ...tables.decide import KINDS  # with NumPy, which the help does without

    column, _, kind = text.rpartition("=")
    if not column or kind not in KINDS:
        raise ArgumentTypeError(
            f"{text!r}: a column and what it is taken for, such as zip=category; "
            f"kinds are {', '.join(KINDS)}"
        )
    return column, kind


def to_levels(text: str) -> list[int]:
    """'0,2,-1': numbers of levels."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"{text!r}: numbers of levels, such as 0,2 or -1") from None
