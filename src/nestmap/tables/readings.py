"""What the texts of a column mean: numbers with units, dates of many forms, times of day."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import Any

import numpy as np

from ..core.arrays import Array

_CURRENCY = r"[$€£¥₹]"
_UNIT = rf"%|{_CURRENCY}|[^\W\d_]{{1,4}}(?:/[^\W\d_]{{1,3}})?|°[CF]?"
_SIGN = rf"([-+−(]?)\s*({_CURRENCY}?)\s*"
_POINT = re.compile(
    rf"{_SIGN}([-+−]?(?:\d{{1,3}}(?:[,' ]\d{{3}})+|\d+)?(?:\.\d*)?(?:[eE][-+]?\d+)?)"
    rf"\s*({_UNIT})?\)?"
)
_COMMA = re.compile(rf"{_SIGN}([-+−]?(?:\d{{1,3}}(?:[.' ]\d{{3}})+|\d+)(?:,\d+)?)\s*({_UNIT})?\)?")
_MANY = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "Mio": 1e6, "B": 1e9, "bn": 1e9}
_FEW = 5  # of these that rule out most forms
_SAMPLE = 500  # distinct texts that decide which form a column has
ENOUGH = 0.9  # share of filled cells that must be readable: an analyst mends the rest by hand

_NUMBERED_DAYS = [
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d.%m.%Y",
    "%m-%d-%Y",
    "%d-%m-%Y",
    "%Y%m%d",
]
_SHORT_YEARS = ["%m/%d/%y", "%d/%m/%y", "%d.%m.%y"]
_NAMED_DAYS = [
    "%d-%b-%y",
    "%b %d %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%B %d %Y",
    "%d %b %Y",
    "%d %B %Y",
    "%d-%b-%Y",
    "%b %Y",
    "%B %Y",
]
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S.%f")
_ISO = re.compile(
    r"(\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?)?) ?(?:Z|UTC|[-+]\d\d:?\d\d)?"
)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?(?: ?([AaPp])\.?[Mm]\.?)?")
_EPOCH = np.datetime64("1970-01-01T00:00:00", "us")


def parse_numbers(levels: Array, comma: bool = False) -> Array:
    """Numbers in texts, NaN where there is none; `comma`: 1.234,5 is what others write 1,234.5.

    Examples
    --------
    >>> parse_numbers(np.array(["1,234", "$5", "12%", "(3)", "1.5k", "n"], dtype=object)).tolist()
    [1234.0, 5.0, 12.0, -3.0, 1500.0, nan]
    >>> parse_numbers(np.array(["1.234,5 kg"], dtype=object), comma=True).tolist()
    [1234.5]
    """
    if not comma:
        try:
            return levels.astype(np.float64)
        except (TypeError, ValueError):
            pass
    return np.array([_number(level, comma) for level in levels], dtype=np.float64)


def _number(text: str, comma: bool) -> float:
    found = (_COMMA if comma else _POINT).fullmatch(text)
    if found is None:
        return np.nan
    sign, _, digits, unit = found.groups()
    digits = digits.replace("−", "-").replace("'", "").replace(" ", "")
    digits = digits.replace(".", "").replace(",", ".") if comma else digits.replace(",", "")
    try:
        value = float(digits) * _MANY.get(unit or "", 1.0)
    except ValueError:
        return np.nan
    return -value if sign and sign in "-−(" else value


def units_agree(levels: Array) -> bool:
    """All numbers have one unit, or none: "12 kg" beside "3 lb" are no numbers."""
    units: Counter[str] = Counter()
    for level in levels[:: max(1, len(levels) // _SAMPLE)]:
        found = _POINT.fullmatch(level) or _COMMA.fullmatch(level)
        if found is not None and (found[4] or "") not in _MANY:
            units[found[4]] += 1
    return len(units) <= 1


def has_comma(levels: Array) -> bool:
    """Numbers are written with a decimal comma: some cells can be read in no other way."""
    some = levels[:: max(1, len(levels) // _SAMPLE)]
    comma = sum(not np.isnan(_number(level, True)) for level in some)
    point = sum(not np.isnan(_number(level, False)) for level in some)
    return comma > point


def parse_dates(levels: Array, form: str) -> Array:
    """Seconds since 1970 of texts in one form ('iso', or as strptime takes it), NaN where none.

    Examples
    --------
    >>> parse_dates(np.array(["1970-01-02", "x"], dtype=object), "iso").tolist()
    [86400.0, nan]
    """
    if form != "iso":
        return np.array([_strptime(level, form) for level in levels], dtype=np.float64)
    matches = [_ISO.fullmatch(level) for level in levels]
    texts = ["NaT" if m is None else m[1].replace(",", ".") for m in matches]
    try:
        times = np.array(texts, dtype="datetime64[us]")
    except ValueError:  # the 30th of February
        times = np.array([_iso_or_nothing(text) for text in texts], dtype="datetime64[us]")
    return np.where(np.isnat(times), np.nan, (times - _EPOCH).astype(np.int64) / 1e6)


def _iso_or_nothing(text: str) -> Any:
    try:
        return np.datetime64(text, "us")
    except ValueError:
        return np.datetime64("NaT")


def _strptime(text: str, form: str) -> float:
    try:
        moment = datetime.strptime(text, form)
    except ValueError:
        return np.nan
    return (moment - datetime(1970, 1, 1)).total_seconds()


def parse_clock(levels: Array) -> Array:
    """Seconds since midnight of texts such as 9:30 and 11:05 pm, NaN where there are none."""
    found = np.full(len(levels), np.nan)
    for i, level in enumerate(levels):
        match = _CLOCK.fullmatch(level)
        if match is not None:
            hour = int(match[1])
            if match[4]:
                hour = hour % 12 + (12 if match[4] in "Pp" else 0)
            found[i] = hour * 3600 + int(match[2]) * 60 + int(match[3] or 0)
    return found


def date_form(levels: Array, asked: bool = False) -> str | None:
    """The form in which these texts are dates: 'iso', one for strptime, 'clock', or None.

    Where 3/4/2020 can be read in two ways, all cells decide; if they do not, the month is first.
    """
    some = levels[:: max(1, len(levels) // _SAMPLE)]
    if not len(some) or (not asked and not any(c.isdigit() for c in some[0])):
        return None
    enough = (0.5 if asked else ENOUGH) * len(some)
    if np.isfinite(parse_dates(some, "iso")).sum() >= enough:
        return "iso"
    if np.isfinite(parse_clock(some)).sum() >= enough:
        return "clock"
    readable = [
        (int(np.isfinite(parse_dates(some, form)).sum()), form) for form in _forms_for(some[:_FEW])
    ]
    most, form = max(readable, key=lambda each: each[0], default=(0, ""))
    return form if most and most >= enough else None


def _forms_for(some: Array) -> list[str]:
    """Forms that read at least one of a few texts."""
    has_time = any(":" in text for text in some)
    has_name = any(char.isalpha() for text in some for char in text if char not in "APMapm")
    days = _NAMED_DAYS if has_name else (*_NUMBERED_DAYS, *_SHORT_YEARS)
    forms = [day + time for time in (_TIMES[1:] if has_time else _TIMES[:1]) for day in days]
    return [form for form in forms if np.isfinite(parse_dates(some, form)).any()]
