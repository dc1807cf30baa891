"""Where numbers differ as a picture in characters: one sign for a cell, or for a block of cells of a large table."""

from collections.abc import Iterator, Sequence

from attncli.analysis.check.error_patterns import tables
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np

ALL, SOME, NONE, NOT_EXPECTED = "#+. "  # signs that every encoding has
MAX_ROWS = 16
MAX_LABEL_WIDTH = 14


@dataclass(frozen=True)
class ErrorPicture:
    """Lines of signs, and how many rows and columns of the table a sign is for."""

    lines: tuple[str, ...]
    rows_per_sign: int
    columns_per_sign: int

    @property
    def is_whole(self) -> bool:
        """Whether every number of a table has a sign of its own."""
        return (self.rows_per_sign, self.columns_per_sign) == (1, 1)

    @property
    def scale(self) -> str:
        """For how many numbers a sign stands."""
        return "one sign a number" if self.is_whole else f"one sign for {self.rows_per_sign} × {self.columns_per_sign}"

    @property
    def legend(self) -> str:
        """What the signs in the picture mean."""
        meanings = {ALL: "# differs", SOME: "+ some differ", NONE: ". agrees", NOT_EXPECTED: "blank: not expected"}
        if not self.is_whole:
            meanings |= {ALL: "# all differ", NONE: ". all agree"}
        signs = set("".join(self.lines))
        return ", ".join(text for sign, text in meanings.items() if sign in signs)

    def with_labels(self, rows: Sequence[str], columns: Sequence[str], width: int) -> Iterator[str]:
        """The lines under the labels of the columns, where these have room, and behind the labels of the rows.

        A line that stands for several rows has the label of the first; long labels are cut.
        """
        label_width = min(max(map(len, rows)), MAX_LABEL_WIDTH)
        cells = [max(map(len, columns))] * len(columns)
        has_room = self.is_whole and label_width + sum(cells) + 2 * len(cells) <= width
        if has_room:
            yield " " * label_width + "".join(f"  {label:>{cells[0]}}" for label in columns)
        for label, signs in zip(rows[:: self.rows_per_sign], self.lines, strict=True):
            text = "".join(f"  {sign:>{cells[0]}}" for sign in signs) if has_room else f" {signs}"
            yield f"{label[:label_width]:{label_width}}{text}".rstrip()


def draw_errors(differs: Array, is_given: Array, columns: int, rows: int = MAX_ROWS) -> ErrorPicture:
    """The picture of two boolean arrays [… r c]: which numbers differ, and of which one is expected.

    It has at most so many rows and columns; a sign is for the cells of all slices before the last two axes.

    >>> import numpy
    >>> every = numpy.ones((4, 6), dtype=bool)
    >>> draw_errors(numpy.triu(every, 1), every, columns=3, rows=2)
    ErrorPicture(lines=('+##', '.+#'), rows_per_sign=2, columns_per_sign=2)
    """
    differ, given = (np.count_nonzero(tables(array), axis=0) for array in (differs, is_given))
    scale = [-(-size // limit) for size, limit in zip(differ.shape, (rows, columns), strict=True)]
    differ, given = (_block_sums(counts, scale) for counts in (differ, given))
    signs = np.select([given == 0, differ == 0, differ == given], [NOT_EXPECTED, NONE, ALL], SOME)
    return ErrorPicture(tuple(map("".join, signs)), *scale)


def _block_sums(counts: Array, scale: Sequence[int]) -> Array:
    """The sums of the blocks of a table, so many rows and columns each."""
    for axis, size in enumerate(scale):
        counts = np.add.reduceat(counts, range(0, counts.shape[axis], size), axis=axis)
    return counts
