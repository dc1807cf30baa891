"""Data frames of pandas: a step as a table, the statistics of rows of weights, and a comparison in long form."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from attncli.base.axes import COUNTED_FROM_0
from attncli.base.errors import AttnError, UnknownNameError, missing_package
from attncli.base.labels import FEATURE, LabelledAxis, column_of_axis, long_columns
from attncli.base.lazy_numpy import Array
from attncli.comparisons.comparison import Comparison
from attncli.comparisons.differences import Difference, VariantResult
from attncli.comparisons.long_table import VARIANT
from attncli.plan.trace import Step, Trace, value_at, weight_rows_at
from attncli.problem.fields import WEIGHTS
from attncli.problem.spec import FIELDS
from attncli.render.rows import RowStatistics

if TYPE_CHECKING:
    import pandas


TO_PANDAS = "to_pandas"
STATISTICS = "statistics"  # the rows of weights, in place of a result's name
DIFFERENCES = "differences"
VALUE_KINDS = ("integer", "number", "flag")  # keys whose column has their values, not text
CELL = ("query", "key")


def import_pandas() -> Any:
    """The module pandas; raises AttnError if it is not installed."""
    try:
        import pandas  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise missing_package("pandas", "pandas", TO_PANDAS) from None
    return pandas


def step_frame(trace: Trace, step: Step) -> "pandas.DataFrame":
    """The value of a step: a column for each entry of its last axis, a row for each entry of the others.

    Several axes of rows form a MultiIndex, for weights [b h n m]: batch, head, query. A single axis has a row for each
    entry. Labels are the original tokens, even if they repeat.
    """
    pandas = import_pandas()
    axes = trace.labelled_axes(zip(step.axes, step.value.shape, strict=True), are_numbered=False)
    if step.value.ndim < 2:
        return pandas.DataFrame(step.value.reshape(-1, 1), index=_row_index(axes), columns=[step.name])
    columns = pandas.Index(list(axes[-1].entries), name=axes[-1].column)
    return pandas.DataFrame(step.value.reshape(-1, axes[-1].size), index=_row_index(axes[:-1]), columns=columns)


def statistics_frame(trace: Trace, weights: Step, statistics: RowStatistics) -> "pandas.DataFrame":
    """The statistics of the rows of weights, a column each; the key of the largest weight by its label."""
    columns = {field.name: getattr(statistics, field.name).reshape(-1) for field in fields(statistics)}
    columns["largest_key"] = statistics.label_largest_keys(trace.labels_of(weights, -1)).reshape(-1)
    axes = trace.labelled_axes(zip(weights.axes, weights.value.shape, strict=True), are_numbered=False)
    return import_pandas().DataFrame(columns, index=_row_index(axes[:-1]))


def _row_index(axes: Sequence[LabelledAxis]) -> Any:
    """The index of the rows along some axes: a MultiIndex for several, None without any."""
    pandas = import_pandas()
    if len(axes) < 2:
        return next((pandas.Index(axis.entries, name=axis.column) for axis in axes), None)
    return pandas.MultiIndex.from_product([axis.entries for axis in axes], names=[axis.column for axis in axes])


def comparison_frame(comparison: Comparison, name: str | None) -> "pandas.DataFrame":
    """The numbers of the selected results of every variant, of a named one, the statistics or the differences.

    Raises UnknownNameError for an unknown name.
    """
    if name == DIFFERENCES:
        steps = {found.variants: found.step for found in comparison.first_differences}
        rows = [_difference(comparison, found, steps[found.variants]) for found in comparison.differences]
        return import_pandas().DataFrame(rows)
    if name == STATISTICS:
        return _long_frame(comparison, lambda one: _statistics_columns(comparison, one))
    if name is not None and name not in comparison.select:
        raise UnknownNameError("result", name, [*comparison.select, STATISTICS, DIFFERENCES], where=TO_PANDAS)
    names = _names_of_one_table(comparison) if name is None else [name]
    return _long_frame(comparison, lambda one: _number_columns(comparison, one, names))


def _names_of_one_table(comparison: Comparison) -> Sequence[str]:
    """The selected results with a number for each query and key; if none, those with the first one's axes."""
    axes = {
        name: tuple(column_of_axis(letter) for letter in one.result.trace[name].axes if letter not in COUNTED_FROM_0)
        for one in comparison.variants
        for name in one.result.select
    }
    shared = CELL if CELL in axes.values() else next(iter(axes.values()), ())
    return [name for name in comparison.select if axes.get(name) == shared]


