"""Plain readings of wrong numbers, before any search for mistakes of computing.

Numbers may be right in another position (transposed, another row's, another step's), never written, or written with a
wrong sign or digit. `hand_rounding` has numbers that were rounded in another way.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, join_words
from attncli.checks.compare import Checker, is_unaffected
from attncli.checks.hand_rounding import computed_with_rounding, cut, off_by_one
from attncli.checks.report import FEW_NUMBERS, Explanation, QuantityCheck, Reading
from attncli.checks.tolerance import has_every_step

MAX_NAMED = 4  # rows, and numbers with a wrong sign or digit, to name
MIN_DIGITS = 3  # digits of a number with one wrong digit: with fewer, the wrong ones would weigh too much
PERCENT = 100
MOST_CELLS = 2**24  # numbers to compare to find the row that another has
RESOLUTION = 0.05  # tolerance relative to a number: one with fewer typed digits is near many others
CHANCE = 0.05  # the largest chance that one number is near another row's or column's by accident

# A reading of one result's wrong numbers, given the facts about all results; None if it does not apply.
Reader = Callable[[Checker, QuantityCheck, Sequence[QuantityCheck]], Reading | None]


@dataclass(frozen=True)
class PlainReadings:
    """The results with their readings.

    `explanation` is present if these account for every wrong number. Numbers in another position may also come from a
    mistake of computing, unless later numbers contradict it: such a reading `needs_search`, and holds if the search
    finds nothing. One that `is_doubtful` also holds if the only mistakes found have a fitted number.
    """

    results: tuple[QuantityCheck, ...]
    explanation: Explanation | None = None
    needs_search: bool = False
    is_doubtful: bool = False


def read_plainly(checker: Checker, results: Sequence[QuantityCheck]) -> PlainReadings:
    """The results with their readings, and whether the readings account for all wrong numbers."""
    read = tuple(result if result.agrees else _with_reading(checker, result, results) for result in results)
    found = [(result, result.reading) for result in read if result.reading is not None]
    is_all = bool(found) and all(result.agrees or result.reading is not None or result.follows for result in read)
    if not is_all:
        return PlainReadings(read)
    readings = [reading for _, reading in found]
    sentences = [
        reading.sentence if reading.is_of_sheet else f"{result.name}: {reading.sentence}" for result, reading in found
    ]
    parameters = {name: number for reading in readings for name, number in reading.parameters.items()}
    explanation = Explanation(
        tuple(dict.fromkeys(reading.name for reading in readings)), " ".join(dict.fromkeys(sentences)), parameters
    )
    is_doubtful = any(reading.is_doubtful for reading in readings)
    carried_on = any(_is_carried_on(checker, *pair, read) for pair in found)
    return PlainReadings(read, explanation, carried_on or is_doubtful, is_doubtful and not carried_on)


def _with_reading(checker: Checker, result: QuantityCheck, results: Sequence[QuantityCheck]) -> QuantityCheck:
    """A quantity with its reading; without one if its numbers follow from earlier wrong ones."""
    if result.follows or result.computed.dtype.kind != "f":
        return result
    readers = READERS if has_every_step(checker.trace) else WITHOUT_STEPS
    found = (reading for read in readers if (reading := read(checker, result, results)) is not None)
    return replace(result, reading=next(found, None))


def _is_carried_on(checker: Checker, result: QuantityCheck, reading: Reading, results: Sequence[QuantityCheck]) -> bool:
    """Whether misplaced numbers may come from a mistake of computing: the whole result, with consequences.

    They were only written in the wrong position if later numbers agree, or some numbers of the result do.
    """
    later = results[[other.name for other in results].index(result.name) + 1 :]
    if not reading.may_be_computed or any(is_unaffected(checker, result, other) for other in later):
        return False
    carries_on = any(not other.agrees and other.reading is None for other in later)
    is_typed = checker.quantities[result.name].half_units is not None
    return not is_typed or (carries_on and not reading.is_partial)


def with_other_steps(checker: Checker, results: Sequence[QuantityCheck]) -> tuple[QuantityCheck, ...]:
    """The quantities; wrong ones with the other step whose numbers they have."""
    if not has_every_step(checker.trace):
        return tuple(results)
    return tuple(replace(result, other_step=_other_step(checker, result)) for result in results)


def _other_step(checker: Checker, result: QuantityCheck) -> str | None:
    """The one step that has the wrong numbers in the same cells; None if none has, or several do."""
    numbers, tolerance = checker.quantities[result.name], checker.tolerance(result.name)
    differs, given = result.differs, result.expected[result.differs]
    says_something = (np.isfinite(given) & (given != 0)).any()
    if not result.differ or not says_something:
        return None
    found: dict[str, Array] = {}
    for name, values, is_alike in _same_shape(checker, result):
        allowed = tolerance.allowed(numbers.array, values, numbers.half_units)
        is_near = allowed <= RESOLUTION * abs(numbers.array)
        cells = differs if is_alike else result.is_given
        if (tolerance.agrees(numbers.array, values, allowed) & (is_near | (numbers.array == values)))[cells].all():
            found[name] = values
    first = next(iter(found), None)
    is_one = all(_have_same_numbers(found[first], values) for values in found.values()) if first else False
    return first if is_one else None


def _same_shape(checker: Checker, result: QuantityCheck) -> Iterator[tuple[str, Array, bool]]:
    """The numbers of the steps with a quantity's shape, and the powers of e in the definition of softmax.

    Also whether they have its axes: for others, all numbers are compared.
    """
    trace = checker.trace
    own = trace[result.name]
    for step in trace.steps:
        if step.value.shape == own.value.shape and step.value.dtype.kind == "f":
            yield step.name, step.value, step.axes == own.axes
            if step.name == "exponentials":
                scores = trace[trace.plan[trace.plan.by_name[step.name].tapped_from or step.name].inputs["scores"]]
                with np.errstate(over="ignore"):
                    yield f"exp({scores.name})", np.exp(scores.value), step.axes == own.axes


def _have_same_numbers(first: Array, other: Array) -> bool:
    """Whether two steps have the same numbers, except cells that a mask hides in one of them."""
    is_finite = np.isfinite(first) & np.isfinite(other)
    return bool(np.allclose(first[is_finite], other[is_finite], rtol=1e-9, atol=0))


def transposed(checker: Checker, result: QuantityCheck, _: Sequence[QuantityCheck]) -> Reading | None:
    """The right numbers, with rows and columns exchanged."""
    sentence = "the numbers are transposed: rows and columns are exchanged."
    if checker.quantities[result.name].transposed is not None:
        return Reading("transposed", sentence) if result.worst is None else None
    computed = result.computed
    if computed.ndim < 2 or computed.shape[-1] != computed.shape[-2] or result.count < FEW_NUMBERS:
        return None
    is_so = _agrees(checker, result, computed.swapaxes(-1, -2))[result.is_given].all()
    return Reading("transposed", sentence, may_be_computed=True) if is_so else None


def other_step(checker: Checker, result: QuantityCheck, _: Sequence[QuantityCheck]) -> Reading | None:
    """The numbers of another step in the same cells."""
    name = result.other_step
    if name is None:
        return None
    formula = f", {checker.trace[name].formula}" if name in checker.trace else ""
    which = "the number comes" if result.differ == 1 else "these numbers come"
    values = checker.trace[name].value if name in checker.trace else None
    is_partial = result.differ < result.count
    if values is not None:
        is_partial = not _agrees(checker, result, values)[result.is_given].all()
    return Reading("other_step", f"{which} from {name}{formula}.", may_be_computed=True, is_partial=is_partial)


def other_rows(checker: Checker, result: QuantityCheck, _: Sequence[QuantityCheck]) -> Reading | None:
    """Rows, columns, heads or batch items that have the right numbers of others."""
    axes = (*range(-2, -1 - result.computed.ndim, -1), -1)
    for axis in axes if result.computed.ndim > 1 else ():
        found = _sources(checker, result, axis)
        if found:
            sentence, is_partial = _say_sources(checker, result, axis, found), not result.differs.all()
            return Reading("other_rows", sentence, may_be_computed=True, is_partial=is_partial)
    return None


def _sources(checker: Checker, result: QuantityCheck, axis: int) -> dict[int, int]:
    """For each wrong position along an axis, the position whose right numbers it has; empty if one has none."""
    numbers, tolerance = checker.quantities[result.name], checker.tolerance(result.name)
    arrays = (result.differs, result.is_given, result.expected, result.computed)
    differs, is_given, expected, computed = (np.moveaxis(x, axis, 0) for x in arrays)
    wrong = np.flatnonzero(differs.reshape(len(differs), -1).any(axis=1)).tolist()
    if len(wrong) * computed.size > MOST_CELLS:
        return {}
    allowed = np.moveaxis(tolerance.allowed(numbers.array, result.computed, numbers.half_units), axis, 0)
    with np.errstate(all="ignore"):
        spread = np.ptp(np.where(np.isfinite(computed), computed, 0), axis=0)
    found: dict[int, int] = {}
    for at in wrong:
        given, near = is_given[at], abs(computed - expected[at]) <= allowed[at]
        others = np.flatnonzero((near | ~given).reshape(len(near), -1).all(axis=1)).tolist()
        with np.errstate(all="ignore"):
            by_chance = np.nan_to_num(2 * allowed[at] / spread, nan=1)[given].clip(0, 1)
        if len(others) != 1 or given.sum() < 2 or len(computed) * float(by_chance.prod()) > CHANCE:
            return {}
        found[at] = others[0]
    return found


def _say_sources(checker: Checker, result: QuantityCheck, axis: int, sources: dict[int, int]) -> str:
    """Says which rows, columns, heads or batch items have the numbers of which others."""
    step = checker.trace[result.name]
    labels, noun = checker.trace.numbered_labels_of(step, axis), AXIS_NOUNS.get(step.axes[axis], "")
    names = [label if not noun or label.startswith(noun) else f"{noun} {label}" for label in labels]
    word = "" if step.axes[axis] in COUNTED_FROM_0 else "row" if axis == -2 else "column"
    pairs = list(sources.items())
    first, source = pairs[0]
    if len(pairs) == 2 and sources.get(source) == first:
        return f"{f'the {word}s of ' if word else ''}{names[first]} and {names[source]} are exchanged."
    if len(pairs) == 1:
        return f"{f'the {word} of ' if word else ''}{names[first]} has the numbers of {names[source]}."
    each = [f"{names[at]} those of {names[other]}" for at, other in pairs[:MAX_NAMED]]
    more = [count_of(len(pairs) - MAX_NAMED, "other")] if len(pairs) > MAX_NAMED else []
    return f"{word or noun}s have the numbers of others: {join_words([*each, *more])}."


def not_written(checker: Checker, result: QuantityCheck, _: Sequence[QuantityCheck]) -> Reading | None:
    """Rows, heads, batch items or features in which every number is 0, as in memory that was never written."""
    zero = result.is_given & (result.expected == 0)
    if not zero.any() or (result.differs & ~zero).any() or result.computed.ndim < 2:
        return None
    step = checker.trace[result.name]
    if not (result.differs & _sees_keys(checker, result)).any():
        return None  # conventions differ on the numbers of rows without a visible key
    for axis, letter in enumerate(step.axes):
        if letter == "m":  # a mask has columns of 0
            continue
        others = tuple(at for at in range(zero.ndim) if at != axis)
        is_empty = zero.any(axis=others) & (zero | ~result.is_given).all(axis=others)
        shape = [-1 if at == axis else 1 for at in range(zero.ndim)]
        positions = np.flatnonzero(is_empty & result.differs.any(axis=others)).tolist()
        if is_empty.all() or (result.differs & ~is_empty.reshape(shape)).any():
            continue
        labels = checker.trace.numbered_labels_of(step, axis - zero.ndim)
        names = [str(at) if letter in COUNTED_FROM_0 else labels[at] for at in positions]
        noun = AXIS_NOUNS.get(letter, "row") if letter in COUNTED_FROM_0 else "feature" if letter == "e" else "row"
        which = f"{count_of(len(names), noun)} of {step.value.shape[axis]}" if len(names) > MAX_NAMED else None
        which = which or f"{noun}{'s' if len(names) > 1 else ''} {join_words(names)}"
        return Reading("not_written", f"{which} not written: all 0.", may_be_computed=True, is_partial=True)
    rows = result.is_given.any(axis=-1) & (zero | ~result.is_given).all(axis=-1)
    if rows.all() or (result.differs & ~rows[..., None]).any():
        return None
    count = int((rows & result.differs.any(axis=-1)).sum())
    sentence = f"{count_of(count, 'row')} not written: all 0."
    return Reading("not_written", sentence, may_be_computed=True, is_partial=True)


def _sees_keys(checker: Checker, result: QuantityCheck) -> Array:
    """The cells of a result whose queries see a key, or see none."""
    visible, step = checker.trace.by_name.get("visible"), checker.trace[result.name]
    if visible is None or "n" not in step.axes or "n" not in visible.axes:
        return np.ones(result.differs.shape, dtype=bool)
    sees = np.asarray(visible.value.any(axis=-1))
    axes = visible.axes[:-1]
    if not set(axes) <= set(step.axes):
        return np.ones(result.differs.shape, dtype=bool)
    at = tuple(slice(None) if letter in axes else None for letter in step.axes)
    return np.broadcast_to(sees[at], result.differs.shape)


def signs(checker: Checker, result: QuantityCheck, _: Sequence[QuantityCheck]) -> Reading | None:
    """Numbers with the wrong sign: few, or a whole result without consequences."""
    if checker.quantities[result.name].half_units is None:
        return None
    if not _agrees(checker, result, -result.computed)[result.differs].all():
        return None
    if 2 * result.differ <= result.count:
        return Reading("sign", f"the sign is wrong at {_cells(checker, result)}.")
    return Reading("sign", "the signs are wrong.", may_be_computed=True)


def percent(checker: Checker, result: QuantityCheck, _: Sequence[QuantityCheck]) -> Reading | None:
    """Numbers in percent."""
    numbers = checker.quantities[result.name]
    if numbers.half_units is None or result.count < FEW_NUMBERS:
        return None
    if not _agrees(checker, result, PERCENT * result.computed)[result.is_given].all():
        return None
    return Reading("percent", "the numbers are given in percent, 100 times as large.")


def typo(checker: Checker, result: QuantityCheck, _: Sequence[QuantityCheck]) -> Reading | None:
    """Few numbers with one wrong digit, two exchanged digits, or a moved decimal point."""
    half_units = checker.quantities[result.name].half_units
    if half_units is None or not 2 * result.differ <= result.count or result.differ >= FEW_NUMBERS:
        return None
    said = []
    for position in np.argwhere(result.differs).tolist():
        at = tuple(position)
        numbers = [float(x[at]) for x in (result.expected, result.computed, half_units)]
        text = _typing_error(*numbers) if np.isfinite(numbers).all() else None
        if text is None:
            return None
        said.append(text)
    return Reading("typo", f"{'; '.join(said)}.")


def _typing_error(given: float, right: float, half_unit: float) -> str | None:
    """How the text of a number differs from the right one; None if it differs in several ways."""
    decimals = max(round(-np.log10(2 * half_unit)), 0)
    own, correct = (f"{x:.{decimals}f}" for x in (given, right))
    both = f"{own} for {correct}"
    digits = len(correct.lstrip("-0.").replace(".", ""))
    if digits < MIN_DIGITS:
        return None
    moved = any(abs(given - right * 10.0**power) <= half_unit for power in (-2, -1, 1, 2))
    if moved and half_unit <= RESOLUTION * abs(given):
        return f"the decimal point is in another place, {both}"
    if len(own) != len(correct):
        return None
    wrong = [at for at, pair in enumerate(zip(own, correct, strict=True)) if pair[0] != pair[1]]
    if wrong[-1:] == [len(own) - 1] and len(wrong) == 1:
        return None  # rounding or a mistake can do this
    if len(wrong) == 1 and own[wrong[0]].isdigit():
        return f"one digit differs, {both}"
    is_exchange = len(wrong) == 2 and own[wrong[0]] == correct[wrong[1]] and own[wrong[1]] == correct[wrong[0]]
    return f"two digits are exchanged, {both}" if is_exchange else None


def other_cells(checker: Checker, result: QuantityCheck, _: Sequence[QuantityCheck]) -> Reading | None:
    """Few numbers that are right in another row of their column, or in another column of their row."""
    half_units = checker.quantities[result.name].half_units
    if half_units is None or not 2 * result.differ <= result.count or result.differ >= FEW_NUMBERS:
        return None
    labelled = checker.trace.labelled(checker.trace[result.name])
    said = []
    for position in map(tuple, np.argwhere(result.differs).tolist()):
        places = [
            (*position[:axis], at, *position[axis + 1 :])
            for axis in range(max(len(position) - 2, 0), len(position))
            for at in range(result.computed.shape[axis])
            if at != position[axis]
        ]
        numbers = np.array([float(result.computed[place]) for place in places])
        given, width = float(result.expected[position]), 2 * float(half_units[position])
        same = np.flatnonzero(abs(numbers - given) <= width / 2)
        spread = float(np.ptp(numbers)) if len(numbers) else 0.0
        if len(same) != 1 or not np.isfinite(spread) or len(places) * width > CHANCE * spread:
            return None
        at, source = (f"[{', '.join(labelled.labels_of_cell(place))}]" for place in (position, places[int(same[0])]))
        said.append(f"{result.name}{at} has the number of {result.name}{source}")
    return Reading("other_cell", f"{'; '.join(said)}.")


def _agrees(checker: Checker, result: QuantityCheck, values: Array) -> Array:
    """Which expected numbers agree with others than the reference."""
    return checker.tolerance(result.name).agreeing(checker.quantities[result.name], values)


def _cells(checker: Checker, result: QuantityCheck) -> str:
    """The cells that differ, by their labels."""
    labelled = checker.trace.labelled(checker.trace[result.name])
    cells = [tuple(position) for position in np.argwhere(result.differs).tolist()]
    named = [f"[{', '.join(labelled.labels_of_cell(cell))}]" for cell in cells[:MAX_NAMED]]
    more = [count_of(len(cells) - MAX_NAMED, "other cell")] if len(cells) > MAX_NAMED else []
    return join_words([*named, *more])


WITHOUT_STEPS: tuple[Reader, ...] = (transposed, other_rows, not_written, signs, percent)
READERS: tuple[Reader, ...] = (
    transposed,
    other_step,
    other_rows,
    not_written,
    signs,
    percent,
    cut,
    computed_with_rounding,
    off_by_one,
    typo,
    other_cells,
)
