"""Other ways to round by hand: cut, rounded on the way, computed with e = 2.718 or √2 = 1.41.

Each way is recomputed from the trace, and must give all numbers of a result, to the typed digits.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.checks.compare import Checker, recompute, replaceable_step
from attncli.checks.report import QuantityCheck, Reading
from attncli.checks.slips.records import SLIPS, Computation
from attncli.checks.slips.rounding import softmax_of_rounded
from attncli.checks.slips.scale import own_scale
from attncli.checks.slips.softmax import softmax_node
from attncli.engine.dense import evaluate
from attncli.plan.graph import Node

MOST_CELLS = 4096  # numbers of all steps together: nobody does larger problems by hand
ROUNDED_TO = (4, 3, 2, 1)  # decimals on the way
FAR = 0.05  # relative error of a root: nobody uses a worse approximation
EPSILON = 1e-9  # share of a unit by which a number may be below the one that was cut
SURE = 1e3  # times as likely as chance, because many ways to round are tried
FEW_UNITS, MANY_UNITS = 10, 100  # last digits of the numbers: with fewer, a mistake may be as small
ON_THE_WAY = "rounded_on_the_way"
MAX_WAYS = 2  # ways with equal numbers to name
POWERS = {"2.7183": 2.7183, "2.718": 2.718, "2.72": 2.72, "2.71": 2.71, "2.7": 2.7}  # e, as people round it


@dataclass(frozen=True)
class _Way:
    """A way to round: its description in a sentence, the values that it gives a result, and its numbers."""

    text: str
    value: Array
    parameters: Mapping[str, float] = field(default_factory=dict)
    is_likely: bool = False  # also for a single number
    name: str = ON_THE_WAY


def is_by_hand(checker: Checker, result: QuantityCheck) -> bool:
    """Whether numbers were typed to some decimals, in a problem small enough to do by hand."""
    half_units = checker.quantities[result.name].half_units
    is_small = sum(step.value.size for step in checker.trace.steps) <= MOST_CELLS
    return is_small and half_units is not None and checker.quantities[result.name].dtype is None


def cut(checker: Checker, result: QuantityCheck, results: Sequence[QuantityCheck]) -> Reading | None:
    """The digits after the last one are cut off, where they should be rounded.

    A single number that is one too small in its last digit may be an accident, if there are others.
    """
    if not _is_cut(checker, result):
        return None
    differing = sum(other.differ for other in results if not other.agrees and _is_cut(checker, other))
    if differing < 2 and sum(other.count for other in results) > 2:
        return None
    is_of_sheet = all(_is_cut(checker, other) for other in results if other.count)
    return Reading("cut", f"{'The numbers are ' * is_of_sheet}cut, not rounded.", is_of_sheet=is_of_sheet)


def _is_cut(checker: Checker, result: QuantityCheck) -> bool:
    """Whether all numbers of a result are the right ones, cut after the last typed digit."""
    numbers = checker.quantities[result.name]
    if not is_by_hand(checker, result) or numbers.half_units is None:
        return False
    expected, computed, half_units = (x[numbers.is_given] for x in (numbers.array, result.computed, numbers.half_units))
    if not np.isfinite(half_units).all() or not np.isfinite(computed).all():
        return False
    left = (abs(computed) - abs(expected)) / (2 * half_units)
    is_cut = (left >= -EPSILON) & (left < 1) & ((np.sign(expected) == np.sign(computed)) | (expected == 0))
    return bool(is_cut.all())


def off_by_one(checker: Checker, result: QuantityCheck, results: Sequence[QuantityCheck]) -> Reading | None:
    """The last digit of numbers is off by one; this also names the ways to round that give the same numbers."""
    numbers = checker.quantities[result.name]
    if not is_by_hand(checker, result) or numbers.half_units is None:
        return None
    wrong = result.differs
    given, computed, units = numbers.array[wrong], result.computed[wrong], 2 * numbers.half_units[wrong]
    with np.errstate(invalid="ignore"):
        is_next = abs(given - np.round(computed / units) * units) <= (1 + EPSILON) * units
    digits = float((abs(computed) / units).min())
    if not is_next.all() or digits < FEW_UNITS:
        return None
    sentence = f"the last digit of {count_of(result.differ, 'number')} is off by one"
    texts = [way.text for way in _matching(checker, result, results) if way.is_likely or result.differ > 1]
    for other in results:  # one way explains all of them
        if not other.agrees and not other.follows and other.name != result.name and is_by_hand(checker, other):
            same = {way.text for way in _matching(checker, other, results)}
            texts = [text for text in texts if text in same]
    as_if = f", as if {' or '.join(texts)}" if 0 < len(texts) <= MAX_WAYS else ""
    return Reading("last_digit", f"{sentence}{as_if}.", is_doubtful=digits < MANY_UNITS)


def computed_with_rounding(checker: Checker, result: QuantityCheck, results: Sequence[QuantityCheck]) -> Reading | None:
    """Numbers that were rounded before other numbers were computed from them."""
    if not is_by_hand(checker, result):
        return None
    sure = [way for way in _matching(checker, result, results) if _likelihood(checker, result, way) >= SURE]
    if not sure:
        return None
    texts = " or ".join(way.text for way in sure[:MAX_WAYS])
    name = sure[0].name if len(sure) == 1 else ON_THE_WAY
    return Reading(name, f"{texts}.", sure[0].parameters if len(sure) == 1 else {})


def _matching(checker: Checker, result: QuantityCheck, results: Sequence[QuantityCheck]) -> list[_Way]:
    """The ways to round that give all numbers of a result; one of several with equal numbers."""
    numbers, tolerance = checker.quantities[result.name], checker.tolerance(result.name)
    found: list[_Way] = []
    for way in _ways(checker, result, results):
        matches = tolerance.agreeing(numbers, way.value)[numbers.is_given].all()
        if matches and not any(np.allclose(way.value, other.value, rtol=EPSILON, atol=0) for other in found):
            found.append(way)
    return found


def _likelihood(checker: Checker, result: QuantityCheck, way: _Way) -> float:
    """How many times likelier the numbers are by a way to round than by chance."""
    half_units = checker.quantities[result.name].half_units
    if half_units is None:
        return 0.0
    with np.errstate(all="ignore"):
        moved = abs(way.value - result.computed)[result.is_given] / half_units[result.is_given]
    return float(np.fmax(moved, 1).prod())


def _ways(checker: Checker, result: QuantityCheck, results: Sequence[QuantityCheck]) -> Iterator[_Way]:
    """The ways to round, the likeliest first: the result itself, numbers as written, steps."""
    yield from _rounded_to("", checker, result, result.computed)
    trace, plan = checker.trace, checker.trace.plan
    name = plan.resolve(result.name)
    written = {
        step: other
        for other in results[: [other.name for other in results].index(result.name)]
        if (step := replaceable_step(checker, other, name)) is not None
    }
    if written:
        last = list(written)[-1]
        given = {last: checker.quantities[written[last].name].array}
        own = recompute(trace, given, name)
        decimals = _decimals(checker, written[last])
        to = "" if decimals is None else f" to {count_of(decimals, 'decimal')}"
        text = f"computed from the {written[last].name} as written{to}"
        yield _Way(text, own, is_likely=True)
        yield from _rounded_to(f"{text}, and ", checker, result, own)
    yield from _with_constants(checker, name)
    if trace.plan.results.get("scores") not in written:
        yield from _with_roots(checker, name)
    for node in plan.nodes:
        if node.name != name and _is_on_the_way(checker, node, name):
            yield from _with_rounded_step(checker, node, name)
    yield from _with_rounded_exponentials(checker, name)


def _decimals(checker: Checker, result: QuantityCheck) -> int | None:
    """The number of decimals that all numbers of a result share; None if they vary."""
    half_units = checker.quantities[result.name].half_units
    units = np.unique(half_units[result.is_given]) if half_units is not None else np.zeros(0)
    return max(round(-math.log10(2 * float(units[0]))), 0) if len(units) == 1 and np.isfinite(units[0]) else None


def _rounded_to(before: str, checker: Checker, result: QuantityCheck, own: Array) -> Iterator[_Way]:
    """The result's own numbers rounded, or cut, to fewer decimals than are written."""
    typed = _decimals(checker, result)
    for decimals in ROUNDED_TO:
        if typed is not None and decimals < typed:
            count = count_of(decimals, "decimal")
            rounded = np.round(own, decimals)
            yield _Way(f"{before}rounded to {count}", rounded, {"decimals": decimals}, name=_slip_of(result.name))
            yield _Way(f"{before}cut to {count}", _cut_to(own, decimals), {"decimals": decimals})


