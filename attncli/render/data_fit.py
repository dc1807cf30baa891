"""Attention as data fitting: values over one-dimensional keys as points, and the context as a curve."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import AxisPositions, Step, Trace, add_dependent_axes, slices_at
from attncli.problem.fields import CONTEXT, OUTPUT
from attncli.render.curve import Plot, Series
from attncli.render.document import Section
from attncli.render.tables import leading_slices
from attncli.render.view import View

QUERY, KEY, VALUE = "query", "key", "value"  # arguments of scores and contexts, and the names of steps
SCORES = "scores"
NEEDED = "a curve needs queries and keys of one feature, or query_tokens and tokens that are numbers"


@dataclass(frozen=True)
class DataFit:
    """One feature of the values over the keys as points, and of the context over the queries as a curve."""

    title: str  # the batch item, the head and the feature, if there are several
    x_name: str  # name of the horizontal axis: `key` or `token`
    points: Series
    curve: Series


def data_fit_section(view: View) -> Section:
    """The plots of a data fit; after an edit, with the curves before and after."""
    fits = list(data_fits(view.result.trace, view.positions))
    curves: list[tuple[Series, ...]] = [(fit.curve,) for fit in fits]
    if view.edited_cells and view.before is not None:
        before = data_fits(view.before.trace, view.positions)
        curves = [
            (replace(old.curve, name="before"), replace(fit.curve, name="after"))
            for old, fit in zip(before, fits, strict=True)
        ]
    plots = tuple(
        Plot(fit.title, fit.points, own, f"{fit.x_name}s", fit.curve.name)
        for fit, own in zip(fits, curves, strict=True)
    )
    return Section(f"{fits[0].curve.name} over {fits[0].x_name}s", plots=plots)


def data_fit_object(trace: Trace) -> dict[str, Any]:
    """The data of a page's fit: the step of the curve, and where `queries`, `keys` and `value` are.

    Queries and keys are the name of a step with one feature, or their tokens as numbers.
    """
    value, points, tokens = _argument(trace, CONTEXT, VALUE), _points(trace), _token_numbers(trace)
    assert value is not None
    queries, keys = (step.name for step in points) if points is not None else (one.tolist() for one in tokens or ())
    axis = "token" if points is None else KEY
    return {"axis": axis, "step": trace[CONTEXT].name, "queries": queries, "keys": keys, "value": value.name}


def has_data_fit(trace: Trace) -> bool:
    """Whether values and their context are curves over one axis."""
    try:
        check_data_fit(trace)
    except AttnError:
        return False
    return True


def check_data_fit(trace: Trace) -> None:
    """Raise AttnError, with the reason, unless values and their context are curves over one axis."""
    value = _argument(trace, CONTEXT, VALUE)
    if value is None:
        raise AttnError("there are no values for an output", hint="give some: --value")
    lengths = [step.value.shape[-1] for step in (trace[CONTEXT], value)]
    if len(set(lengths)) > 1:
        message = f"a context of length {lengths[0]} is not a curve through values of length {lengths[1]}"
        raise AttnError(message, hint="both are as long with --context weighted_sum")
    if _points(trace) is not None or _token_numbers(trace) is not None:
        return
    vectors = [_argument(trace, SCORES, name) for name in (QUERY, KEY)]
    lengths = [step.value.shape[-1] for step in vectors if step is not None]
    message = "there are no queries and keys, and the tokens are not numbers"
    if len(lengths) == len(vectors):
        message = f"queries have {lengths[0]} features, keys have {lengths[1]}, and their tokens are not numbers"
    raise AttnError(message, hint=NEEDED)


def data_fits(trace: Trace, positions: Mapping[str, int] | None = None) -> Iterator[DataFit]:
    """A data fit for each feature of the values, in each batch item and head; axes in `positions` have one position.

    Points are at the keys, the curve at the queries. If these have several features, their tokens must be numbers.
    Raises AttnError if they are not, or if the context and the values differ in features.
    """
    check_data_fit(trace)
    context, value = trace[CONTEXT], _argument(trace, CONTEXT, VALUE)
    assert value is not None
    output = trace.by_name.get(OUTPUT)
    is_output = output is not None and output.is_identity and output.inputs["x"] == context.name
    name = OUTPUT if is_output else CONTEXT
    features = trace.labels_of(context, -1)
    for index, label in leading_slices(trace, context, positions):
        at = add_dependent_axes(trace, dict(zip(context.axes[:-2], index, strict=True)))
        x_name, queries, keys = _horizontal_axis(trace, at)
        points, curves = _table_at(trace, value, at), _table_at(trace, context, at)
        for column, feature in enumerate(features):
            title = ", ".join(part for part in (label, feature if len(features) > 1 else "") if part)
            own_points = Series(VALUE, keys, points[:, column])
            yield DataFit(title, x_name, own_points, Series(name, queries, curves[:, column]))


def numbers_of(labels: Sequence[str]) -> Array | None:
    """Labels as numbers [k]; None if one is not a finite number.

    >>> numbers_of(["1", "2.5"]), numbers_of(["one"])
    (array([1. , 2.5]), None)
    """
    try:
        numbers = np.array([float(label) for label in labels])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _argument(trace: Trace, result: str, name: str) -> Step | None:
    """The step that a result's function reads as an argument, otherwise the step of that name, if any."""
    source = trace[result].inputs.get(name, name) if result in trace else name
    return trace.by_name.get(source)


def _points(trace: Trace) -> tuple[Step, Step] | None:
    """The queries and the keys as the score reads them, if each is one number."""
    query, key = (_argument(trace, SCORES, name) for name in (QUERY, KEY))
    if query is None or key is None or {query.value.shape[-1], key.value.shape[-1]} != {1}:
        return None
    return query, key


def _token_numbers(trace: Trace) -> tuple[Array, Array] | None:
    """The tokens of the queries and of the keys as numbers; None if one is not a number."""
    queries, keys = (numbers_of(trace.labels[letter]) for letter in "nm")
    return None if queries is None or keys is None else (queries, keys)


def _horizontal_axis(trace: Trace, at: AxisPositions) -> tuple[str, Array, Array]:
    """The name of the horizontal axis, and the positions of the queries and the keys on it."""
    if (points := _points(trace)) is not None:
        query, key = (_table_at(trace, step, at)[:, 0] for step in points)
        return KEY, query, key
    numbers = _token_numbers(trace)
    assert numbers is not None
    return "token", *numbers


def _table_at(trace: Trace, step: Step, at: AxisPositions) -> Array:
    """The table [rows columns] of a step at the positions of its other axes."""
    value = step.value[slices_at(trace, step, at)]
    return value.reshape(value.shape[-2:])
