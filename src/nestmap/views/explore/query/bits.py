"""A set of rows as one bit per row, with what it takes to count and to find rows at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.arrays import Array, blocks

WORD = 64  # rows of a word
_WORDS_AT_ONCE = 1 << 14  # words that are unpacked together: a million rows
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True, eq=False)
class RowBits:
    """Rows 0 to n_rows - 1, each in the set or not.

    Attributes
    ----------
    words : ndarray of uint64
        Row i is bit i % 64 of word i // 64. One word more than the rows need, which is 0.
    ranks : ndarray of uint32
        How many rows of the set come before each word.

    Examples
    --------
    >>> rows = RowBits.of_ranges(100, np.array([[3, 6], [90, 100]]))
    >>> rows.count, rows.take(2, 3).tolist(), rows.ranges(5).tolist()
    (13, [5, 90, 91], [[3, 6], [90, 100]])
    >>> rows.before(np.array([0, 4, 100])).tolist()
    [0, 1, 13]
    """

    n_rows: int
    words: Array
    ranks: Array

    @classmethod
    def of_words(cls, n_rows: int, words: Array) -> RowBits:
        """Of words that hold no row beyond the last."""
        ranks = np.zeros(len(words), dtype=np.uint32)
        np.cumsum(count_bits(words[:-1]), out=ranks[1:])
        return cls(n_rows, words, ranks)

    @classmethod
    def empty(cls, n_rows: int) -> RowBits:
        return cls.of_words(n_rows, _no_words(n_rows))

    @classmethod
    def of_masks(cls, n_rows: int, masks: list[Array]) -> RowBits:
        """Of one truth value per row, in pieces of whole words but for the last."""
        words = _no_words(n_rows)
        packed = words.view(np.uint8)
        at = 0
        for mask in masks:
            own = np.packbits(mask, bitorder="little")
            packed[at : at + len(own)] = own
            at += len(own)
        return cls.of_words(n_rows, words.view("<u8"))

    @classmethod
    def of_ranges(cls, n_rows: int, ranges: Array) -> RowBits:
        """Of rows begin to end - 1 for each range, which may overlap: shape (n, 2)."""
        words = _no_words(n_rows)
        begin, end = ranges[ranges[:, 1] > ranges[:, 0]].astype(np.uint64).T
        first = (begin // WORD).astype(np.intp)
        last = (end // WORD).astype(np.intp)
        from_here = _ONES << begin % WORD
        to_here = ~(_ONES << end % WORD)
        within = first == last
        np.bitwise_or.at(words, first, np.where(within, from_here & to_here, from_here))
        np.bitwise_or.at(words, last[~within], to_here[~within])
        covered = np.zeros(len(words) + 1, dtype=np.int64)
        np.add.at(covered, np.minimum(first + 1, last), 1)
        np.add.at(covered, last, -1)
        words[np.cumsum(covered[:-1]) > 0] = _ONES
        return cls.of_words(n_rows, words)

    @property
    def count(self) -> int:
        return int(self.ranks[-1])

    @property
    def n_bytes(self) -> int:
        return int(self.words.nbytes + self.ranks.nbytes)

    def __and__(self, other: RowBits) -> RowBits:
        return RowBits.of_words(self.n_rows, self.words & other.words)

    def __or__(self, other: RowBits) -> RowBits:
        return RowBits.of_words(self.n_rows, self.words | other.words)

    def __invert__(self) -> RowBits:
        words = ~self.words
        words[-1] = 0
        if self.n_rows % WORD:
            words[-2] &= ~(_ONES << np.uint64(self.n_rows % WORD))
        return RowBits.of_words(self.n_rows, words)

    def before(self, places: Array) -> Array:
        """How many rows of the set come before each place, 0 to n_rows."""
        word = places // WORD
        below = ~(_ONES << (places % WORD).astype(np.uint64))
        return np.asarray(self.ranks[word] + count_bits(self.words[word] & below))

    def has(self, places: Array) -> Array:
        """Whether each place is in the set."""
        bits = self.words[places // WORD] >> (places % WORD).astype(np.uint64)
        return np.asarray((bits & np.uint64(1)).astype(bool))

    def mask(self, begin: int, end: int) -> Array:
        """0 or 1 per row of a range."""
        first = begin // 8
        packed = self.words.astype("<u8", copy=False).view(np.uint8)[first : -(-end // 8)]
        bits = np.unpackbits(packed, bitorder="little")
        return bits[begin - 8 * first : end - 8 * first]

    def take(self, offset: int, limit: int) -> Array:
        """Rows of the set from number `offset` on, `limit` of them at most, as uint32."""
        stop = min(offset + limit, self.count)
        if stop <= offset:
            return np.empty(0, dtype=np.uint32)
        first = int(np.searchsorted(self.ranks, offset, side="right")) - 1
        last = int(np.searchsorted(self.ranks, stop, side="left"))
        found = []
        for part in blocks(last - first, 1, values=_WORDS_AT_ONCE):
            begin = WORD * (first + part.start)
            own = np.flatnonzero(self.mask(begin, WORD * (first + part.stop)))
            found.append((own + begin).astype(np.uint32))
        skipped = offset - int(self.ranks[first])
        return np.concatenate(found)[skipped : skipped + stop - offset]

    def ranges(self, most: int) -> Array | None:
        """The set as sorted ranges, shape (n, 2); None if they are more than `most`."""
        carried = np.zeros(len(self.words), dtype=np.uint64)
        carried[1:] = self.words[:-1] >> np.uint64(WORD - 1)
        shifted = (self.words << np.uint64(1)) | carried
        begins = RowBits.of_words(self.n_rows, self.words & ~shifted)
        if begins.count > most:
            return None
        ends = RowBits.of_words(self.n_rows, shifted & ~self.words).take(0, most)
        if len(ends) < begins.count:  # the last range ends with the last word
            ends = np.append(ends, self.n_rows)
        return np.stack([begins.take(0, most), ends], axis=1).astype(np.int64)


def count_bits(words: Array) -> Array:
    """Bits that are 1 of each word (numpy has a function for it from 2.0 on)."""
    found = words - ((words >> np.uint64(1)) & np.uint64(0x5555555555555555))
    found = (found & np.uint64(0x3333333333333333)) + (
        (found >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    found = (found + (found >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.asarray(((found * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(np.uint32))


def _no_words(n_rows: int) -> Array:
    return np.zeros(-(-n_rows // WORD) + 1, dtype=np.uint64)
