"""Slips with a number, fitted to the wrong numbers: factors, bases, offsets, counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isclose, log, sqrt

from attncli.base.lazy_numpy import Array, np
from attncli.checks.slips.masks import add_fill, with_masked_scores
from attncli.checks.slips.records import (
    Computation,
    FittedNumber,
    Variant,
    instead_of,
    plan_slip,
    problem_slip,
    text_of,
)
from attncli.checks.slips.scale import own_scale
from attncli.checks.slips.softmax import softmax_node
from attncli.ops.position_biases import alibi
from attncli.ops.records import Operator
from attncli.plan.graph import Node

LARGEST_HALF, LARGEST_FLOAT8 = 65504.0, 448.0  # in float16, and in float8 (e4m3)
SOFTCAPS = [2.0 ** (half / 2) for half in range(-4, 20)]
LIMITS = [2.0 ** (half / 2) for half in range(-8, 16)]  # of scores
MAGNITUDES = sorted([2.0 ** (half / 2) for half in range(-4, 36)] + [1e4, 1e5, LARGEST_HALF])  # of masked scores
EPSILONS = [10.0 ** (-half / 2) for half in range(-2, 25)]  # of norms
LOGARITHMS = {"ln 2": log(2), "log₂ e": 1 / log(2)}  # between powers of 2 and of e
WIDTHS = (32, 48, 64, 80, 96, 112, 128, 192, 256, 512, 576)  # for heads, with and without the features that rope turns


def factors(_case: Computation) -> Sequence[float]:
    """From 1/128 to 128 in steps of 2^⅓; then to 4096 in steps of 2, as scales of quantization are."""
    far = [2.0**power for power in range(8, 13)]
    return [*(1 / factor for factor in reversed(far)), *(2.0 ** (third / 3) for third in range(-21, 22)), *far]


def _known_scales(case: Computation) -> Mapping[str, float]:
    """Ratios of scales that people confuse."""
    d, heads = case.problem.lengths.get("d", 1), case.problem.leading.heads
    known = {"√2": sqrt(2), "1/√2": sqrt(0.5), "2": 2.0, "1/2": 0.5} | LOGARITHMS
    known |= {"(ln 2)²": log(2) ** 2, "(log₂ e)²": log(2) ** -2}
    if d > 1:
        known |= {"√d": sqrt(d), "1/√d": 1 / sqrt(d)}
    known |= {"√heads": sqrt(heads), "1/√heads": 1 / sqrt(heads)} if heads > 1 else {}
    problem, own = case.problem, own_scale(case.problem)
    for name, array in (("K", problem.key), ("Q", problem.query)):
        known |= _float8_scales(name, array)
    widths = {width: 1 / (own * sqrt(width)) for width in WIDTHS if width != d} if own else {}  # else no ratio
    return known | {f"the factor to the scale 1/√{width}": factor for width, factor in widths.items()}


def _float8_scales(name: str, array: Array | None) -> Mapping[str, float]:
    """The scale of float8 that an array has, and its inverse."""
    largest = 0.0 if array is None else float(np.max(abs(array), initial=0))
    if not 0 < largest < inf:
        return {}
    scale = LARGEST_FLOAT8 / largest
    return {f"448 / max |{name}|, a scale of float8": scale, f"max |{name}| / 448, a scale of float8": 1 / scale}


def times(factor: float) -> str:
    """How many times too large or too small a quantity is."""
    return f"{text_of(factor)} times too large" if factor >= 1 else f"{text_of(1 / factor)} times too small"


def multiplied(x: Array, *, factor: float) -> Array:
    """Numbers multiplied by a factor."""
    return x * factor


@plan_slip("there are scores", number=FittedNumber("factor", factors, known=_known_scales))
def scale_factor(case: Computation, number: float) -> Iterator[Variant]:
    """The scores are multiplied by an extra factor."""
    name = case.plan.results.get("scores")
    if name is None or case.plan.by_name[name].is_input:
        return
    own = own_scale(case.problem)
    scales = "" if own is None else f": {instead_of(own * number, own)}"
    changed = case.with_changed_value(name, multiplied, options={"factor": number})
    softmax = softmax_node(case)
    is_temperature = softmax is not None and softmax.inputs.get("scores") == name and not _has_terms(case)
    temperature = (1.0 if softmax is None else softmax.options.get("temperature", 1.0)) / number
    same = f"; a temperature of {text_of(temperature)} is the same here" if is_temperature else ""
    yield Variant(changed, f"The scores are {times(number)}{scales}{same}.")


@plan_slip(
    "weights are a softmax of scores with a bias, a softcap or positions",
    number=FittedNumber("factor", factors, known=_known_scales),
)
def temperature_factor(case: Computation, number: float) -> Iterator[Variant]:
    """The softmax has another temperature: its input, bias and softcap included, is multiplied by a factor."""
    node, scores = softmax_node(case), case.plan.results.get("scores")
    if node is None or node.inputs.get("scores") == scores or (case.problem.bias is None and not _has_terms(case)):
        return
    temperature = node.options.get("temperature", 1.0) / number
    changed = case.with_nodes(replace(node, options={**node.options, "temperature": temperature}))
    yield Variant(changed, f"What the softmax reads is {times(number)}: its temperature is {text_of(temperature)}.")


def _has_terms(case: Computation) -> bool:
    """Whether scores have a softcap or a position's bias, which separate a temperature from a scale."""
    return case.problem.softcap is not None or "position_bias" in case.plan.by_name


def _computes_scores(case: Computation) -> bool:
    return "scores" not in case.problem.not_computed


