"""Data frames of pandas: a step as a table with its labels, and the statistics of rows of weights."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from attncli.analysis.row_statistics import RowStatistics
from attncli.base.axes import COUNTED_FROM_0
from attncli.base.errors import AttnError
from attncli.render.formats.csv import column_of_axis
from attncli.trace.steps import Step, Trace

if TYPE_CHECKING:
    import pandas

TO_PANDAS = "to_pandas"
STATISTICS = "statistics"  # of the rows of weights, in place of the name of a result
INSTALL = "pip install 'attncli[pandas]'"


def import_pandas() -> Any:
    """The module pandas; raises AttnError where it is not installed."""
    try:
        import pandas  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise AttnError("needs the package pandas", where=TO_PANDAS, hint=f"install it: {INSTALL}") from None
    return pandas


def step_frame(trace: Trace, step: Step) -> "pandas.DataFrame":
    """The value of a step: a column for each entry of its last axis, a row for each of all others.

    Several axes of rows are a MultiIndex, as of weights [b h n m]: batch, head, query. Of one axis alone each
    entry is a row. Labels are the tokens as they are, also where they are equal.
    """
    pandas = import_pandas()
    if step.value.ndim < 2:
        values = step.value.reshape(-1, 1)
        index = row_index(trace, step, step.axes) if step.axes else None
        return pandas.DataFrame(values, index=index, columns=[step.name])
    columns = pandas.Index(_entries(trace, step, -1), name=column_of_axis(step.axes[-1]))
    values = step.value.reshape(-1, step.value.shape[-1])
    return pandas.DataFrame(values, index=row_index(trace, step, step.axes[:-1]), columns=columns)


def statistics_frame(trace: Trace, weights: Step, statistics: RowStatistics) -> "pandas.DataFrame":
    """The statistics of the rows of weights, a column each; the key of the largest weight by its label."""
    columns = {field.name: getattr(statistics, field.name).reshape(-1) for field in fields(statistics)}
    columns["largest_key"] = statistics.label_largest_keys(trace.labels_of(weights, -1)).reshape(-1)
    return import_pandas().DataFrame(columns, index=row_index(trace, weights, weights.axes[:-1]))


def row_index(trace: Trace, step: Step, letters: Sequence[str]) -> Any:
    """The index of the first axes of a step, by their letters: a MultiIndex where there are several."""
    pandas = import_pandas()
    entries = [_entries(trace, step, axis - len(step.axes)) for axis in range(len(letters))]
    names = list(map(column_of_axis, letters))
    if len(entries) == 1:
        return pandas.Index(entries[0], name=names[0])
    return pandas.MultiIndex.from_product(entries, names=names)


def _entries(trace: Trace, step: Step, axis: int) -> Sequence[Any]:
    """The entries of an axis (counted from the end): tokens, or positions of heads and batch items from 0."""
    is_counted = step.axes[axis] in COUNTED_FROM_0
    return range(step.value.shape[axis]) if is_counted else list(trace.labels_of(step, axis))
