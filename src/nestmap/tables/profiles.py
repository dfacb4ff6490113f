"""What is known of a column before anything is decided: how its cells are read, and figures."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from ..core.arrays import Array
from .cells import Cells, level_cells, text_of_number
from .readings import (
    ENOUGH,
    date_form,
    has_comma,
    parse_clock,
    parse_dates,
    parse_numbers,
    units_agree,
)

YES = frozenset(
    ["yes", "true", "t", "y", "on", "ja", "wahr", "oui", "si", "sí", "sim", "positive", "present"]
)
NO = frozenset(
    ["no", "false", "f", "n", "off", "nein", "falsch", "non", "não", "negative", "absent"]
)
SENTINELS = (-99999.0, -9999.0, -999.0)  # what measuring devices write where they have no value
_SENTINEL_TEXTS = tuple(f"{value:g}" for value in SENTINELS)
LARGEST = 1e100  # what is larger, or infinite, counts as this: its square is still a number
_FAR = 5.0  # a sentinel lies so many ranges of the other values below them
_EPOCHS = {"epoch_s": 1.0, "epoch_ms": 1e3, "epoch_us": 1e6, "epoch_ns": 1e9}  # units per second
_EPOCH_RANGE = (3e8, 4.1e9)  # seconds: 1979 to 2099
_TIME_NAMES = frozenset(
    ["time", "timestamp", "ts", "date", "datetime", "epoch", "created", "updated", "modified"]
)
_DAY_NAMES = frozenset(["date", "day", "dt", "ymd"])
PERIODS = {
    **dict.fromkeys(("month", "mon", "mnth"), 12),
    **dict.fromkeys(("weekday", "dow", "dayofweek"), 7),
    **dict.fromkeys(("hour", "hr"), 24),
}
_WORDS_SAMPLE = 2000  # levels whose words are counted
_ROWS_SAMPLE = 1000  # filled cells that show whether texts may be numbers


READINGS = ("numbers", "levels", "times", "clock", "cycle", "vectors")


@dataclass(frozen=True)
class Reading:
    """How cells become values: as one of `READINGS`.

    `form` says more: 'comma', 'words' (yes and no), a sentinel, a date form, a period.
    """

    kind: str
    form: str = ""


@dataclass(frozen=True)
class Profile:
    """Figures of one column; those of values are 0 where it has none."""

    name: str
    reading: Reading
    n_rows: int
    n_missing: int
    n_distinct: int
    n_unread: int = 0  # filled cells that the reading cannot read: missing, too
    is_boolean: bool = False
    is_whole: bool = False
    counts_rows: bool = False
    tail: float = 0.0  # how far the farthest value lies from the median, in interquartile ranges
    words: float = 0.0  # of a cell, on average over levels
    width: int = 0  # numbers in a vector
    examples: tuple[str, ...] = field(default=())

    @property
    def n_filled(self) -> int:
        return self.n_rows - self.n_missing

    @property
    def missing(self) -> float:
        return self.n_missing / max(1, self.n_rows)


def name_words(name: str) -> list[str]:
    """The words of a column's name, lower case.

    Examples
    --------
    >>> name_words("customerID"), name_words("zip_code 2")
    (['customer', 'id'], ['zip', 'code', '2'])
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W_]+", apart.lower()) if word]


def choose_reading(cells: Cells, asked: str | None = None) -> Reading:
    """How the cells of a column are to be read, from what they are and what was asked for."""
    if cells.form == "vector":
        return Reading("vectors")
    if asked in ("category", "text", "identifier"):
        return Reading("levels")
    if cells.form == "time":
        return Reading("numbers") if asked == "number" else Reading("times", "iso")
    if cells.form == "text":
        return _reading_of_texts(cells, asked)
    return _reading_of_numbers(cells, asked)


def _reading_of_texts(cells: Cells, asked: str | None) -> Reading:
    levels = cells.texts
    small = {level.casefold() for level in levels}
    is_pair = len(levels) == 2 and len(small & YES) == 1 and len(small & NO) == 1
    if is_pair and asked in (None, "boolean"):
        return Reading("numbers", "words")
    if asked == "boolean":
        return Reading("levels")
    if asked != "date":
        found = _number_form(cells, asked == "number")
        if found is not None:
            return found
    form = None if asked == "number" else date_form(levels, asked == "date")
    if form is None:
        return Reading("levels")
    return Reading("clock") if form == "clock" else Reading("times", form)