def _cut_to(x: Array, decimals: int) -> Array:
    power = 10.0**decimals
    with np.errstate(invalid="ignore"):
        cut_off: Array = np.trunc(x * power * (1 + EPSILON)) / power
    return cut_off


def _is_on_the_way(checker: Checker, node: Node, name: str) -> bool:
    """Whether a node is computed on the way to a result, so that people write its numbers down."""
    plan = checker.trace.plan
    target = plan.by_name[name].tapped_from or name
    is_computed = not node.is_input and not node.is_exact and not node.is_identity and node.tapped_from is None
    is_computed = is_computed and checker.trace[node.name].value.dtype.kind == "f"
    return is_computed and node.name in plan.needed_for([target])


def _with_rounded_step(checker: Checker, node: Node, name: str) -> Iterator[_Way]:
    """A step rounded, or cut, before its use."""
    right = checker.trace[node.name].value
    for decimals in ROUNDED_TO:
        both = {
            "rounded": (np.round(right, decimals), _slip_of(node.name)),
            "cut": (_cut_to(right, decimals), ON_THE_WAY),
        }
        for word, (value, slip) in both.items():
            if not np.array_equal(value, right, equal_nan=True):
                text = f"computed with the {node.name} {word} to {count_of(decimals, 'decimal')}"
                own = recompute(checker.trace, {node.name: value}, name)
                yield _Way(text, own, {"decimals": decimals}, name=slip)