def _long_frame(
    comparison: Comparison, columns_of: Callable[[VariantResult], "pandas.DataFrame | None"]
) -> "pandas.DataFrame":
    """The rows of each variant one below the other, each after its name and the values of the varied keys.

    Raises AttnError if no variant has any.
    """
    frames = []
    for one in comparison.variants:
        frame = columns_of(one)
        if frame is not None:
            keys = {_free_name(key, frame): _key_value(one, key) for key in one.variant.keys}
            for at, (column, value) in enumerate({VARIANT: one.variant.name, **keys}.items()):
                frame.insert(at, column, value)
            frames.append(frame)
    if not frames:
        raise AttnError("no variant has kept such numbers", where=TO_PANDAS, hint="select weights, or other results")
    return import_pandas().concat(frames, ignore_index=True)


def _free_name(key: str, frame: "pandas.DataFrame") -> str:
    """The column of a varied key: two columns can't share a name."""
    return f"varied_{key}" if key in (VARIANT, *frame.columns) else key


def _key_value(one: VariantResult, key: str) -> Any:
    """The value of a varied key: a number or boolean itself, for further computation."""
    is_value = key in FIELDS and FIELDS[key].kind in VALUE_KINDS
    return getattr(one.variant.problem, key) if is_value else one.variant.keys[key]


def _number_columns(comparison: Comparison, one: VariantResult, names: Sequence[str]) -> "pandas.DataFrame | None":
    """A row for each entry of results with one shape: its position and labels, and the numbers; None if empty."""
    trace, own = one.result.trace, [name for name in names if name in one.result.select]
    if not own:
        return None
    array = trace.labelled(trace[own[0]], comparison.positions)
    if len({axis.column for axis in array.axes}) < len(array.axes):
        letters = " ".join(axis.letter for axis in array.axes)
        message = f"{own[0]} has the axes [{letters}], and two columns can't both be {FEATURE}"
        raise AttnError(message, where=TO_PANDAS, hint=f"variants[0].result.to_pandas({own[0]!r}) has it as a table")
    return _rows(array.axes, {name: value_at(trace, trace[name], comparison.positions) for name in own})


def _statistics_columns(comparison: Comparison, one: VariantResult) -> "pandas.DataFrame | None":
    """A row for each row of weights: its batch item, head and query, and its statistics; None without weights."""
    if one.statistics is None:
        return None
    trace, parts = one.result.trace, weight_rows_at(one.result.trace, comparison.positions)
    statistics = {field.name: getattr(one.statistics, field.name)[parts] for field in fields(one.statistics)}
    statistics["largest_key"] = one.statistics.label_largest_keys(trace.numbered_labels["m"])[parts]
    axes = trace.labelled_axes(trace.plan[WEIGHTS].axes[:-1])
    return _rows([axis.take(part) for axis, part in zip(axes, parts, strict=True)], statistics)


def _rows(axes: Iterable[LabelledAxis], numbers: Mapping[str, Array]) -> "pandas.DataFrame":
    """A row for each combination of the entries of axes, with its numbers."""
    columns = long_columns(axes)
    frame = import_pandas().MultiIndex.from_product(columns.values(), names=columns).to_frame(index=False)
    for name, values in numbers.items():
        frame[name] = values.reshape(-1)
    return frame


def _difference(comparison: Comparison, difference: Difference, first_step: str | None) -> dict[str, Any]:
    """The row of a difference: the names of both variants, the numbers of both, and the first step that differs."""
    baseline, variant = (comparison.variants[at].variant.name for at in difference.variants)
    columns = {name: value for name, value in asdict(difference).items() if name not in ("variants", "position")}
    columns["labels"] = ", ".join(difference.labels)
    numbers = columns.pop("numbers") or (None, None)
    both = dict(zip(("baseline_number", "variant_number"), numbers, strict=True))
    return {"baseline": baseline, VARIANT: variant, **columns, **both, "first_difference": first_step}