def _number_form(cells: Cells, asked: bool) -> Reading | None:
    """Texts as numbers, if nearly all cells are; codes such as 01234 are none."""
    levels = cells.texts
    if not len(levels):
        return None
    form = "comma" if has_comma(levels) else ""
    filled = cells.values[cells.values >= 0]
    if not asked and len(levels) > _ROWS_SAMPLE:  # most columns of many texts hold no numbers
        some = levels[np.random.default_rng(0).choice(filled, _ROWS_SAMPLE)]
        if np.isfinite(parse_numbers(some, form == "comma")).mean() < ENOUGH / 2:
            return None
    readable = np.isfinite(parse_numbers(levels, form == "comma"))
    share = readable[filled].mean()
    if asked:
        return Reading("numbers", form) if share > 0 else None
    padded = sum(bool(re.fullmatch(r"0\d+", level)) for level in levels)
    if share < ENOUGH or padded > 0.02 * len(levels) or not units_agree(levels):
        return None
    return Reading("numbers", form)


def _reading_of_numbers(cells: Cells, asked: str | None) -> Reading:
    values = cells.values[np.isfinite(cells.values)]
    words = set(name_words(cells.name))
    if not len(values) or cells.form == "boolean" or asked == "number":
        return Reading("numbers")
    low = float(values.min())
    high = float(values.max())
    if words & _TIME_NAMES or asked == "date":
        for unit, per_second in _EPOCHS.items():
            if low >= _EPOCH_RANGE[0] * per_second and high <= _EPOCH_RANGE[1] * per_second:
                return Reading("times", unit)
    may_be_day = low >= 19000101 and high <= 21001231 and (words & _DAY_NAMES or asked == "date")
    if may_be_day and np.isfinite(_days(np.unique(values)[:1000])).mean() >= ENOUGH:
        return Reading("times", "yyyymmdd")
    period = next((PERIODS[word] for word in PERIODS if word in words), 0)
    whole = bool((values == np.floor(values)).all())
    if period and whole and low >= 0 and high <= period and len(np.unique(values)) > period // 2:
        return Reading("cycle", str(period))
    return Reading("numbers", _sentinel(values, low))


def _sentinel(values: Array, low: float) -> str:
    """The value that stands for a missing one, as text, or nothing."""
    if low not in SENTINELS:
        return ""
    others = values[values != low]
    far = len(others) and low < others.min() - _FAR * max(1e-9, np.ptp(others) / 4)
    return f"{low:g}" if far and others.min() > low / 10 else ""


def _days(values: Array) -> Array:
    """Seconds since 1970 of numbers such as 20240131."""
    distinct, inverse = np.unique(values, return_inverse=True)
    texts = [f"{int(v):08d}" if np.isfinite(v) else "" for v in distinct]
    return parse_dates(np.array(texts, dtype=object), "%Y%m%d")[inverse]


def read_values(cells: Cells, reading: Reading) -> Array:
    """Numbers or seconds as float64, NaN for missing; vectors as rows."""
    values = _read_values(cells, reading)
    return values if reading.kind == "vectors" else np.clip(values, -LARGEST, LARGEST)


def _read_values(cells: Cells, reading: Reading) -> Array:
    """Values as they are, with infinities."""
    if (cells.form == "vector") != (reading.kind == "vectors"):
        wanted = "lists of numbers" if reading.kind == "vectors" else "one value per row"
        raise ValueError(f"column {cells.name!r} needs {wanted}")
    if cells.form == "text":
        parsed = np.append(_parse_levels(cells, reading), np.nan)
        return np.asarray(parsed[cells.values])
    if reading.form in _EPOCHS:
        return np.asarray(cells.values / _EPOCHS[reading.form])
    if reading.form == "yyyymmdd":
        return _days(cells.values)
    if reading.kind == "numbers" and reading.form in _SENTINEL_TEXTS:
        return np.where(cells.values == float(reading.form), np.nan, cells.values)
    return cells.values


