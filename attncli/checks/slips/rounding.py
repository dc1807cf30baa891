"""Slips of rounding: steps rounded before their use, and computation in half precision."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.dtypes import FLOAT8, HALF, Precision
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.checks.slips.records import Computation, Variant, plan_slip, problem_slip
from attncli.checks.slips.softmax import softmax_node
from attncli.ops.normalizers import finite_max, safe_divide
from attncli.ops.rope import pair_slices, rope, rope_frequencies
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import FIELDS

DECIMALS = (4, 3, 2, 1)
LARGE = 8  # the size of scores and of their exponentials
DROPPED = 2**13 - 1  # the bits of float32 that TF32 lacks
LARGEST_POWER = 80.0  # float32 holds its exponential


@plan_slip("there are weights, in a type that holds so many decimals")
def weights_rounded(case: Computation) -> Iterator[Variant]:
    """The weights are rounded before the values are summed with them."""
    yield from _rounded(case, "weights", size=1)


@plan_slip("there are scores, in a type that holds so many decimals")
def scores_rounded(case: Computation) -> Iterator[Variant]:
    """The scores are rounded before the softmax."""
    yield from _rounded(case, "scores", size=LARGE)


@plan_slip("weights are a softmax, in a type that holds so many decimals", softmax_node)
def exponentials_rounded(case: Computation, node: Node) -> Iterator[Variant]:
    """The exponentials of the scores are rounded before they are divided by their sum."""
    for decimals in _decimals(case, LARGE):
        count = count_of(decimals, "decimal")
        sentence = f"The exponentials of the scores are rounded to {count} before they are divided."
        yield Variant(case.with_function(node.name, softmax_of_rounded, decimals=decimals), sentence)


@problem_slip("the numbers are of a wider type than float16 and bfloat16, and the inputs are none of these")
def inputs_rounded(case: Computation) -> Iterator[Variant]:
    """The inputs are rounded to half precision, as tensor cores take them, and later steps are not."""
    values = {name: getattr(case.problem, name) for name in FIELDS}
    arrays = {name: x for name, x in values.items() if isinstance(x, np.ndarray) and x.dtype.kind == "f"}
    for dtype in half_types(case):
        with np.errstate(over="ignore"):
            rounded: dict[str, Any] = {name: Precision(dtype).round(x).astype(x.dtype) for name, x in arrays.items()}
        if any((rounded[name] != x).any() for name, x in arrays.items()):
            yield Variant(replace(case.problem, **rounded), f"Only the inputs are rounded to {dtype}.")


@plan_slip("the numbers are of float32 or wider", is_paired=False, is_rounding=True)
def tf32_products(case: Computation) -> Iterator[Variant]:
    """Both products are computed in TF32: their factors are rounded to 10 binary digits after the first."""
    score, context = case.node_of_stage("score"), case.node("context")
    if not half_types(case) or score is None or context is None:
        return
    names = [node.inputs.get(name, "") for node, name in ((score, "query"), (score, "key"), (context, "value"))]
    weights = context.inputs.get("weights", "")
    if {*names, weights} <= case.plan.by_name.keys():
        yield Variant(case.with_changed_values(dict.fromkeys([*names, weights]), _to_tf32))


@plan_slip("there is an output, of a wider type than float16 and bfloat16", is_paired=False, is_rounding=True)
def output_in_half(case: Computation) -> Iterator[Variant]:
    """The output alone is rounded to half precision."""
    for dtype in half_types(case) if "output" in case.plan.results else ():
        changed = case.with_changed_value(case.plan.resolve("output"), to_type, options={"dtype": dtype})
        yield Variant(changed, f"The output alone is rounded to {dtype}.")


@plan_slip("there are weights, of a type that is not the narrowest", find="context", is_paired=False, is_rounding=True)
def weights_in_half(case: Computation, context: Node) -> Iterator[Variant]:
    """The weights are rounded to a narrower type before they are multiplied by the values."""
    if context.inputs.get("weights", "") not in case.plan.by_name:
        return
    for dtype in narrower_types(case):
        name, node = context.inputs["weights"], softmax_node(case)
        options = {"dtype": dtype}
        yield Variant(
            case.with_changed_value(name, to_type, options=options),
            f"The weights are rounded to {dtype} before they are multiplied by the values.",
        )
        if node is not None and node.name == name and dtype in HALF:  # another slip, with a factor, has the others
            yield Variant(
                case.with_function(name, _softmax_of_half_exponentials, **options),
                f"The exponentials are rounded to {dtype} for their product with the values, and not in their sum.",
            )


@plan_slip(
    "there is rope, and the numbers are of a wider type than float16 and bfloat16", is_paired=False, is_rounding=True
)
def rope_frequencies_rounded(case: Computation) -> Iterator[Variant]:
    """Rope's frequencies are rounded to half precision before they are multiplied by the positions."""
    sentence = "Rope's frequencies are rounded to {} before they are multiplied by the positions."
    yield from _with_rounded_rope(case, sentence, frequencies=True)


@plan_slip(
    "there is rope, and the numbers are of a wider type than float16 and bfloat16", is_paired=False, is_rounding=True
)
def rope_angles_rounded(case: Computation) -> Iterator[Variant]:
    """Rope's positions, frequencies and angles are rounded to half precision, or its cosines and sines are."""
    sentence = "Rope's positions, frequencies and angles are rounded to {}."
    yield from _with_rounded_rope(case, sentence, positions=True, frequencies=True, angles=True)
    yield from _with_rounded_rope(case, "Rope's cosines and sines are rounded to {}.", sines=True)


