"""The reference, the rounding error of a formula in a type, and the tolerance that follows for expected numbers."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from attncli.base.dtypes import FLOAT8, HALF, NARROW, Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.checks.expected import ExpectedNumbers
from attncli.checks.report import CheckOptions
from attncli.checks.slips.parts import part_of
from attncli.checks.slips.records import Computation, evaluate_names
from attncli.engine.many_digits import DIGITS, run_with_digits
from attncli.engine.options import BlockSizes
from attncli.engine.run import run
from attncli.ops.records import Operator
from attncli.ops.rope import rope
from attncli.plan.build import plan_of
from attncli.plan.graph import GRADIENT, Node, Plan
from attncli.plan.trace import Trace
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.render.rows import largest_of_rows

FLOAT64, EXTENDED = "float64", "longdouble"
NORMALIZE = "normalize"  # the stage
SAMPLED_CELLS = BlockSizes().dense_cells  # scores of the queries on which a larger problem's error is measured
SLOW_PRODUCTS = 2**24  # so many take a tenth of a second in longdouble, which no processor computes fast
RUNS = 4  # runs with randomly moved numbers, besides the one without: a single run's largest error is chance
UNITS = 4  # the floor: units in the last place of the largest number of a row
FACTOR = 2  # ratio of another program's error to the error of a plan's steps, at most
UNMEASURED = 1.5  # further ratio for queries whose error was not measured
HASH_FACTOR = 0x9E3779B97F4A7C15  # 2⁶⁴ by the golden ratio: its products spread over all bits
EXTREME_ROWS = 8  # queries with the largest and the smallest numbers, among the measured ones
LARGE_PART = 0.25  # share of the largest number: agreement within such an error means nothing


@dataclass(frozen=True)
class Reference:
    """The right computation: its trace, its type for the report, and why it does not have more digits."""

    trace: Trace
    name: str
    remark: str = ""

    def value(self, name: str) -> Array:
        """The numbers of a result or step."""
        return self.trace[name].value


def compute_reference(problem: ProblemSpec, names: Sequence[str], options: CheckOptions) -> Reference:
    """Compute results or steps of a problem, after rounding its numbers to its own type.

    With `many_digits` it computes 50 digits, or, if that fails, longdouble. Raises AttnError if there is not enough
    memory.
    """
    is_extended = options.many_digits or problem.precision.name == EXTENDED
    problem = in_type(problem, EXTENDED if is_extended else FLOAT64)
    trace = replace(run(problem, names, options=options.run).trace, problem=problem)
    has_more_digits = is_extended and Precision(EXTENDED).epsilon < Precision(FLOAT64).epsilon
    name, remark = EXTENDED if has_more_digits else FLOAT64, ""
    if options.many_digits:
        try:
            trace, name = _in_many_digits(trace), f"{DIGITS} digits"
        except AttnError as error:
            remark = f"{DIGITS} digits: {error.typed}"
    return Reference(trace, name, remark)


def has_every_step(trace: Trace) -> bool:
    """Whether a trace has every step of its plan; a computation in blocks has only results."""
    return len(trace.steps) == len(trace.plan.nodes)


def _in_many_digits(trace: Trace) -> Trace:
    """The trace with every step computed in many digits and rounded once.

    Raises AttnError if the problem is too large, an operator does not support it, or mpmath is missing.
    """
    if not has_every_step(trace):
        raise AttnError("the problem is too large")
    values = run_with_digits(trace.plan, trace.problem, [step.name for step in trace.steps], dtype=EXTENDED)
    return replace(trace, values={name: values[name] for name in trace.by_name})


def in_type(problem: ProblemSpec, dtype: str) -> ProblemSpec:
    """The same problem computed in another type, after rounding its numbers to its own type."""
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


@dataclass(frozen=True)
class StepwisePrecision(Precision):
    """A type in which each step computes and rounds, as kernels do: float32 is not widened.

    With a stream, rounding moves every number at random: by up to half a unit in its last place if steps accumulate
    more exactly than they round, otherwise by two units, since a kernel may scale queries, keys or their products.
    Equal numbers of a step, such as masked scores, move alike.
    """

    stream: "np.random.Generator | None" = None

    @property
    def widened_name(self) -> str:
        """The type in which a step computes."""
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
        units = 0.5 if self.name in HALF else 2
        moves = units * self.epsilon * _numbers_of(rounded, self.stream)
        with np.errstate(over="ignore"):
            return super().round((rounded * (1 + moves)).astype(rounded.dtype))

    def with_moved_sums(self, problem: ProblemSpec, plan: Plan) -> Plan:
        """The plan with every sum moved at random, by the possible error of adding its terms one after another.

        For L terms it is √L / 2 units: the errors of L roundings, each up to half a unit of a partial sum, add up as a
        random walk (Higham & Mary 2019, A new approach to probabilistic rounding error analysis). The sum of
        exponentials has one error for its whole row. Sums in half types have float32's error.
        """
        stream = self.stream
        if stream is None or self.name in HALF:
            return plan
        case, weights = Computation(problem, plan, self.name), plan.results.get("weights")
        for node in plan.nodes:
            terms, is_of_row = _term_count(plan, node), node.stage == NORMALIZE
            if terms > 1:
                options = {"stream": stream, "size": math.sqrt(terms) / 2 * self.epsilon, "is_of_row": is_of_row}
                case = case.with_changed_value(node.name, _moved, options=options)
            if node.stage == GRADIENT and weights is not None and node.inputs.get("forward") == weights:
                options = {"stream": stream, "size": math.sqrt(plan.axis_length("e")) / 2 * self.epsilon}
                inputs = {"weights": weights, "grad": node.inputs["grad"]}
                case = case.with_changed_value(node.name, _with_moved_row_sums, inputs, options)
        return case.plan

    def with_moved_angles(self, plan: Plan) -> Plan:
        """The plan with the angles of each rotation moved at random, by up to a unit of float32, or of a wider type.

        A kernel computes the angles of rope in its own type, float32 for half types, and far positions multiply its
        error; a plan's functions compute angles in double precision. Without a stream the plan is unchanged.
        """
        stream, unit = self.stream, Precision(self.accumulation_dtype).epsilon
        if stream is None:
            return plan

        def moved(node: Node) -> Node:
            """A rotation whose positions are divided by a number close to 1; any other node unchanged."""
            if node.record is not rope.record:
                return node
            scaling = node.options.get("scaling", 1.0) * (1 + stream.uniform(-unit, unit))
            return replace(node, options={**node.options, "scaling": scaling})

        return replace(plan, nodes=tuple(map(moved, plan.nodes)))


def _numbers_of(x: Array, stream: "np.random.Generator") -> Array:
    """Random numbers between -1 and 1 that depend only on an array's numbers: a hash of their bits."""
    bits = x.astype(np.float64).view(np.uint64) ^ stream.integers(2**63, dtype=np.uint64)
    for shift in (32, 29):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(HASH_FACTOR)
    return (bits >> np.uint64(11)) * 2.0**-52 - 1


