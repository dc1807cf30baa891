"""Worked lines of steps whose functions have no `by_hand`, read from a recording of their arithmetic."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0, SYMBOLS, count_entries
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Number, Term
from attncli.ops.masks import verdict
from attncli.ops.recording.arrays import NotRecordedError
from attncli.ops.recording.derivatives import (
    FORWARD,
    GRAD,
    RecordedDerivative,
    derivatives_of,
    is_of_this_package,
    recording_of,
)
from attncli.ops.recording.expression import MOVES, Expression
from attncli.ops.recording.lines import Known, recorded_lines, recorded_verdict
from attncli.ops.recording.record import Recording
from attncli.ops.records import OperatorRecord, Quantity
from attncli.plan.builder import symbols_of
from attncli.plan.graph import GRADIENT, Node, gradient_name
from attncli.plan.trace import AxisPositions, Step, Trace
from attncli.problem.fields import OUTPUT
from attncli.render.tables import TOKEN_NOUNS, name_of_number

SLACK = 0.05  # share of the largest number of a step
_MARKS = {"n": "ᵢ", "m": "ⱼ"}  # letters of a row in formulas


def recorded_step_lines(trace: Trace, step: Step, at: AxisPositions, write: ArithmeticWriter) -> list[str]:
    """The lines of a step at the positions in `at`: every number of a vector on its last axis, or one if it is long.

    If a third-party operator can't be recorded, the line says so, with the line of its function; other steps then have
    no lines.
    """
    try:
        arrays = {name: _exact(trace[source].value) for name, source in step.inputs.items()}
        made = _recording(step, arrays)
        return _lines(trace, step, at, write, made)
    except NotRecordedError as error:
        if is_of_this_package(step.function):
            return []
        return [f"no arithmetic: {error.message}{f' ({error.where})' if error.where else ''}"]


def arrays_read(trace: Trace, step: Step) -> Collection[str]:
    """The arguments of a function whose numbers its derivative reads; all if it can't be recorded."""
    assert isinstance(step.function, RecordedDerivative)
    try:
        return step.function.read({name: trace[source].value for name, source in step.inputs.items()}, step.options)
    except NotRecordedError:
        return list(step.inputs)


def _recording(step: Step, arrays: Mapping[str, Array]) -> Recording | None:
    """The record of a step, with its numbers under their names if the function accepts any numbers for them."""
    numbers = {name: value for name, value in step.options.items() if isinstance(value, float)}
    for recorded in (numbers, {}) if numbers else ({},):
        try:
            made = recording_of(step.function, arrays, step.options, numbers=recorded)
        except NotRecordedError:
            if recorded:
                continue
            raise
        if made is None or np.allclose(made.result.value, step.value, atol=_slack(step.value), equal_nan=True):
            return made
    raise NotRecordedError("its record has different numbers from the function")


def _slack(value: Array) -> float:
    """The permitted difference between a record and a step rounded in a half type: a share of its largest number."""
    finite = np.abs(value[np.isfinite(value)]) if value.dtype.kind == "f" else np.zeros(0)
    return SLACK * float(finite.max(initial=0))


def _exact(value: Array) -> Array:
    """Numbers of any floating-point type as Python floats, so that the arithmetic does not round them."""
    return np.asarray(value, np.float64) if value.dtype.kind == "f" else value


def _lines(trace: Trace, step: Step, at: AxisPositions, write: ArithmeticWriter, made: Recording | None) -> list[str]:
    """The lines of a step's numbers at some positions; `made` is None if nothing reads them."""
    shape, places = step.value.shape, np.arange(step.value.size).reshape(step.value.shape)
    is_row = bool(shape) and step.axes[-1] not in at and shape[-1] > 1 and not write.is_long(shape[-1])
    index = tuple(
        min(at[letter], size - 1) if letter in at else slice(None) if is_row and axis == len(shape) - 1 else 0
        for axis, (letter, size) in enumerate(zip(step.axes, shape, strict=True))
    )
    if not is_row and shape and step.axes[-1] not in at:
        index = (*index[:-1], min(write.feature, shape[-1] - 1))
    if step.stage == GRADIENT:
        index = _first_reached(step, index, at)
    flats = np.atleast_1d(places[index])
    is_gradient = step.stage == GRADIENT
    value, letter = _exact(step.value)[index], step.axes[-1] if shape else ""
    named = {axis: int(one) for axis, one in zip(step.axes, index, strict=True) if not isinstance(one, slice)}
    name = name_of_number(trace, step, named)
    if made is None:
        return [_nothing(trace, step, name, write(value))]
    if step.value.dtype.kind == "b":
        return verdict(recorded_verdict(write, made.result, int(flats[0])), step.value[index])
    known = _known(trace, step, made)
    if not (is_gradient or is_row or (shape and letter not in at)):
        name = "" if step.record is None else _short_formula(step.record, write)
    if not is_gradient:
        return recorded_lines(write, made.result, flats, value, known=known, name=name, letter=letter)
    source = "grad" if "grad" in step.inputs else next(iter(step.inputs))
    grad = made.arguments.get(source) if len(step.inputs) == 1 or source == GRAD else None
    sentence = partial(_sentence, trace, step, source, name, write(value), len(flats))
    return recorded_lines(
        write, made.result, flats, value, known=known, name=name, letter=letter, grad=grad, sentence=sentence
    )


