"""Worked lines of steps whose functions have none by hand: read off a record of what they do with the numbers."""

from collections.abc import Collection

from attncli.base.axes import SYMBOLS
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.masks import verdict
from attncli.ops.recording.arrays import NotRecordedError
from attncli.ops.recording.derivatives import RecordedDerivative, is_of_this_package, recording_of
from attncli.ops.recording.expression import MOVES, SCATTER, Expression, ordered
from attncli.ops.recording.lines import recorded_lines, recorded_verdict
from attncli.ops.recording.record import Recording
from attncli.plan.graph import GRADIENT
from attncli.plan.trace import AxisPositions, Step, Trace
from attncli.render.linear_gradients import name_of_number

MAX_LINES_OF_LINEAR = 2  # of the gradient of a linear function, which can be written in one
_ADDED = frozenset({*MOVES, SCATTER, "sum", "add"})  # that only move and add numbers


def _hides(step: Expression) -> bool:
    """Whether it has numbers of others but where one is −∞."""
    if step.function != "where":
        return False
    condition = step.sources[0]
    return any(one.is_constant and np.ndim(one.value) == 0 and np.isinf(one.value) for one in condition.sources)


def _is_linear(step: Step, made: Recording) -> bool:
    """Whether a gradient is that of a function that is linear in its argument, and so a sum of products."""
    function = step.function
    if not isinstance(function, RecordedDerivative) or not is_of_this_package(function):
        return False
    return made.arguments[function.argument] not in ordered(made.result)


def _only_adds(result: Expression) -> bool:
    """Whether an array has numbers of others, and sums of these, and nothing else."""
    pending = [result]
    while pending:
        step = pending.pop()
        if step.sources and step.function not in _ADDED and not _hides(step):
            return False
        pending += step.carried
    return True


def recorded_step_lines(trace: Trace, step: Step, at: AxisPositions, write: ArithmeticWriter) -> list[str]:
    """The lines of a step at the positions in `at`: of a vector on its last axis all numbers, or one where it is long.

    Where the function of somebody else's operator can't be recorded that is the line, with the line of the function; of
    others there are none then.
    """
    try:
        made = _recorded(trace, step)
        if made is None:
            return [f"nothing of it is read: {write(0.0)}"]
        if _only_adds(made.result) and not (isinstance(step.function, RecordedDerivative) and step.function.symbol):
            return []  # which number it is, or the sum of which, is said as of all linear functions
        if not np.allclose(made.result.value, step.value, rtol=1e-2, atol=1e-3, equal_nan=True):
            raise NotRecordedError("its record has other numbers than the function")
        lines = _lines(trace, step, at, write, made)
        return [] if len(lines) > MAX_LINES_OF_LINEAR and _is_linear(step, made) else lines
    except NotRecordedError as error:
        if is_of_this_package(step.function):
            return []
        return [f"no arithmetic: {error.message}{f' ({error.where})' if error.where else ''}"]


def arrays_read(trace: Trace, step: Step) -> Collection[str]:
    """The arguments of the derivative of a function whose numbers it reads; of one that can't be recorded all."""
    assert isinstance(step.function, RecordedDerivative)
    try:
        return step.function.read({name: trace[source].value for name, source in step.inputs.items()}, step.options)
    except NotRecordedError:
        return list(step.inputs)


def _recorded(trace: Trace, step: Step) -> Recording | None:
    """The record of what a step computed; None of a gradient that is 0. Raises NotRecordedError."""
    arrays = {name: _exact(trace[source].value) for name, source in step.inputs.items()}
    return recording_of(step.function, arrays, step.options)


def _exact(value: Array) -> Array:
    """Numbers of any floating-point type as those of Python: what is worked is not rounded on the way."""
    return np.asarray(value, np.float64) if value.dtype.kind == "f" else value


def _lines(trace: Trace, step: Step, at: AxisPositions, write: ArithmeticWriter, made: Recording) -> list[str]:
    """The lines of the numbers of a step at some positions."""
    shape, places = step.value.shape, np.arange(step.value.size).reshape(step.value.shape)
    is_row = bool(shape) and step.axes[-1] not in at and not write.is_long(shape[-1])
    index = tuple(
        min(at[letter], size - 1) if letter in at else slice(None) if is_row and axis == len(shape) - 1 else 0
        for axis, (letter, size) in enumerate(zip(step.axes, shape, strict=True))
    )
    if not is_row and shape and step.axes[-1] not in at:
        index = (*index[:-1], min(write.feature, shape[-1] - 1))
    flats = np.atleast_1d(places[index])
    if step.value.dtype.kind == "b":
        return verdict(recorded_verdict(write, made.result, int(flats[0])), step.value[index])
    known = {made.taps[name]: trace[own].value for name, own in step.node.taps.items() if name in made.taps}
    value, letter = _exact(step.value)[index], step.axes[-1] if shape else ""
    is_gradient = step.stage == GRADIENT
    if is_gradient or (shape and not is_row and letter not in at):
        named = {axis: int(one) for axis, one in zip(step.axes, index, strict=True) if not isinstance(one, slice)}
        name = name_of_number(trace, step, named) if shape or not _only_adds(made.result) else ""
    else:
        name = ""
    names = {**made.names, **_symbols(step, made, write)}
    return recorded_lines(write, made.result, flats, value, given=known, names=names, name=name, letter=letter)


def _symbols(step: Step, made: Recording, write: ArithmeticWriter) -> dict[Expression, str]:
    """The inner quantities of an operator by their formulas, as `Q(cat)·K(sat)`, where these name what they are of."""
    record = step.record
    if record is None:
        return {}
    labels = {"ᵢ": f"({write.query})", "ⱼ": f"({write.key})"}
    found = dict[Expression, str]()
    for quantity in record.inner:
        text = quantity.formula
        for argument in record.arguments:
            text = text.replace(SYMBOLS.get(argument, argument), write.symbol(argument))
        for letter, label in labels.items():
            text = text.replace(letter, label)
        if quantity.name in made.taps and not any(sign in quantity.formula for sign in "=Σ"):
            found[made.taps[quantity.name]] = text
    return found
