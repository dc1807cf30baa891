"""Tables of one row each, such as the scores and the weights of one query, as the rows of one table."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from attncli.base.lazy_numpy import np
from attncli.render.aligned_numbers import align_numbers
from attncli.render.document import Grid, Section

TitledTables = Sequence[tuple[str, Grid]]


def join_row_tables(sections: Iterable[Section], decimals: int) -> Iterator[Section]:
    """The sections; those next to each other that have one row of the same columns are joined to one without a title.

    The rows of the joined table have the titles of the sections.
    """
    for key, group in groupby(sections, _row_and_columns):
        found = list(group)
        if key is None or len(found) == 1:
            yield from found
        else:
            yield Section("", (stack_rows([[(section.title, section.grids[0])] for section in found], decimals),))


def stack_rows(quantities: Sequence[TitledTables], decimals: int) -> Grid:
    """One table of tables that have one row and the same columns, each row under its title.

    The rows of one quantity have the same decimals, those of another have their own.
    """
    values = [np.concatenate([table.values for _, table in tables]) for tables in quantities]
    texts = [align_numbers(rows, decimals) for rows in values]
    widths = [max(_fraction_width(cell) for row in rows for cell in row) for rows in texts]
    titles = tuple(title for tables in quantities for title, _ in tables)
    table = quantities[0][0][1]
    padded = [
        [cell + " " * (max(widths) - width) for cell in row]
        for rows, width in zip(texts, widths, strict=True)
        for row in rows
    ]
    return Grid(np.concatenate(values), titles, table.columns, corner=table.rows[0], signs=padded)


def _row_and_columns(section: Section) -> tuple[str, tuple[str, ...]] | None:
    """The label of the one row and those of the columns; None for a section of more, or with something to read."""
    if len(section.grids) != 1 or section.formula or section.arithmetic or section.remarks:
        return None
    (grid,) = section.grids
    is_plain = len(grid.rows) == 1 and grid.signs is None and not grid.slice_label
    return (grid.rows[0], grid.columns) if is_plain else None


def _fraction_width(cell: str) -> int:
    """How many characters of a cell follow its whole number, blanks among them."""
    whole = cell.partition(".")[0].rstrip()
    return len(cell) - len(whole)
