"""A comparison as one long table of CSV or TSV: a row for each variant, query and key; in chunks."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, product
from typing import Any

from attncli.base.axes import COUNTED_FROM_0
from attncli.base.errors import AttnError
from attncli.base.labels import BATCH, FEATURE, HEAD, column_of_axis, long_columns
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import delimited_cell, delimited_rows
from attncli.comparisons.comparison import Comparison
from attncli.comparisons.differences import VariantResult
from attncli.numbers.formatting import format_rows
from attncli.plan.trace import value_at
from attncli.render.formats.csv import delimiter_of, numbers_for, texts_for, with_sign
from attncli.render.target import TEXT_FILE, TextTarget

VARIANT = "variant"


def _long_table(comparison: Comparison, target: TextTarget = TEXT_FILE, *, delimiter: str) -> Iterator[str]:
    """One table of every variant of a comparison: the header and the rows of each variant.

    The columns are the variant, each varied key, the batch item and the head (0 without such an axis), the query and
    the key, and each selected result; results with features, such as the output, have the feature in place of the key.
    Cells of a result that a variant lacks are empty.
    """
    entries, as_text = _entry_columns(comparison), texts_for(target)
    delimiter = delimiter_of(comparison.variants[0].result.trace.problem, delimiter)
    keys = list(dict.fromkeys(chain.from_iterable(one.variant.keys for one in comparison.variants)))
    others = {VARIANT, BATCH, HEAD, *entries, *comparison.select}
    key_columns = [f"varied_{key}" if key in others else key for key in keys]  # two columns can't share a name
    yield delimited_rows([[VARIANT, *key_columns, BATCH, HEAD, *entries, *comparison.select]], delimiter)
    for one in comparison.variants:
        texts = [one.variant.name, *(one.variant.keys.get(key, "") for key in keys)]
        start = delimiter.join(delimited_cell(as_text(text), delimiter) for text in texts)
        yield from _rows_of_variant(one, comparison, start, delimiter, target)


def _entry_columns(comparison: Comparison) -> tuple[str, ...]:
    """The columns of the entries that every selected result has numbers for: `query` and `key`.

    Raises AttnError if results differ in that, or if one has two axes of features, such as a matrix of weights.
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
    one: VariantResult, comparison: Comparison, start: str, delimiter: str, target: TextTarget
) -> Iterator[str]:
    """The rows of a variant, each beginning with `start`, a chunk at a time."""
    trace, as_text, as_number = one.result.trace, texts_for(target), numbers_for(target)
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
            texts = ((row, with_sign(text, delimiter)) for text, row in pairs)
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


write_long_csv, write_long_tsv = (partial(_long_table, delimiter=delimiter) for delimiter in ",\t")