def _with_rounded_rope(case: Computation, sentence: str, **rounded: bool) -> Iterator[Variant]:
    """The plan that rounds some of rope's quantities to each of the half types."""
    nodes = [node for node in case.plan.nodes if node.function is rope]
    if nodes and not any(_has_axes(case.plan, node) for node in nodes):
        for dtype in half_types(case):
            changed = case
            for node in nodes:
                changed = changed.with_function(node.name, _rope_rounded, dtype=dtype, rounded=rounded)
            yield Variant(changed, sentence.format(dtype))


def _has_axes(plan: Plan, node: Node) -> bool:
    """Whether rope reads positions on several axes."""
    return "frequencies" in node.inputs and len(plan[node.inputs["frequencies"]].shape) > 1


@plan_slip(
    "queries and keys have a norm, and the type is wider than float16 and bfloat16", is_paired=False, is_rounding=True
)
def norm_in_half(case: Computation) -> Iterator[Variant]:
    """The norm of queries and keys is computed in half precision: its result is rounded."""
    names = [node.name for node in case.plan.nodes if node.stage == "qk_norm" and node.tapped_from is None]
    for dtype in half_types(case) if names else ():
        changed = case.with_changed_values(names, to_type, dtype=dtype)
        yield Variant(changed, f"The result of the norm of queries and keys is rounded to {dtype}.")


@problem_slip("the numbers are of a wider type than float16 and bfloat16", is_rounding=True)
def half_precision(case: Computation) -> Iterator[Variant]:
    """Every step is computed in half precision."""
    for dtype in half_types(case):
        yield Variant(replace(case.problem, dtype=dtype), f"Every step is rounded to {dtype}.")


def half_types(case: Computation) -> Sequence[str]:
    """The half types, if the numbers have a wider one."""
    return () if case.dtype in HALF or case.problem.dtype in HALF else HALF


def narrower_types(case: Computation) -> Sequence[str]:
    """The types with fewer digits than the numbers."""
    own = max(Precision(case.dtype).epsilon, case.problem.precision.epsilon)
    return [dtype for dtype in (*HALF, *FLOAT8) if Precision(dtype).epsilon > own]


def _rounded(case: Computation, name: str, size: int) -> Iterator[Variant]:
    """The plan with a step, whose numbers have a size, rounded to so many decimals."""
    if name not in case.plan.by_name:
        return
    for decimals in _decimals(case, size):
        sentence = f"The {name} are rounded to {count_of(decimals, 'decimal')} before they are used."
        yield Variant(case.with_changed_value(name, np.round, options={"decimals": decimals}), sentence)


def _decimals(case: Computation, size: int) -> list[int]:
    """The decimals to round to, except those to which the type itself rounds numbers of a size.

    None in half precision if the numbers are wider: both errors together would explain too much.
    """
    if case.problem.precision.epsilon > Precision(case.dtype).epsilon:
        return []
    return [decimals for decimals in DECIMALS if 0.5 * 10.0**-decimals >= size * Precision(case.dtype).epsilon]


def softmax_of_rounded(scores: Array, *, decimals: int, temperature: float = 1.0) -> Array:
    """Rounded exponentials divided by their sum; no maximum is subtracted unless they overflow."""
    powers = scores / temperature
    exponentials = np.round(np.exp(powers - np.maximum(finite_max(powers) - LARGEST_POWER, 0)), decimals)
    total = exponentials.sum(axis=-1, keepdims=True)
    vanishes = (total == 0) & np.isfinite(powers).any(axis=-1, keepdims=True)
    return np.where(vanishes, np.nan, safe_divide(exponentials, total))


def to_type(x: Array, *, dtype: str) -> Array:
    """Numbers rounded to a type, in their own."""
    with np.errstate(over="ignore"):
        return Precision(dtype).round(x).astype(x.dtype, copy=False)


def _to_tf32(x: Array) -> Array:
    """Numbers of float32 rounded to 10 binary digits after the first, halves away from 0."""
    single = np.asarray(x, dtype=np.float32)
    bits = np.where(np.isfinite(single), single.view(np.uint32) + np.uint32(DROPPED // 2 + 1), single.view(np.uint32))
    rounded: Array = (bits & np.uint32(0xFFFFFFFF - DROPPED)).view(np.float32).astype(x.dtype)
    return rounded


def _softmax_of_half_exponentials(scores: Array, *, dtype: str, temperature: float = 1.0) -> Array:
    """Rounded exponentials divided by the sum of the exact ones."""
    powers = scores / temperature
    exponentials = np.exp(powers - finite_max(powers))
    return safe_divide(to_type(exponentials, dtype=dtype), exponentials.sum(axis=-1, keepdims=True))


def _rope_rounded(
    x: Array, positions: Array, *, dtype: str, rounded: Mapping[str, bool], interleaved: bool, **others: Any
) -> Array:
    """Rope with positions, frequencies, angles or sines rounded to a type."""

    def as_type(name: str, numbers: Array) -> Array:
        return to_type(numbers, dtype=dtype) if rounded.get(name) else numbers

    frequencies = others.get("frequencies")
    if frequencies is None:
        frequencies = rope_frequencies(others.get("dims") or x.shape[-1], others["base"])
    shifted = (np.asarray(positions, dtype=np.float64) + others.get("offset", 0)) / others.get("scaling", 1)
    angle = as_type("angles", as_type("positions", shifted)[..., None] * as_type("frequencies", frequencies))
    factor = 1.0 if others.get("attention_factor") is None else others["attention_factor"]
    cosine, sine = (factor * as_type("sines", function(angle)) for function in (np.cos, np.sin))
    one, other = pair_slices(angle.shape[-1], interleaved)
    turned, sine = x.copy(), -sine if others.get("reverse") else sine
    turned[..., one] = x[..., one] * cosine - x[..., other] * sine
    turned[..., other] = x[..., other] * cosine + x[..., one] * sine
    return turned
