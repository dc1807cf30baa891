"""Data frames of pandas: a step as a table, the statistics of rows of weights, and a comparison in long form."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from attncli.analysis.compare import Comparison
from attncli.analysis.differences import Difference, VariantResult
from attncli.analysis.rows import RowStatistics
from attncli.base.axes import COUNTED_FROM_0
from attncli.base.errors import AttnError, UnknownNameError, missing_package
from attncli.base.lazy_numpy import Array
from attncli.plan.trace import Step, Trace, slices_at, value_at, weight_rows_at
from attncli.problem.results import WEIGHTS
from attncli.problem.spec import FIELDS
from attncli.render.formats.csv import BATCH, HEAD, VARIANT, column_of_axis

if TYPE_CHECKING:
    import pandas


TO_PANDAS = "to_pandas"
STATISTICS = "statistics"  # of the rows of weights, in place of the name of a result
DIFFERENCES = "differences"
VALUE_KINDS = ("integer", "number", "flag")  # of keys whose column has their values, and not these as text
CELL = ("query", "key")


def import_pandas() -> Any:
    """The module pandas; raises AttnError where it is not installed."""
    try:
        import pandas  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise missing_package("pandas", "pandas", TO_PANDAS) from None
    return pandas


def step_frame(trace: Trace, step: Step) -> "pandas.DataFrame":
    """The value of a step: a column for each entry of its last axis, a row for each of all others.

    Several axes of rows are a MultiIndex, as of weights [b h n m]: batch, head, query. Of one axis alone each
    entry is a row. Labels are the tokens as they are, also where they are equal.
    """
    pandas = import_pandas()
    if step.value.ndim < 2:
        values = step.value.reshape(-1, 1)
        index = _row_index(trace, step, step.axes) if step.axes else None
        return pandas.DataFrame(values, index=index, columns=[step.name])
    columns = pandas.Index(_entries(trace, step, -1), name=column_of_axis(step.axes[-1]))
    values = step.value.reshape(-1, step.value.shape[-1])
    return pandas.DataFrame(values, index=_row_index(trace, step, step.axes[:-1]), columns=columns)


def statistics_frame(trace: Trace, weights: Step, statistics: RowStatistics) -> "pandas.DataFrame":
    """The statistics of the rows of weights, a column each; the key of the largest weight by its label."""
    columns = {field.name: getattr(statistics, field.name).reshape(-1) for field in fields(statistics)}
    columns["largest_key"] = statistics.label_largest_keys(trace.labels_of(weights, -1)).reshape(-1)
    return import_pandas().DataFrame(columns, index=_row_index(trace, weights, weights.axes[:-1]))


def _row_index(trace: Trace, step: Step, letters: Sequence[str]) -> Any:
    """The index of the first axes of a step, by their letters: a MultiIndex where there are several."""
    pandas = import_pandas()
    entries = [_entries(trace, step, axis - len(step.axes)) for axis in range(len(letters))]
    names = list(map(column_of_axis, letters))
    if len(entries) == 1:
        return pandas.Index(entries[0], name=names[0])
    return pandas.MultiIndex.from_product(entries, names=names)


def _entries(trace: Trace, step: Step, axis: int, *, numbered: bool = False) -> Sequence[Any]:
    """The entries of an axis (counted from the end): positions of heads and batch items from 0, or tokens.

    Equal tokens stay equal, or where `numbered` have their number.
    """
    if step.axes[axis] in COUNTED_FROM_0:
        return range(step.value.shape[axis])
    return list((trace.numbered_labels_of if numbered else trace.labels_of)(step, axis))


def comparison_frame(comparison: Comparison, name: str | None) -> "pandas.DataFrame":
    """The numbers of the selected results of every variant, of the one named, the statistics or the differences.

    Raises UnknownNameError where there is nothing of that name.
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
    """The selected results with a number for each query and key; without any those with the axes of the first one."""
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
    """The rows of each variant one below the other, each with its name and the values of the varied keys in front.

    Raises AttnError where no variant has any.
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
    """The column of a varied key: two columns can't have one name."""
    return f"varied_{key}" if key in (VARIANT, *frame.columns) else key


def _key_value(one: VariantResult, key: str) -> Any:
    """The value of a varied key: of one number or truth value itself, so that it can be computed with."""
    is_value = key in FIELDS and FIELDS[key].kind in VALUE_KINDS
    return getattr(one.variant.problem, key) if is_value else one.variant.keys[key]


def _number_columns(comparison: Comparison, one: VariantResult, names: Sequence[str]) -> "pandas.DataFrame | None":
    """A row for each entry of results of one shape: its position and labels, and the numbers; None without results."""
    trace, own = one.result.trace, [name for name in names if name in one.result.select]
    if not own:
        return None
    step = trace[own[0]]
    labels = [_entries(trace, step, axis, numbered=True) for axis in range(-step.value.ndim, 0)]
    shown = [entries[part] for entries, part in zip(labels, slices_at(trace, step, comparison.positions), strict=True)]
    numbers = {name: value_at(trace, trace[name], comparison.positions) for name in own}
    return _rows(step.axes, shown, numbers)


def _statistics_columns(comparison: Comparison, one: VariantResult) -> "pandas.DataFrame | None":
    """A row for each row of weights: its batch item, head and query, and its statistics; None without weights."""
    if one.statistics is None:
        return None
    trace, parts = one.result.trace, weight_rows_at(one.result.trace, comparison.positions)
    statistics = {field.name: getattr(one.statistics, field.name)[parts] for field in fields(one.statistics)}
    shape, letters = one.statistics.support.shape, trace.plan[WEIGHTS].letters[:-1]
    labels = [
        range(size) if letter in COUNTED_FROM_0 else trace.numbered_labels[letter]
        for letter, size in zip(letters, shape, strict=True)
    ]
    statistics["largest_key"] = one.statistics.label_largest_keys(trace.numbered_labels["m"])[parts]
    return _rows(letters, [entries[part] for entries, part in zip(labels, parts, strict=True)], statistics)


def _rows(letters: Sequence[str], labels: Sequence[Sequence[Any]], numbers: Mapping[str, Array]) -> "pandas.DataFrame":
    """A row for each combination of the labels of axes, with its numbers; batch item and head 0 where there is none."""
    pandas = import_pandas()
    columns = list(map(column_of_axis, letters))
    frame = pandas.MultiIndex.from_product(labels, names=columns).to_frame(index=False)
    for at, column in enumerate((BATCH, HEAD)):
        if column not in columns:
            frame.insert(at, column, 0)
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