def _term_count(plan: Plan, node: Node) -> int:
    """The number of summed terms in each number of a node: exponentials of a row, or products of two inputs."""
    if node.is_input or node.is_exact or node.is_boolean or node.tapped_from is not None:
        return 1
    if node.stage == NORMALIZE:
        return node.shape[-1]
    axes = Counter(axis for name in node.inputs.values() for axis in set(plan.by_name[name].axes))
    return prod(axis.length for axis, inputs in axes.items() if inputs > 1 and axis.letter not in node.letters)


def _moved(x: Array, *, stream: "np.random.Generator", size: float, is_of_row: bool) -> Array:
    """Numbers, each moved by up to a share of it, with `is_of_row` alike in a row. Counts are unchanged.

    A sum whose terms cancel loses as much as others of its row: it moves by a share of the row's root mean square.
    """
    if x.dtype.kind != "f":
        return x
    with np.errstate(all="ignore"):
        if is_of_row:
            return (x * (1 + stream.uniform(-size, size, (*x.shape[:-1], 1)))).astype(x.dtype)
        squares = np.where(np.isfinite(x), x, 0).astype(np.float64) ** 2
        typical = np.sqrt(squares.mean(axis=-1, keepdims=True)) if x.ndim else abs(x)
        moves = np.fmax(abs(x), typical) * stream.uniform(-size, size, x.shape)
        return np.where(np.isfinite(x) & (x != 0), x + moves, x).astype(x.dtype)  # a sum of zeros is exact


