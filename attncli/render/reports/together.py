"""Results of all parts of a worked example in one table, or as curves in one plot."""

from collections.abc import Iterator, Sequence

from attncli.base.axes import format_lengths
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.render.curve import Series, plot
from attncli.render.document import Grid, Section
from attncli.render.reports.part import PartReport
from attncli.render.reports.row_tables import TitledTables, stack_rows
from attncli.render.tables import grids


def together(parts: Sequence[PartReport], names: Sequence[str]) -> Iterator[Section]:
    """Results of every part: where each part has one row, a table of a row for each, otherwise tables side by side.

    A result that is the same in all parts is one row, under its name, of the table that follows. Raises AttnError
    where the parts have different queries.
    """
    decimals = parts[0].view.decimals
    same: list[TitledTables] = []
    for name in names:
        tables = _tables(parts, name)
        first = tables[0][1]
        if any(len(table.rows) != 1 or len(table.columns) != len(first.columns) for _, table in tables):
            yield Section(f"{name}, side by side", (_beside(tables),))
        elif len(tables) > 1 and all(np.array_equal(table.values, first.values) for _, table in tables):
            same.append([(name, first)])
        else:
            rows = [row for row in same if row[0][1].columns == first.columns]
            yield from (Section("", (stack_rows([row], decimals),)) for row in same if row not in rows)
            yield Section(name, (stack_rows([*rows, tables], decimals),))
            same = []
    yield from (Section("", (stack_rows([row], decimals),)) for row in same)


def curve_lines(parts: Sequence[PartReport], name: str, width: int) -> list[str]:
    """The plot of a result of one feature, a curve for each part, with the values that it fits as points.

    The labels of the queries and of the keys are the numbers on the horizontal axis; raises AttnError where they are
    none, or where there are several features or heads.
    """
    trace = parts[0].view.result.trace
    curves = [
        Series(
            part.title or name,
            _numbers(part.view.result.trace.labels["n"]),
            _column(part.view.result.trace[name].value),
        )
        for part in parts
    ]
    points = Series("values", _numbers(trace.labels["m"]), _column(trace["value"].value))
    return plot(points, curves, width)


def _tables(parts: Sequence[PartReport], name: str) -> TitledTables:
    """The tables of a result of every part."""
    traces = [(part.title, part.view.result.trace) for part in parts]
    return [(title, table) for title, trace in traces for table in grids(trace, trace[name])]


def _beside(tables: TitledTables) -> Grid:
    """Tables of the same rows as one table, its columns under the titles of the parts."""
    rows = tables[0][1].rows
    if any(table.rows != rows for _, table in tables):
        raise AttnError("the parts have different queries, so they can't stand side by side", where="together")
    columns = tuple(_column_title(title, table, column) for title, table in tables for column in table.columns)
    return Grid(np.concatenate([table.values for _, table in tables], axis=-1), rows, columns)


def _column_title(title: str, table: Grid, column: str) -> str:
    """The title of a part, with the head and the column where it has several: `causal, head 0, e1`."""
    parts = (title, table.slice_label, column if len(table.columns) > 1 else "")
    return ", ".join(part for part in parts if part)


def _numbers(labels: Sequence[str]) -> Array:
    """Labels as numbers."""
    return np.array([_number(label) for label in labels])


def _number(label: str) -> float:
    """A label as a number."""
    try:
        return float(label)
    except ValueError:
        hint = "a curve needs tokens and query_tokens that are numbers: where its points stand"
        raise AttnError(f"the label {label!r} is no number", where="curve", hint=hint) from None


def _column(value: Array) -> Array:
    """The numbers of a table of one column."""
    if value.ndim != 2 or value.shape[-1] != 1:
        message = f"{format_lengths(value.shape)} numbers are no curve"
        raise AttnError(message, where="curve", hint="one value feature and one head are")
    return value[:, 0]