def _known_softcaps(case: Computation) -> Mapping[str, float]:
    """Softcaps that people confuse with a problem's own."""
    cap, scale = case.problem.softcap, own_scale(case.problem)
    return {} if cap is None or scale is None else {"the softcap of scores scaled afterwards": cap * scale}


@problem_slip(
    "there are scores", _computes_scores, number=FittedNumber("softcap", lambda _: SOFTCAPS, known=_known_softcaps)
)
def softcap_value(case: Computation, number: float) -> Iterator[Variant]:
    """The softcap is another one."""
    own = case.problem.softcap
    what = "The problem has no softcap, and the scores have one of" if own is None else "The softcap is"
    cap = text_of(number) if own is None else instead_of(number, own)
    yield Variant(replace(case.problem, softcap=number), f"{what} {cap}.")


@plan_slip("there are scores", _computes_scores, number=FittedNumber("limit", lambda _: LIMITS))
def scores_clamped(case: Computation, number: float) -> Iterator[Variant]:
    """Scores are clamped: those beyond a limit become the limit."""
    name = case.plan.results.get("scores")
    if name is not None:
        options = {"limit": number}
        changed = case.with_changed_value(name, lambda x, limit: np.clip(x, -limit, limit), options=options)
        yield Variant(changed, f"The scores are clamped to numbers from −{text_of(number)} to {text_of(number)}.")


def known_factors(case: Computation) -> Mapping[str, float]:
    """Factors of outputs that people forget."""
    dropouts = {f"1/(1 − {p}), the factor of a dropout of {p}": 1 / (1 - p) for p in (0.1, 0.2, 0.5)}
    return {**dropouts, "√2": sqrt(2), "2": 2.0, "1/2": 0.5, **_float8_scales("V", case.problem.value)}


def _known_sinks(case: Computation) -> Mapping[str, float]:
    """Factors of a sink that is scaled as the scores are, or is of another base."""
    d = case.problem.lengths.get("d", 1)
    return {**LOGARITHMS} | ({"√d": sqrt(d), "1/√d": 1 / sqrt(d)} if d > 1 else {})


@plan_slip("there is an output", number=FittedNumber("factor", factors, known=known_factors))
def output_factor(case: Computation, number: float) -> Iterator[Variant]:
    """The output is multiplied by a factor, as by a scale of the values that is forgotten."""
    if "output" in case.plan.results:
        changed = case.with_changed_value(case.plan.resolve("output"), multiplied, options={"factor": number})
        yield Variant(changed, f"The output is {times(number)}.")


@plan_slip("there is a sink", "sink", number=FittedNumber("factor", factors, known=_known_sinks))
def sink_factor(case: Computation, _: Node, number: float) -> Iterator[Variant]:
    """The sink is multiplied by a factor."""
    changed = case.with_changed_value("sink", multiplied, options={"factor": number})
    yield Variant(changed, f"The sink is {times(number)}.")


@plan_slip(
    "there is a sink", "sink", number=FittedNumber("count", lambda _: range(2, 257), is_whole=True, is_size=True)
)
def sink_count(case: Computation, _: Node, number: float) -> Iterator[Variant]:
    """The sink takes part several times, as once in each split."""
    changed = case.with_changed_value("sink", lambda x, by: x + by, options={"by": log(number)})
    yield Variant(changed, f"The sink takes part {number} times.")


@plan_slip(
    "there is a mask",
    number=FittedNumber("value", lambda _: MAGNITUDES, known=lambda _: {"the largest number of float16": LARGEST_HALF}),
)
def mask_value(case: Computation, number: float) -> Iterator[Variant]:
    """Masked scores are a number that is not small enough instead of −∞, or get that added, and take part."""
    if {"visible", "masked_scores"} <= case.plan.by_name.keys():
        changed = case.with_changed_value("masked_scores", _filled, options={"value": -number})
        yield Variant(changed, f"Masked scores are −{text_of(number)} instead of −∞, and take part in the softmax.")
        sentence = f"−{text_of(number)} is added to masked scores instead of −∞, and they take part in the softmax."
        yield Variant(with_masked_scores(case, add_fill, fill=-number), sentence)


def _filled(x: Array, *, value: float) -> Array:
    return np.where(np.isneginf(x), value, x)


@plan_slip("there is alibi", number=FittedNumber("factor", factors, usual=(2.0, 0.5), known=known_factors))
def alibi_factor(case: Computation, number: float) -> Iterator[Variant]:
    """Alibi's slopes are multiplied by a factor."""
    position = case.problem.position
    if position is not None and position.record.function is alibi and "position_bias" in case.plan.by_name:
        changed = case.with_changed_value("position_bias", multiplied, options={"factor": number})
        heads = case.problem.leading.heads
        begins_at_one = heads.bit_count() == 1 and isclose(number, 2 ** (8 / heads), rel_tol=1e-5)
        yield Variant(changed, f"Alibi's slopes are {times(number)}{': they begin at 2⁰' if begins_at_one else ''}.")


def _norm_with_epsilon(case: Computation) -> Operator | None:
    """The norm of queries and keys, if it has an eps."""
    norm = case.problem.qk_norm
    return norm if norm is not None and norm.parameters.get("eps") is not None else None


@problem_slip(
    "queries and keys have a norm with an eps", _norm_with_epsilon, number=FittedNumber("eps", lambda _: EPSILONS)
)
def norm_eps(case: Computation, norm: Operator, number: float) -> Iterator[Variant]:
    """The norm of queries and keys has another eps."""
    changed = replace(case.problem, qk_norm=Operator(norm.record, {**norm.given, "eps": number}))
    yield Variant(changed, f"The eps of the norm is {instead_of(number, norm.parameters['eps'])}.")