def _with_moved_row_sums(x: Array, *, weights: Array, grad: Array, stream: "np.random.Generator", size: float) -> Array:
    """The derivative of a softmax, dS = A ∘ (dA − D), with the D of each row moved by a share of dA's numbers.

    Kernels sum D = Σ dO ∘ O over the features of a value, with an error independent of dA's.
    """
    with np.errstate(all="ignore"):
        squares = np.where(np.isfinite(grad), grad, 0).astype(np.float64) ** 2
        typical = np.sqrt(squares.mean(axis=-1, keepdims=True))
        moves = typical * stream.uniform(-size, size, typical.shape)
        return np.where(np.isfinite(x), x + weights * moves, x).astype(x.dtype)


class StepError(NamedTuple):
    """The rounding error of one step."""

    largest: float = 0.0
    of_row: float = 0.0  # the largest in proportion to the largest number of its row
    typical: float = 0.0  # half of the numbers have a smaller error

    def times(self, factor: float) -> "StepError":
        """The errors times a factor."""
        return StepError(*(factor * error for error in self))


@dataclass(frozen=True)
class RoundingError:
    """The rounding error of each quantity, by name, and the method of measurement, in words."""

    errors: Mapping[str, StepError]
    remark: str = ""


def rounding_error(
    problem: ProblemSpec,
    plan: Plan,
    names: Iterable[str],
    dtype: str,
    extremes: Sequence[int] = (),
    *,
    rounds_every_step: bool = False,
) -> RoundingError:
    """The largest error of results or steps if a formula is computed step by step in a type.

    `problem` has the input numbers of the right computation, and the plan is its own. A large problem's error is
    measured on some of its queries, including the positions of `extremes`, and assumed larger for the others. See
    `measure` for the rest.
    """
    remark, factor = "", 1.0
    if plan.score_count > SAMPLED_CELLS:
        rows = _sampled_rows(plan, extremes)
        if len(rows) < plan["weights"].shape[-2]:
            factor, remark = UNMEASURED, f"measured on {len(rows)} of the queries"
        problem = part_of(problem, rows)
    scaled = _with_scaling_step(problem)
    has_step = {name: plan_of(scaled).find(name) is not None for name in names}
    found = [
        measure(
            spec,
            plan_of(spec),
            [name for name in has_step if has_step[name] == is_scaled],
            dtype,
            rounds_every_step=rounds_every_step,
        )
        for spec, is_scaled in ((scaled, True), (problem, False))
        if is_scaled in has_step.values()
    ]
    errors = {name: error.times(factor) for one in found for name, error in one.errors.items()}
    remarks = dict.fromkeys((remark, *(one.remark for one in found)))
    return RoundingError(errors, " and ".join(filter(None, remarks)))


def _with_scaling_step(problem: ProblemSpec) -> ProblemSpec:
    """The problem that rounds the products of queries and keys before scaling, as kernels do."""
    is_given = "scores" in problem.not_computed
    if is_given or problem.scale is not None or problem.score.record.unscaled is None:
        return problem
    return replace(problem, scale=1 / math.sqrt(problem.lengths["d"]))