def _parse_levels(cells: Cells, reading: Reading) -> Array:
    levels = cells.texts
    if reading.form == "words":
        small = [level.casefold() for level in levels]
        known = {**dict.fromkeys(YES | {"1"}, 1.0), **dict.fromkeys(NO | {"0"}, 0.0)}
        return np.array([known.get(level, np.nan) for level in small], dtype=np.float64)
    if reading.kind == "clock":
        return parse_clock(levels)
    if reading.kind == "times":
        plain = reading.form in _EPOCHS or reading.form == "yyyymmdd"
        form = "%Y%m%d" if reading.form == "yyyymmdd" else reading.form
        return (
            parse_numbers(levels) / _EPOCHS[form]
            if plain and form in _EPOCHS
            else parse_dates(levels, form)
        )
    numbers = parse_numbers(levels, reading.form == "comma")
    if reading.form in _SENTINEL_TEXTS:
        numbers[numbers == float(reading.form)] = np.nan
    return numbers


def read_levels(cells: Cells) -> Cells:
    """Any column as codes of levels: whole numbers without a point, times as ISO, days alone.

    Examples
    --------
    >>> read_levels(Cells("x", "number", np.array([2.0, 1.0, np.nan]))).levels.tolist()
    ['1', '2']
    """
    if cells.form == "text":
        return cells
    if cells.form == "vector":
        raise ValueError(f"column {cells.name!r} holds vectors, which are no categories")
    distinct, codes = np.unique(cells.values, return_inverse=True)
    if cells.form == "time":
        moments = [np.datetime64(int(v // 1), "s") if v == v else None for v in distinct]
        return level_cells(cells.name, codes, moments)
    if cells.form == "boolean":
        return level_cells(cells.name, codes, [str(bool(v)) if v == v else None for v in distinct])
    return level_cells(cells.name, codes, [text_of_number(float(v)) for v in distinct])


def profile_column(cells: Cells, asked: str | None = None) -> Profile:
    """The figures on which a decision rests.

    Examples
    --------
    >>> profile = profile_column(Cells("age", "number", np.array([1.0, 3.0, np.nan])))
    >>> profile.n_missing, profile.n_distinct, profile.is_whole
    (1, 2, True)
    """
    reading = choose_reading(cells, asked)
    if reading.kind == "levels":
        return _profile_levels(read_levels(cells), reading)
    values = read_values(cells, reading)
    if reading.kind == "vectors":
        missing = int(np.isnan(values).any(axis=1).sum())
        return Profile(
            cells.name, reading, len(values), missing, len(values) - missing, width=values.shape[1]
        )
    return _profile_numbers(cells, reading, values)


def _profile_numbers(cells: Cells, reading: Reading, values: Array) -> Profile:
    kept = np.sort(values[~np.isnan(values)])
    n_missing = len(values) - len(kept)
    n_distinct = int((np.diff(kept) != 0).sum()) + 1 if len(kept) else 0
    finite = kept[np.isfinite(kept)]
    whole = bool(len(finite) and (finite == np.floor(finite)).all())
    tail = 0.0
    if len(finite):
        quarter, median, three = (float(np.quantile(finite, q)) for q in (0.25, 0.5, 0.75))
        far = max(median - float(finite[0]), float(finite[-1]) - median)
        tail = far / (three - quarter) if three > quarter else (np.inf if far else 0.0)
    counts = n_distinct == len(values) and whole and finite[-1] - finite[0] == len(values) - 1
    return Profile(
        name=cells.name,
        reading=reading,
        n_rows=len(values),
        n_missing=n_missing,
        n_distinct=n_distinct,
        n_unread=max(0, n_missing - int(cells.missing.sum())),
        is_boolean=bool(
            n_distinct == 2
            and (
                cells.form == "boolean"
                or reading.form == "words"
                or (finite[0] == 0 and finite[-1] == 1)
            )
        ),
        is_whole=whole,
        counts_rows=bool(counts),
        tail=tail,
        examples=tuple(f"{v:g}" for v in kept[:: max(1, len(kept) // 3)][:3]),
    )


def _profile_levels(cells: Cells, reading: Reading) -> Profile:
    levels = cells.texts
    n_missing = int((cells.values < 0).sum())
    some = levels[:: max(1, len(levels) // _WORDS_SAMPLE)]
    return Profile(
        name=cells.name,
        reading=reading,
        n_rows=len(cells.values),
        n_missing=n_missing,
        n_distinct=len(levels),
        words=float(np.mean([len(level.split()) for level in some])) if len(some) else 0.0,
        examples=tuple(levels[:3]),
    )
