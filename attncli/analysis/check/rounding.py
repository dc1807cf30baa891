"""The rounding error of a formula: computed step by step in a type, and once more in a wider one."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod, sqrt
from typing import Any

from attncli.analysis.check.angle_error import with_moved_angles
from attncli.analysis.slips.limits import part_of
from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import HALF, Precision
from attncli.base.lazy_numpy import Array, np
from attncli.engine.dense import DenseEngine
from attncli.engine.options import BlockSizes
from attncli.ops.records import Operator
from attncli.plan.build import plan_of
from attncli.plan.graph import Plan
from attncli.problem.spec import FIELDS, ProblemSpec

SAMPLED_CELLS = BlockSizes().dense_cells  # scores of the queries that a larger problem's error is measured on
SLOW_PRODUCTS = 2**24  # so many products take longdouble, which no processor has fast, a tenth of a second
FLOAT64, EXTENDED = "float64", "longdouble"


RUNS = 4  # with numbers that are moved at random, besides the one without: of one run the largest error is chance


@dataclass(frozen=True)
class StepwisePrecision(Precision):
    """A type that each step computes in and is rounded to, as kernels do: float32 is not widened.

    With a stream every number, where it is rounded, is moved at random by up to a unit in its last place, by two of
    types that steps do not accumulate more exactly than they round: a kernel may scale queries, keys or their
    products, and add in another order.
    """

    stream: "np.random.Generator | None" = None

    @property
    def widened_name(self) -> str:
        """The type that a step computes in."""
        return self.accumulation_dtype

    @property
    def sums_in_parts(self) -> bool:
        """Never: a kernel may add all terms one after another."""
        return False

    def round(self, x: Array) -> Array:
        """The array rounded to this type, and moved."""
        rounded = super().round(x)
        if self.stream is None or rounded.dtype.kind != "f":
            return rounded
        units = 1 if self.name in HALF else 2
        moves = self.stream.uniform(-units, units, rounded.shape) * self.epsilon
        return super().round((rounded * (1 + moves)).astype(rounded.dtype))


@dataclass(frozen=True)
class RoundingError:
    """The largest rounding error of each quantity, by name, the typical one, and how they were measured, in words."""

    errors: Mapping[str, float]
    relative: Mapping[str, float]  # the largest error as a part of the largest number of its row
    typical: Mapping[str, float]  # that of half of the numbers is less
    remark: str = ""


def in_type(problem: ProblemSpec, dtype: str) -> ProblemSpec:
    """The same problem computed in another type, its numbers rounded to its own type first."""
    own = problem.precision
    values: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(problem, name)
        if isinstance(value, np.ndarray):
            values[name] = own.round(value)
        elif isinstance(value, Operator) and value.arrays:
            arrays = {parameter: own.round(array) for parameter, array in value.arrays.items()}
            values[name] = replace(value, given={**value.given, **arrays})
    with np.errstate(over="ignore"):
        return replace(problem, **values, dtype=dtype)


def evaluate_names(plan: Plan, problem: ProblemSpec, names: Iterable[str], precision: Precision) -> dict[str, Array]:
    """The values of results or steps, and of those that they need, by the dense engine, which computes in a type."""
    resolved = {plan.resolve(name) for name in names}
    outer = {plan.by_name[name].tapped_from or name for name in resolved}
    needed = plan.needed_for(outer)
    engine = DenseEngine(plan, problem, precision)
    engine.run(node for node in plan.nodes if node.name in needed)
    return engine.values


def rounding_error(problem: ProblemSpec, plan: Plan, names: Iterable[str], dtype: str) -> RoundingError:
    """The largest error of results or steps where a formula is computed step by step in a type.

    `problem` has the numbers that the right computation begins with, and the plan is its own. That of a large problem
    is measured on some of its queries. See `measure` for the rest.
    """
    remark = ""
    if prod(plan["weights"].shape) > SAMPLED_CELLS:
        rows = _sampled_rows(plan)
        problem, remark = part_of(problem, rows), f"measured on {len(rows)} of the queries"
    scaled = _with_scaling_step(problem)
    has_step = {name: plan_of(scaled).find(name) is not None for name in names}
    found = [
        measure(spec, plan_of(spec), [name for name in has_step if has_step[name] == is_scaled], dtype)
        for spec, is_scaled in ((scaled, True), (problem, False))
        if is_scaled in has_step.values()
    ]
    errors, relative, typical = (
        {name: error for one in found for name, error in getattr(one, measured).items()}
        for measured in ("errors", "relative", "typical")
    )
    remarks = dict.fromkeys((remark, *(one.remark for one in found)))
    return RoundingError(errors, relative, typical, " and ".join(filter(None, remarks)))


def _with_scaling_step(problem: ProblemSpec) -> ProblemSpec:
    """The problem in which the products of queries and keys are rounded before they are scaled, as kernels do."""
    is_given = "scores" in problem.not_computed
    if is_given or problem.scale is not None or problem.score.record.unscaled is None:
        return problem
    return replace(problem, scale=1 / sqrt(problem.lengths["d"]))


def measure(problem: ProblemSpec, plan: Plan, names: Iterable[str], dtype: str) -> RoundingError:
    """The largest error of results or steps of any plan, on all queries, in several runs.

    The error of float64 is measured in longdouble, or where that is slow, as that of float32, in proportion to the
    units of both; so is that of longdouble itself. What overflows in the type has no error.
    """
    wider, scale, remark = "float64" if dtype not in (FLOAT64, EXTENDED) else EXTENDED, 1.0, ""
    if wider == EXTENDED and (dtype == EXTENDED or not _has_fast_longdouble(plan)):
        scale = Precision(dtype).epsilon / Precision("float32").epsilon
        remark = "measured in float32, in proportion"
        problem, dtype, wider = in_type(replace(problem, dtype="float32"), "float32"), "float32", FLOAT64
    resolved = {name: plan.resolve(name) for name in names}
    exact = evaluate_names(plan, problem, resolved.values(), Precision(wider))
    stream = np.random.default_rng(0)
    errors, relative, typical = (dict.fromkeys(resolved, 0.0) for _ in range(3))
    for precision in (StepwisePrecision(dtype), *[StepwisePrecision(dtype, stream)] * RUNS):
        moved = with_moved_angles(plan, precision, precision.stream)
        stepwise = evaluate_names(moved, problem, resolved.values(), precision)
        for name, step in resolved.items():
            error = _errors(stepwise[step], exact[step])
            errors[name] = max(errors[name], scale * float(np.max(error, initial=0, where=np.isfinite(error))))
            relative[name] = max(relative[name], scale * _largest_in_rows(error, exact[step]))
            typical[name] = max(typical[name], scale * median(error[np.isfinite(error)]))
    return RoundingError(errors, relative, typical, remark)


def _errors(stepwise: Array, exact: Array) -> Array:
    """The differences of two arrays, finite where the numbers of both are; none where they count or are booleans."""
    if exact.dtype.kind != "f":
        return np.zeros(exact.shape)
    with np.errstate(all="ignore"):
        error: Array = abs(stepwise.astype(exact.dtype) - exact)
        return error


def _largest_in_rows(error: Array, exact: Array) -> float:
    """The largest error as a part of the largest number of its row, of rows with numbers other than 0."""
    if not exact.ndim or not exact.shape[-1]:
        return np.inf
    errors = np.max(error, axis=-1, initial=0, where=np.isfinite(error))
    largest = largest_of_rows(exact)[..., 0]
    return float(np.max(errors / np.where(largest > 0, largest, 1), initial=0, where=largest > 0))


def largest_of_rows(x: Array) -> Array:
    """The largest absolute number of each row [… 1], of those that are finite."""
    with np.errstate(all="ignore"):
        largest: Array = np.where(np.isfinite(x), abs(x), 0).max(axis=-1, keepdims=True, initial=0)
        return largest


def median(numbers: Array) -> float:
    """The median; 0 where there is none."""
    return float(np.median(numbers)) if numbers.size else 0.0


def _has_fast_longdouble(plan: Plan) -> bool:
    """Whether longdouble is wider than float64 here, and the plan small enough for it."""
    products = sum(
        prod(node.shape) * max((plan.by_name[name].shape[-1:] or (1,))[0] for name in node.inputs.values())
        for node in plan.nodes
        if not node.is_input and node.inputs and not node.is_exact
    )
    return Precision(EXTENDED).epsilon < Precision(FLOAT64).epsilon and products < SLOW_PRODUCTS


def _sampled_rows(plan: Plan) -> list[int]:
    """The positions of some of the queries of a plan, the first and the last among them."""
    *before, queries, keys = plan["weights"].shape
    count = min(max(SAMPLED_CELLS // (prod(before) * keys), 2), queries)
    rows: list[int] = np.unique(np.linspace(0, queries - 1, count).round().astype(int)).tolist()
    return rows