def _sampled_rows(plan: Plan, extremes: Sequence[int]) -> list[int]:
    """The positions of some of a plan's queries: the first, the last, some between, and the extreme ones."""
    *before, queries, keys = plan["weights"].shape
    count = min(max(SAMPLED_CELLS // (prod(before) * keys), 2), queries)
    spread = np.linspace(0, queries - 1, count).round().astype(int)
    rows: list[int] = np.unique([*spread, *extremes]).tolist()
    return rows


def extreme_rows(values: Iterable[tuple[Array, Sequence[str]]]) -> Sequence[int]:
    """The positions of the queries with the largest and the smallest numbers, in arrays with axes of these letters.

    These have the larger errors: an error grows with the scores, and with the numbers of its row.
    """
    rows = list[int]()
    for array, letters in values:
        axis = letters.index("n")
        sizes = np.nan_to_num(abs(array.astype(np.float64)), posinf=0)
        of_rows = sizes.max(axis=tuple(at for at in range(array.ndim) if at != axis), initial=0)
        order = np.argsort(of_rows, kind="stable")
        rows += [*order[: EXTREME_ROWS // 2].tolist(), *order[-EXTREME_ROWS // 2 :].tolist()]
    return rows


def measure(
    problem: ProblemSpec, plan: Plan, names: Iterable[str], dtype: str, *, rounds_every_step: bool = False
) -> RoundingError:
    """The largest error of results or steps of any plan, on all queries, in several runs.

    A narrow type means a kernel that computes in float32 and only multiplies in the type; with `rounds_every_step`,
    which types of 8 bits do not support, every step is rounded to it. The error of float64 is measured in longdouble,
    or, if that is slow, derived from float32's in proportion to the units of both; longdouble's own error likewise. A
    number that overflows in the type has no error.
    """
    wider, scale, remark = FLOAT64 if dtype not in (FLOAT64, EXTENDED) else EXTENDED, 1.0, ""
    if wider == EXTENDED and (dtype == EXTENDED or not _has_fast_longdouble(plan)):
        scale = Precision(dtype).epsilon / Precision("float32").epsilon
        remark = "measured in float32, in proportion"
        problem, dtype, wider = in_type(replace(problem, dtype="float32"), "float32"), "float32", FLOAT64
    resolved = {name: plan.resolve(name) for name in names}
    exact = evaluate_names(plan, problem, resolved.values(), Precision(wider))
    stream = np.random.default_rng(0)
    errors = dict.fromkeys(resolved, StepError())
    computed_in = "float32" if dtype in (FLOAT8 if rounds_every_step else NARROW) else dtype
    for precision in (StepwisePrecision(computed_in), *[StepwisePrecision(computed_in, stream=stream)] * RUNS):
        rounded = plan if computed_in == dtype else _with_narrow_operands(problem, plan, dtype, precision.stream)
        moved = precision.with_moved_angles(precision.with_moved_sums(problem, rounded))
        stepwise = evaluate_names(moved, problem, resolved.values(), precision)
        for name, step in resolved.items():
            found = _step_error(stepwise[step], exact[step])
            errors[name] = StepError(*(max(old, scale * new) for old, new in zip(errors[name], found, strict=True)))
    return RoundingError(errors, remark)


def _with_narrow_operands(problem: ProblemSpec, plan: Plan, dtype: str, stream: "np.random.Generator | None") -> Plan:
    """The plan in which a narrow type holds the operands of products: queries and keys, weights and values.

    Kernels add in float32, and store no scores in such a type. The weights of a row are rounded in proportion to the
    largest, as exponentials minus the maximum are; with a stream each row has another scale, as a kernel may divide
    them by their sum. In types of 8 bits projections and gradients are not computed.
    """
    case, weights = Computation(problem, plan, dtype), plan.results.get("weights")
    read: list[str] = []
    for node in plan.nodes:
        is_narrow = dtype in HALF or node.stage in ("score", "context", "recurrence")
        if is_narrow and node.stage != NORMALIZE and len(node.inputs) > 1 and _term_count(plan, node) > 1:
            read += node.inputs.values()
    for name in dict.fromkeys(read):
        node = plan.by_name[name]  # inputs have the type already, and a scale applies to their products
        if node.is_boolean or node.is_input or node.stage == "value_scale":
            continue
        options = {"dtype": dtype, "stream": stream, "by_row": name == weights}
        case = case.with_changed_value(name, _narrowed, options=options)
    return case.plan


def _narrowed(x: Array, *, dtype: str, stream: "np.random.Generator | None", by_row: bool) -> Array:
    """Numbers rounded to a type, times a scale, and back; by row, each row times its own. Counts are unchanged."""
    if x.dtype.kind != "f":
        return x
    scale = 1.0 if stream is None else stream.uniform(1, 2, (*x.shape[:-1], 1) if by_row else ())
    largest = largest_of_rows(x) if by_row else np.ones(1)
    factors = scale / np.where(largest > 0, largest, 1)
    narrowed: Array = Precision(dtype).round(x * factors) / factors
    return narrowed


def _step_error(stepwise: Array, exact: Array) -> StepError:
    """The difference of two arrays where both are finite; none if they are counts or booleans."""
    if exact.dtype.kind != "f":
        return StepError(of_row=0.0 if exact.ndim and exact.shape[-1] else np.inf)
    with np.errstate(all="ignore"):
        error: Array = abs(stepwise.astype(exact.dtype) - exact)
    of_row = np.inf
    if exact.ndim and exact.shape[-1]:
        errors, largest = np.max(error, axis=-1, initial=0, where=np.isfinite(error)), largest_of_rows(exact)[..., 0]
        of_row = float(np.max(errors / np.where(largest > 0, largest, 1), initial=0, where=largest > 0))
    finite = error[np.isfinite(error)]
    return StepError(float(np.max(finite, initial=0)), of_row, median(finite))


def median(numbers: Array) -> float:
    """The median; 0 if there is none."""
    return float(np.median(numbers)) if numbers.size else 0.0


def _has_fast_longdouble(plan: Plan) -> bool:
    """Whether longdouble is wider than float64 here, and the plan small enough for it."""
    products = sum(
        prod(node.shape) * max((plan.by_name[name].shape[-1:] or (1,))[0] for name in node.inputs.values())
        for node in plan.nodes
        if not node.is_input and node.inputs and not node.is_exact
    )
    return Precision(EXTENDED).epsilon < Precision(FLOAT64).epsilon and products < SLOW_PRODUCTS


@dataclass(frozen=True)
class Tolerance:
    """The permitted difference of an expected number from the reference, with the reason in a sentence.

    `rounded_to` is the type of the final rounding, if the computation was finer. A row is allowed `error`, but no more
    than `error_of_row` times its largest number, and no less than UNITS units of the type for that number; half of the
    last digit given is added. The reference rounded to the type always agrees.
    """

    precision: Precision
    reason: str
    error: float = 0.0
    error_of_row: float = math.inf
    relative: float | None = None  # of the expected number: given by the user, as are the two below
    absolute: float = 0.0
    units: float = 0.0
    rounded_to: Precision | None = None

    @property
    def number_type(self) -> Precision:
        """The final type of the numbers."""
        return self.rounded_to or self.precision

    def allowed(self, expected: Array, computed: Array, half_units: Array | None) -> Array:
        """The permitted difference of each number of some rows [… columns]."""
        with np.errstate(all="ignore"):
            if self.relative is not None:
                by_size = self.absolute + self.relative * abs(expected)
                by_units = self.units * self.precision.units(expected) if self.units else np.zeros(1)
                return np.where(np.isfinite(expected), np.fmax(by_size, by_units), self.absolute)
            largest = largest_of_rows(computed)
            error = np.where(largest > 0, np.fmin(self.error, self.error_of_row * largest), self.error)
            allowed = np.maximum(error, UNITS * self.precision.units(largest))
            typed = 0 if half_units is None else np.nan_to_num(half_units)
            return np.broadcast_to(allowed + typed, expected.shape)

    def allows_anything(self, computed: Array) -> bool:
        """Whether the derived error is so large a share of the largest number that agreement means nothing.

        That happens if a formula overflows in its type.
        """
        with np.errstate(all="ignore"):
            largest = float(np.max(abs(computed), initial=0, where=np.isfinite(computed)))
        return self.relative is None and min(self.error, self.error_of_row * largest) > LARGE_PART * largest > 0

    def agreeing(self, numbers: ExpectedNumbers, computed: Array) -> Array:
        """True where expected numbers agree with computed ones."""
        return self.agrees(numbers.array, computed, self.allowed(numbers.array, computed, numbers.half_units))

    def agrees(self, expected: Array, computed: Array, allowed: Array) -> Array:
        """True where numbers agree; NaN and infinities agree with their like alone."""
        with np.errstate(all="ignore"):
            error = abs(expected - computed)
            same = (expected == computed) | (np.isnan(expected) & np.isnan(computed))
            is_rounded = self.number_type.round(computed) == expected
            agrees: Array = same | is_rounded | (np.isfinite(error) & (error <= allowed))
            return agrees


def with_half_units(numbers: ExpectedNumbers) -> ExpectedNumbers:
    """The expected numbers; numbers of a half type were rounded to it in the end, and have half of its last digit.

    >>> numbers = ExpectedNumbers(np.array([1.0, 3.0]), np.ones(2, bool), dtype="float16")
    >>> with_half_units(numbers).half_units.tolist()
    [0.00048828125, 0.0009765625]
    """
    if numbers.dtype not in HALF:
        return numbers
    half_units = Precision(numbers.dtype).units(numbers.array) / 2
    typed = half_units if numbers.half_units is None else np.fmax(half_units, numbers.half_units)
    return replace(numbers, half_units=typed)


def chosen_tolerance(options: CheckOptions, precision: Precision) -> Tolerance | None:
    """The user's tolerance; None without one."""
    parts = {"rtol": options.rtol, "atol": options.atol, "ulp": options.ulp}
    given = [f"{name} {value:g}" for name, value in parts.items() if value is not None]
    if not given:
        return None
    unit = f" of {precision.name}" if options.ulp is not None else ""
    reason = f"{', '.join(given)}{unit}, as given"
    return Tolerance(
        precision, reason, relative=options.rtol or 0.0, absolute=options.atol or 0.0, units=options.ulp or 0.0
    )


def derived_tolerance(
    expected: ExpectedNumbers,
    precision: Precision,
    rounding: RoundingError | None,
    name: str,
    *,
    rounds_every_step: bool = False,
) -> Tolerance:
    """The tolerance that follows from the form of numbers: their type and its rounding error, or their digits.

    `rounding` is None if only the digits count. With `rounds_every_step` it applies to steps in a half type.
    """
    own = expected.dtype
    rounded_to = Precision(own) if own in HALF and not rounds_every_step else None
    digits = "half of the last digit given" if rounded_to is None else f"one rounding to {own}"
    if rounding is None:
        return Tolerance(precision, digits, rounded_to=rounded_to)
    reason = f"twice the error of {_arithmetic(precision.name, rounds_every_step=rounds_every_step)}"
    reason += f" ({rounding.remark})" if rounding.remark else ""
    reason += f", and no less than {UNITS} units in the last place of the largest number of its row"
    if expected.half_units is not None:
        reason = f"{digits}{'; of numbers with every digit' if expected.has_every_digit else ', and'} {reason}"
    error = rounding.errors[name]
    if precision.name in NARROW and not rounds_every_step:  # multiplied numbers; results have their own type
        precision = Precision("float32")
    return Tolerance(precision, reason, FACTOR * error.largest, FACTOR * error.of_row, rounded_to=rounded_to)


def _arithmetic(dtype: str, *, rounds_every_step: bool) -> str:
    """The arithmetic of a formula, in words."""
    if dtype in NARROW and not rounds_every_step:
        return f"the formula computed in float32, with {dtype} numbers in its products"
    return f"the formula computed step by step in {dtype}"
