"""CSV and TSV: a table for each result and head, one of statistics; of a comparison one long table; in chunks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from attncli.base.axes import COUNTED_FROM_0
from attncli.base.errors import AttnError
from attncli.base.labels import BATCH, FEATURE, HEAD, column_of_axis, long_columns
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import delimited_cell, delimited_rows, escape_control, without_formula
from attncli.numbers.formatting import MINUS, decimal, format_rows
from attncli.plan.trace import value_at
from attncli.problem.spec import ProblemSpec
from attncli.render.document import Grid
from attncli.render.tables import selected_plain_grids
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View

if TYPE_CHECKING:
    from attncli.analysis.compare import Comparison
    from attncli.analysis.differences import VariantResult

VARIANT = "variant"


def _texts_for(target: TextTarget) -> Callable[[str], str]:
    """What a text of a cell is written as: as it is, or so that no spreadsheet takes it for a formula."""
    return without_formula if target.quotes_formulas else str


def _numbers_for(target: TextTarget) -> Callable[[Any], str] | None:
    """What a number is written as, where it has so many decimals; None for every digit."""
    decimals = target.decimals
    return None if decimals is None else lambda number: decimal(number, decimals).replace(MINUS, "-")


def _delimiter(problem: ProblemSpec, delimiter: str) -> str:
    """What separates cells: a semicolon in place of a comma where numbers have commas, as spreadsheets have it."""
    return ";" if problem.decimal_comma and delimiter == "," else delimiter


def _with_sign(numbers: str, delimiter: str) -> str:
    """Numbers with the decimal sign that goes with what separates them."""
    return numbers.replace(".", ",") if delimiter == ";" else numbers


def _tables(view: View, target: TextTarget = TEXT_FILE, *, delimiter: str) -> Iterator[str]:
    """A table for each result and head, with an empty line between two, and its name in a comment where it is one."""
    trace = view.result.trace
    delimiter = _delimiter(trace.problem, delimiter)
    tables = [(name, grid) for name in view.names for grid in selected_plain_grids(view, trace[name])]
    others = _tables_of_queries(view)
    for number, (name, grid) in enumerate(tables):
        yield "\n" if number else ""
        if len(tables) > 1 or others:
            yield f"# {escape_control(', '.join(label for label in (name, grid.slice_label) if label))}\n"
        yield from _table(grid, delimiter, target)
    for title, rows in others.items():
        yield f"\n# {title}\n"
        yield from _written_rows(rows, target, delimiter=delimiter)


def _written_rows(rows: Iterable[Sequence[object]], target: TextTarget = TEXT_FILE, *, delimiter: str) -> Iterator[str]:
    """Rows of texts and numbers, the numbers in full unless the target has decimals."""
    as_text, as_number = _texts_for(target), _numbers_for(target)
    for row in rows:
        yield delimited_rows([[_cell(cell, as_text, as_number or str, delimiter) for cell in row]], delimiter)


def _cell(cell: object, as_text: Callable[[str], str], as_number: Callable[[Any], str], delimiter: str) -> str:
    """A cell of a row: a text, a whole number, which is never rounded, or another number."""
    if isinstance(cell, str):
        return as_text(cell)
    return str(cell) if isinstance(cell, int) else _with_sign(as_number(cell), delimiter)


def _tables_of_queries(view: View) -> Mapping[str, Iterator[Sequence[object]]]:
    """The tables with a row for each batch item, head and query, or several, that a view has after the results."""
    if not (view.statistics or view.top):
        return {}
    from attncli.render import statistics  # noqa: PLC0415 - only `--stats` and `--top` need it
    from attncli.render import visible_statistics as visible  # noqa: PLC0415 - only `--stats` needs it

    tables = {visible.TITLE: visible.visible_table(view)} if visible.has_visible_statistics(view) else {}
    tables |= {statistics.TITLE: statistics.statistics_table(view)} if visible.has_weight_statistics(view) else {}
    return tables | ({statistics.TOP_TITLE: statistics.largest_keys_table(view)} if view.top else {})


def _table(grid: Grid, delimiter: str, target: TextTarget) -> Iterator[str]:
    """One grid, its numbers in full unless the target has decimals."""
    as_text = _texts_for(target)
    yield delimited_rows([["", *map(as_text, grid.columns)]], delimiter)
    labels = map(as_text, grid.rows)
    for rows in format_rows(grid.values, {}, delimiter, _numbers_for(target)):
        # the numbers first: after the last chunk zip must not consume a label
        labelled_rows = zip(rows, labels, strict=False)
        yield "".join(
            [
                f"{delimited_cell(label, delimiter)}{delimiter}{_with_sign(row, delimiter)}\n"
                for row, label in labelled_rows
            ]
        )


def _long_table(comparison: "Comparison", target: TextTarget = TEXT_FILE, *, delimiter: str) -> Iterator[str]:
    """One table of every variant of a comparison: the header and the rows of each variant.

    The columns are the variant, each varied key, the batch item and the head (0 where there is no such axis), the
    query and the key, and each selected result; of results with features, such as the output, the feature in place of
    the key. A result that a variant lacks has empty cells.
    """
    entries, as_text = _entry_columns(comparison), _texts_for(target)
    delimiter = _delimiter(comparison.variants[0].result.trace.problem, delimiter)
    keys = list(dict.fromkeys(chain.from_iterable(one.variant.keys for one in comparison.variants)))
    others = {VARIANT, BATCH, HEAD, *entries, *comparison.select}
    key_columns = [f"varied_{key}" if key in others else key for key in keys]  # two columns can't have one name
    yield delimited_rows([[VARIANT, *key_columns, BATCH, HEAD, *entries, *comparison.select]], delimiter)
    for one in comparison.variants:
        texts = [one.variant.name, *(one.variant.keys.get(key, "") for key in keys)]
        start = delimiter.join(delimited_cell(as_text(text), delimiter) for text in texts)
        yield from _rows_of_variant(one, comparison, start, delimiter, target)


def _entry_columns(comparison: "Comparison") -> tuple[str, ...]:
    """The columns of the entries that every selected result has a number for: `query` and `key`.

    Raises AttnError where results differ in that, or where one has two axes of features, such as a matrix of weights.
    """
    traces = {name: one.result.trace for one in comparison.variants for name in one.result.select}
    steps = {name: traces[name][name] for name in comparison.select}
    columns = {
        name: tuple(column_of_axis(letter) for letter in step.axes if letter not in COUNTED_FROM_0)
        for name, step in steps.items()
    }
    first, *others = columns
    for name, own in columns.items():
        if len(set(own)) < len(own):
            message = f"{name} has the axes [{' '.join(steps[name].axes)}], and two columns can't both be {FEATURE}"
            raise AttnError(message, where="--select", hint="select results of queries, or name a .json file")
    for name in others:
        if columns[name] != columns[first]:
            rows = [f"{each} for each {' and '.join(columns[each])}" for each in (first, name)]
            raise AttnError(f"has {', '.join(rows)}", where="--select", hint="select one of them, or name a .json file")
    return columns[first]


def _rows_of_variant(
    one: "VariantResult", comparison: "Comparison", start: str, delimiter: str, target: TextTarget
) -> Iterator[str]:
    """The rows of a variant, each beginning with `start`, a chunk at a time."""
    trace, as_text, as_number = one.result.trace, _texts_for(target), _numbers_for(target)
    if not one.result.select:
        return
    array = trace.labelled(trace[one.result.select[0]], comparison.positions)  # the others have the same axes
    entries = long_columns(array.axes).values()
    columns = ([delimited_cell(as_text(str(entry)), delimiter) for entry in column] for column in entries)
    rows = map(delimiter.join, product(*columns))
    values = {name: value_at(trace, trace[name], comparison.positions) for name in one.result.select}
    for index in np.ndindex(*(axis.size for axis in array.axes if axis.noun)):  # they come first
        slices = {name: np.atleast_1d(value[index]).reshape(-1) for name, value in values.items()}
        for numbers in _number_rows(slices, comparison.select, delimiter, as_number):
            # the numbers first: after the last chunk zip must not consume a row
            pairs = zip(numbers, rows, strict=False)
            texts = ((row, _with_sign(text, delimiter)) for text, row in pairs)
            yield "".join([f"{start}{delimiter}{row}{delimiter}{text}\n" for row, text in texts])


def _number_rows(
    values: Mapping[str, Array], names: Iterable[str], delimiter: str, as_number: Callable[[Any], str] | None
) -> Iterator[list[str]]:
    """The numbers of the columns `names` as rows of text, in chunks; a name without values has empty cells."""
    table = np.stack([values[name] for name in names if name in values], axis=-1)
    is_missing = [name not in values for name in names]
    for rows in format_rows(table, {}, delimiter, as_number):
        if not any(is_missing):
            yield rows
            continue
        present = (iter(row.split(delimiter)) for row in rows)
        yield [delimiter.join("" if missing else next(own) for missing in is_missing) for own in present]


write_csv, write_tsv = (partial(_tables, delimiter=delimiter) for delimiter in ",\t")
write_csv_rows, write_tsv_rows = (partial(_written_rows, delimiter=delimiter) for delimiter in ",\t")
write_long_csv, write_long_tsv = (partial(_long_table, delimiter=delimiter) for delimiter in ",\t")