def _first_reached(step: Step, index: tuple[Any, ...], at: AxisPositions) -> tuple[Any, ...]:
    """The index, first on axes before the last that `at` lacks, at which a gradient is not 0."""
    free = [axis for axis, letter in enumerate(step.axes[:-1]) if letter not in at]
    part = step.value[tuple(slice(None) if axis in free else one for axis, one in enumerate(index))]
    rows = part != 0 if part.ndim == len(free) else (part != 0).any(axis=-1)
    if not free or not rows.any():
        return index
    found = dict(zip(free, np.unravel_index(int(np.argmax(rows)), rows.shape), strict=True))
    return tuple(int(found[axis]) if axis in found else one for axis, one in enumerate(index))


def _sentence(
    trace: Trace, step: Step, source: str, name: str, value: str, count: int, line: str, term: Term, read: Array
) -> str:
    """The last line of a gradient: its source if the number only moved, and the range of a sum."""
    if len(step.inputs) > 1 and source != GRAD:
        return line
    grad = trace[step.inputs[source]]
    if not len(read):
        is_nothing = isinstance(term, Number) and not any(term.entries)
        return _nothing(trace, step, name, value) if is_nothing else line
    found = np.unravel_index(read, grad.value.shape) if grad.value.ndim else ()
    if isinstance(term, Number) and not getattr(term, "line", "") and len(read) == count:
        varying = [letter for letter, index in zip(grad.axes, found, strict=True) if len(set(index.tolist())) > 1]
        where = _places(trace, grad, found)
        what = "has the numbers" if varying[:-1] or count < 1 else "is the row" if count > 1 else "is the number"
        return f"{name} {what} of {grad.symbol}{f' at {where}' if where else ''}: {value}"
    is_over_heads = any(
        letter in COUNTED_FROM_0 and len(set(index.tolist())) > 1
        for letter, index in zip(grad.axes, found, strict=True)
    )
    is_over_pairs = all(
        len(set(index.tolist())) > 1 for letter, index in zip(grad.axes, found, strict=True) if letter in TOKEN_NOUNS
    )
    is_whole = not {letter for letter in step.axes if letter in TOKEN_NOUNS} and any(
        x in TOKEN_NOUNS for x in grad.axes
    )
    if is_over_heads or (is_whole and is_over_pairs and len(read) > count):
        return f"{line} (over {_what_is_added(grad, found, {step.axes[-1]} if count > 1 else set())})"
    return line


def _nothing(trace: Trace, step: Step, name: str, value: str) -> str:
    """The line of a gradient that receives nothing."""
    source = step.inputs.get(GRAD)
    return f"nothing of {trace[source].symbol} comes back to {name}: {value}" if source else f"nothing is read: {value}"


def _known(trace: Trace, step: Step, made: Recording) -> Known:
    """The known names of an operator's inner quantities, and of those that a gradient passes back through."""
    node = step.node if step.stage != GRADIENT else _differentiated(trace, step)
    if node is None or node.record is None:
        given = {made.taps[name]: trace[own].value for name, own in step.node.taps.items() if name in made.taps}
        return Known(given=given, names=made.names)
    taps = {name: made.taps[name] for name in node.taps if name in made.taps}
    values = {found: trace[node.taps[name]].value for name, found in taps.items() if node.taps[name] in trace}
    rows = {taps[one.name] for one in node.record.inner if one.name in taps and one.axes[-1] not in ("n", "m")}
    names: dict[Expression, str | Callable[..., str]] = {**made.names}
    symbols = symbols_of(node, trace.plan.by_name)
    for one in node.record.inner:
        if one.name in made.taps and "Σ" not in one.formula.partition(" = ")[0]:
            names[made.taps[one.name]] = partial(_labelled, trace, one, node.record.arguments, symbols)
    if step.stage != GRADIENT:
        return Known(given=values, rows=rows, names=names)
    if FORWARD in made.taps and node.name in trace:
        values[made.taps[FORWARD]] = trace[node.name].value
    for found in list(values):
        _add_origins(values, found)
    return Known(computed=values, names=names)