def _slip_of(step: str) -> str:
    """The slip that rounds a step, or the name of any such reading."""
    return name if (name := f"{step}_rounded") in SLIPS else ON_THE_WAY


def _with_rounded_exponentials(checker: Checker, name: str) -> Iterator[_Way]:
    """The exponentials of a softmax rounded before their sum."""
    node = _softmax_before(checker, name)
    if node is None:
        return
    scores = checker.trace[node.inputs["scores"]].value
    for decimals in ROUNDED_TO:
        weights = softmax_of_rounded(scores, decimals=decimals, **node.options)
        text = f"computed with the exponentials rounded to {count_of(decimals, 'decimal')}"
        own = _from(checker, node.name, weights, name)
        yield _Way(text, own, {"decimals": decimals}, name=_slip_of("exponentials"))


def _softmax_before(checker: Checker, name: str) -> Node | None:
    """The softmax before a result; None if there is none."""
    plan = checker.trace.plan
    node = softmax_node(Computation(checker.problem, plan, checker.dtype_of(next(iter(checker.quantities)))))
    is_before = node is not None and node.name in plan.needed_for([plan.by_name[name].tapped_from or name])
    return node if is_before else None


def _from(checker: Checker, step: str, value: Array, name: str) -> Array:
    """The value of a result if a step, or the result itself, has another value."""
    return value if step == name else recompute(checker.trace, {step: value}, name)


def _with_constants(checker: Checker, name: str) -> Iterator[_Way]:
    """The number e, rounded as people do."""
    trace = checker.trace
    node = _softmax_before(checker, name)
    if node is not None:
        values = {step.name: step.value for step in trace.steps}
        scores = values[node.inputs["scores"]]
        for text, power in POWERS.items():
            changed = {**values, node.inputs["scores"]: scores * math.log(power)}
            weights = evaluate(node, changed, trace.precision)
            yield _Way(f"computed with e = {text}", _from(checker, node.name, weights, name), {"e": power})


def _with_roots(checker: Checker, name: str) -> Iterator[_Way]:
    """The root of the number of features, or the scale of the scores, rounded as people do."""
    trace = checker.trace
    scale, step = own_scale(trace.problem), trace.plan.results.get("scores")
    plan = trace.plan
    if not scale or step is None or step not in plan.needed_for([plan.by_name[name].tapped_from or name]):
        return
    root = 1 / scale
    square = round(root**2)
    if abs(root**2 - square) > EPSILON * square or abs(root - round(root)) < EPSILON:
        return
    for word, right in ((f"√{square}", root), (f"1/√{square}", scale)):
        for decimals in ROUNDED_TO:
            for taken in dict.fromkeys((round(right, decimals), float(_cut_to(np.array(right), decimals)))):
                if abs(taken - right) < FAR * right:
                    factor = right / taken if right == root else taken / right
                    value = _from(checker, step, trace[step].value * factor, name)
                    yield _Way(f"computed with {word} = {taken:.{decimals}f}", value, {word: taken})