def _add_origins(values: dict[Expression, Array], found: Expression) -> None:
    """Name the numbers of arrays that an array with known numbers merely rearranges."""
    while found.function in MOVES:
        sources, places = found.places
        size = int(np.size(sources[0].value))
        if len(sources) > 1 or not np.array_equal(np.sort(places, axis=None), np.arange(1, size + 1)):
            break
        numbers = np.empty(size, np.float64)
        numbers[places.ravel() - 1] = np.ravel(values[found])
        values[sources[0]], found = numbers.reshape(sources[0].shape), sources[0]


def _labelled(
    trace: Trace, quantity: Quantity, arguments: tuple[str, ...], symbols: Mapping[str, str], *index: Array
) -> str:
    """The formula of an inner quantity with the labels of its position: `Q(cat)·K(sat)`."""
    text = _with_symbols(
        quantity.formula.partition(" = ")[0], arguments, lambda name: symbols.get(name) or SYMBOLS.get(name, name)
    )
    at = dict(zip(reversed(quantity.axes), reversed(index), strict=False))
    labels = {_MARKS[x]: trace.numbered_labels[x][int(places[0])] for x, places in at.items() if x in _MARKS}
    text = text.replace("ᵢⱼ", f"({labels.get('ᵢ')}, {labels.get('ⱼ')})")
    for mark, label in labels.items():
        text = text.replace(mark, f"({label})")
    one = ", ".join(f"{letter}{int(places[0]) + 1}" for letter, places in at.items() if letter not in _MARKS)
    return f"{f'({text})' if ' ' in text else text}[{one}]" if one and len(index[-1]) == 1 else text


def _short_formula(record: OperatorRecord, write: ArithmeticWriter) -> str:
    """The formula of a query and a key, if it is only a product: `Q(cat)·K(sat)`."""
    text = record.formula.partition(" = ")[2]
    if not text or " " in text or "ᵢ" not in text:
        return ""
    text = _with_symbols(text, record.arguments, write.symbol)
    return text.replace("ᵢ", f"({write.query})").replace("ⱼ", f"({write.key})")


def _with_symbols(text: str, arguments: tuple[str, ...], symbol: Callable[[str], str]) -> str:
    """A formula with the plan's symbols for its arguments."""
    for argument in arguments:
        text = text.replace(SYMBOLS.get(argument, argument), symbol(argument))
    return text


def _differentiated(trace: Trace, step: Step) -> Node | None:
    """The forward step that a gradient differentiates; None if it only passes gradients on."""
    gradient = step.inputs.get(GRAD)
    plan = trace.plan
    for node in plan.nodes:
        is_it = gradient_name(node.name) == gradient or (gradient == gradient_name(OUTPUT) and node is plan[OUTPUT])
        if is_it and node.function is not None and step.function in (derivatives_of(node.function) or {}).values():
            return node
    return None


def _places(trace: Trace, step: Step, found: tuple[Array, ...]) -> str:
    """The position of a number: `head 0, query cat, e1`."""
    axes = zip(step.axes, step.value.shape, found, strict=True)
    several = [
        (letter, int(index[0]))
        for letter, size, index in axes
        if (size > 1 or letter not in COUNTED_FROM_0) and len(set(index.tolist())) == 1
    ]

    def place(letter: str, at: int) -> str:
        if letter in TOKEN_NOUNS:
            return f"{TOKEN_NOUNS[letter]} {trace.numbered_labels[letter][at]}"
        return f"{AXIS_NOUNS[letter]} {at}" if letter in COUNTED_FROM_0 else f"{letter}{at + 1}"

    return ", ".join(place(letter, at) for letter, at in several)


def _what_is_added(step: Step, found: tuple[Array, ...], shown: set[str]) -> str:
    """The range of a sum: `2 heads × 3 queries`, or a count of numbers if they don't fill their axes."""
    lengths = [(letter, len(set(index.tolist()))) for letter, index in zip(step.axes, found, strict=True)]
    count = int(np.prod([length for letter, length in lengths if letter in shown]))
    added = [(letter, length) for letter, length in lengths if length > 1 and letter not in shown]
    if not added or len(found[0]) // count != np.prod([length for _, length in added]):
        return f"{count_of(len(found[0]) // count, 'number')} of {step.symbol}"
    return count_entries(*zip(*added, strict=True))
