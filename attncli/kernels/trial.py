"""A trial of a kernel: what it is to compute, how it is tried, and the judgement of what it gave on one input."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attncli.base.dtypes import HALF, Precision, coarsest
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, join_words
from attncli.checks.check import check, read_expected
from attncli.checks.compare import Checker
from attncli.checks.explanations import explained_by_same
from attncli.checks.report import CheckOptions, CheckReport, Explanation
from attncli.checks.slips import SLIPS
from attncli.checks.tolerance import LARGE_PART, UNITS, Tolerance, compute_reference
from attncli.io.assemble import assemble, read_value
from attncli.io.entries import ALIASES
from attncli.io.problem_files import Document, Origin, RawValue
from attncli.kernels.calls import LSE, OUTPUT, Interface, to_own_axes, visible_table
from attncli.kernels.cases import BOUNDS, LAID_OUT, KernelCase
from attncli.kernels.domain import Sizes
from attncli.kernels.process import CallFailure, Returned, Runner
from attncli.kernels.report import Failure
from attncli.ops.records import OperatorRecord
from attncli.ops.registry import operators
from attncli.plan.build import plan_of
from attncli.problem.arrays import GivenArray
from attncli.problem.conventions import in_words_of
from attncli.problem.fields import GRADIENT_PREFIX
from attncli.problem.layout import OWN_LAYOUTS
from attncli.problem.numbers import to_number
from attncli.problem.spec import FIELDS, ProblemSpec

NUMPY, TORCH, JAX, MLX, COMMAND = "numpy", "torch", "jax", "mlx", "command"
TYPES: Mapping[str, Sequence[str]] = {
    NUMPY: ("float64", "float32", "float16"),
    TORCH: ("float64", "float32", "float16", "bfloat16"),
    JAX: ("float32", "float16", "bfloat16"),
    MLX: ("float32", "float16", "bfloat16"),
}
LIBRARIES = (NUMPY, TORCH, JAX, MLX)  # of the arrays that a function may take
SLIP_SECONDS = 2.0  # that mistakes are looked for, on each of a few inputs
RECURRENT = ("decay", "beta", "past_state")  # arrays of a recurrence with axes of batch items and heads
SCORES = "masked_scores"
OWN_GRADIENTS = ("grad_bias", "grad_sink")  # which have no axis of batch items
MOST_SEARCHES = 20  # for the number of a mistake, on one input after the other

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Description:
    """What the function computes: the keys of a problem without arrays, and what may be left open (None).

    `given` are the arrays of the problem's own, an input like others; `convention` is how the keys are read.
    """

    document: Document
    convention: str | None = None
    heads: int | None = None
    kv_heads: int | None = None
    dtypes: Sequence[str] | None = None
    given: KernelCase | None = None


@dataclass(frozen=True)
class TrialOptions:
    """How a function is tried: so many drawn inputs, from a seed; what the user has chosen (None: it is found).

    `is_backward` asks for gradients too.
    """

    inputs: int = 100
    seed: int = 0
    library: str | None = None
    layout: str | None = None
    returns: tuple[str | None, ...] | None = None
    check: CheckOptions = field(default_factory=CheckOptions)
    is_backward: bool = False
    laws: bool = False  # whether laws are tried alone
    features: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()
    is_square: bool = False  # whether there are as many queries as keys
    device: str = "cpu"  # of PyTorch's
    without_dtypes: Mapping[str, str] = field(default_factory=dict)  # types that are left out, and why
    progress: Progress = lambda done, total: None


@dataclass(frozen=True)
class Base:
    """An input from which others are made, one axis after the other; `is_taken` is whether the function takes it."""

    sizes: Sizes = field(default_factory=Sizes)
    dtype: str = "float64"
    is_taken: bool = True


@dataclass
class Trial:
    """A function with what it is to compute, and how it is called.

    `inner` is a type in which it computes float64 numbers, where it has fewer digits.
    """

    runner: Runner
    interface: Interface
    description: Description
    options: TrialOptions
    base: Base = field(default_factory=Base)
    inner: str | None = None
    is_slow: bool = False
    remarks: list[str] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)
    searches: int = 0  # for the number of a mistake
    latest: dict[tuple[str, ...], Explanation] = field(default_factory=dict)  # with the number that was found last

    @property
    def scale(self) -> float | None:
        """The factor of the scores that the problem gives; None for that of the score."""
        raw = self.description.document.get("scale")
        value = None if raw is None else read_value(FIELDS["scale"], raw)
        return None if value is None else to_number(value, ("scale",))

    @property
    def recurrence(self) -> OperatorRecord | None:
        """The recurrence that the function computes, in place of scores and weights."""
        raw = self.description.document.get("recurrence")
        return None if raw is None else operators("recurrence")[str(raw.value).partition(":")[0]]

    def problem_of(self, case: KernelCase, without: Sequence[str] = (), *, is_plain: bool = False) -> ProblemSpec:
        """The problem of an input, without some keys; a plain one without heads and batch items where there is one."""
        arrays = case.arguments
        document = {key: raw for key, raw in self.description.document.items() if key not in without}
        if is_plain and case.is_plain:
            arrays |= {name: arrays[name][0, 0] for name in (*LAID_OUT, *RECURRENT, "grad_output") if name in arrays}
        if case.past:
            for name in ("key", "value"):
                cached, new = np.split(arrays[name], [case.past], axis=-2)
                arrays |= {name: new, f"past_{name}": cached}
        if self.description.convention is not None:
            arrays = in_words_of(self.description.convention, arrays)
        given = {
            name: RawValue(GivenArray(array, dtype=case.dtype if array.dtype.kind == "f" else None), Origin())
            for name, array in arrays.items()
            if name not in without
        }
        if BOUNDS[0] in given and np.array_equal(arrays[BOUNDS[0]], arrays[BOUNDS[1]]):
            del given[BOUNDS[1]]
        known = {"dtype": case.dtype} | ({"layout": OWN_LAYOUTS[0]} if arrays["query"].ndim == 4 else {})
        own = {key: RawValue(value, Origin()) for key, value in known.items()}
        return assemble({**document, **given, **own}, self.description.convention)

    def visible(self, case: KernelCase, own: Sequence[str]) -> Array | None:
        """Who sees whom by the keys that the function has no parameter of its own for; None where all see all."""
        problem = self.problem_of(case, own)
        if not _has_mask(problem):
            return None
        table = visible_table(problem)
        while table.ndim > 2 and (table == table[:1]).all():  # all batch items, all heads alike
            table = table[0]
        sizes = case.sizes
        return np.broadcast_to(table, (sizes.queries, sizes.keys)).copy() if table.ndim == 2 else table

    def has_empty_row(self, case: KernelCase) -> bool:
        """Whether a query of an input sees no key."""
        problem = self.problem_of(case)
        return _has_mask(problem) and not bool(visible_table(problem).any(axis=-1).all())

    def judge(self, case: KernelCase) -> "Failure | CallFailure | None":
        """What goes wrong with an input; None where nothing does. A CallFailure is a refusal of the function's own."""
        problem = self.problem_of(case)
        returned = self.runner.call(self.interface.call(case, problem, self.visible))
        if isinstance(returned, CallFailure):
            return returned if returned.is_refusal else Failure(returned.kind, returned.sentence, returned.cause)
        results = self.results(case, returned)
        if isinstance(results, Failure):
            return results
        if self.interface.backward:
            made = {name: part.array for name, part in zip(self.interface.returns, returned.parts, strict=False)}
            more = self._backward(case, problem, {name: x for name, x in made.items() if name and x is not None})
            if isinstance(more, (Failure, CallFailure)):
                return more
            results |= more
        return self._compare(case, problem, results, returned.changed)

    def results(self, case: KernelCase, returned: Returned) -> "dict[str, GivenArray] | Failure":
        """What was returned in attn's axes, by the names of results; a failure where a part is not as it should be."""
        is_gradient = [(part.name or "").startswith(GRADIENT_PREFIX) for part in returned.parts]
        forward = [part for part, is_own in zip(returned.parts, is_gradient, strict=True) if not is_own]
        gradients = [part for part, is_own in zip(returned.parts, is_gradient, strict=True) if is_own]
        if len(forward) < len(self.interface.returns):
            sentence = f"returns {len(forward)} of {count_of(len(self.interface.returns), 'part')}"
            return Failure("result", sentence, "parts")
        named = [*zip(self.interface.returns, forward, strict=False), *((part.name, part) for part in gradients)]
        results: dict[str, GivenArray] = {}
        for name, part in named:
            if name is None:
                continue
            if part.array is None:
                return Failure("result", f"returns {_a(part.type)} as {name}", f"type {name}")
            layout = self.interface.output_layout if name == OUTPUT else ""
            array, expected = to_own_axes(name, part.array, case, layout or self.interface.layout)
            if array is None:
                sentence = f"returns {name} of shape {part.array.shape}, not {expected}"
                return Failure("result", sentence, f"shape {name}")
            array = self._own_base(name, array)
            of_type = array if array.dtype.kind == "f" else array.astype(np.float64)
            results[name] = GivenArray(of_type, dtype=self._inner(part.type) if array.dtype.kind == "f" else None)
        return results

    def _own_base(self, name: str, array: Array) -> Array:
        """A log-sum-exp of base 2 as one of base e."""
        return array * math.log(2) if name == LSE and self.interface.lse_base == 2 else array

    def _inner(self, dtype: str) -> str:
        """The type of a result, or that in which the function computes, if this has fewer digits."""
        return dtype if self.inner is None else coarsest([dtype, self.inner])

    def _backward(
        self, case: KernelCase, problem: ProblemSpec, made: Mapping[str, Array]
    ) -> "dict[str, GivenArray] | Failure | CallFailure":
        """The gradients that the backward function returns."""
        returned = self.runner.call(self.interface.backward_call(case, problem, self.visible, made))
        if isinstance(returned, CallFailure):
            sentence = f"backward {returned.sentence}"
            return returned if returned.is_refusal else Failure(returned.kind, sentence, f"backward {returned.cause}")
        results: dict[str, GivenArray] = {}
        names = [f"{GRADIENT_PREFIX}{key}" for key in self.interface.gradients]
        for number, part in enumerate(returned.parts):
            own = ALIASES.get(part.name or "", part.name)
            name = own if own in names else names[number] if number < len(names) else None
            if name is None or (part.array is None and part.type == "None"):
                continue
            array, expected = (
                (None, "an array") if part.array is None else to_own_axes(name, part.array, case, self.interface.layout)
            )
            if array is None:
                found = _a(part.type) if part.array is None else f"shape {part.array.shape}"
                return Failure("result", f"returns {name} of {found}, not {expected}", f"shape {name}")
            results[name] = GivenArray(array, dtype=self._inner(part.type))
        if not results:
            return Failure("result", "backward returns no gradient", "no gradient")
        return results

    def plain_results(self, case: KernelCase, returned: Mapping[str, GivenArray]) -> Mapping[str, GivenArray]:
        """Results in the axes of the plain problem: without heads and batch items where there is one of each."""
        if not case.is_plain:
            return returned
        return {
            name: found if name in OWN_GRADIENTS else replace(found, array=found.array[0, 0])
            for name, found in returned.items()
        }

    def _compare(
        self, case: KernelCase, problem: ProblemSpec, results: Mapping[str, GivenArray], changed: Sequence[str]
    ) -> Failure | None:
        """Compare what was returned with what attn computes.

        Numbers within the least tolerance agree, and such as are wrong by a large part of the largest number differ,
        without the rounding error of the formula being measured.
        """
        is_backward = any(name.startswith(GRADIENT_PREFIX) for name in results)
        problem = problem.with_gradient() if is_backward else replace(problem, grad_output=None)
        has_scores = plan_of(problem).find(SCORES) is not None
        exact = compute_reference(problem, [*results, *([SCORES] if has_scores else [])], self.options.check)
        references = {name: exact.value(name) for name in results}
        largest_score = largest_number(exact.value(SCORES)) if has_scores else _largest_decay(case)
        if not self._agrees_surely(case, results, references, largest_score):
            is_coarse = case.dtype in HALF
            wrong = [
                name for name in results if not is_coarse and _differs_surely(results[name].array, references[name])
            ]
            if not wrong or self._has_own_tolerance:
                report = check(self.problem_of(case), results, replace(self.options.check, tries_slips=False))
                wrong = [result.name for result in report.differing]
            first = next(iter(wrong), None)
            if first is not None:
                given, right = (np.asarray(x, np.float64) for x in (results[first].array, references[first]))
                strange = given[~np.isfinite(given) & np.isfinite(right.reshape(given.shape))]
                if strange.size:
                    what = "NaN" if np.isnan(strange).any() else "an infinity"
                    return Failure("not_finite", f"returns {what} in {first}", f"not finite {first}", results)
                cause = OUTPUT if OUTPUT in wrong else first
                return Failure("differs", f"returns wrong numbers in {join_words(wrong)}", f"differs {cause}", results)
        if changed:
            sentence = f"changes its {count_of(len(changed), 'argument').partition(' ')[2]} {join_words(changed)}"
            return Failure("changed", sentence, f"changed {changed[0]}")
        return None

    @property
    def _has_own_tolerance(self) -> bool:
        """Whether the user has chosen how far numbers may differ."""
        options = self.options.check
        return any(limit is not None for limit in (options.rtol, options.atol, options.ulp))

    def _agrees_surely(
        self,
        case: KernelCase,
        results: Mapping[str, GivenArray],
        references: Mapping[str, Array],
        largest_score: float,
    ) -> bool:
        """Whether all numbers are within the least tolerance of a type, or what rounding a score changes.

        Kernels have scores in a type of their own, times log₂ e too, and merge splits by logarithms of sums: where a
        score is large, its unit in the last place is that part of the weights. Gradients may be sums that cancel.
        """
        if self._has_own_tolerance:
            return False
        for name, found in results.items():
            reference = references[name]
            given = np.asarray(found.array, np.float64).reshape(reference.shape)
            precision = Precision(coarsest([case.dtype, found.dtype or case.dtype]))
            tolerance = Tolerance(precision, "")
            of_scores = UNITS * Precision(precision.accumulation_dtype).epsilon * largest_score
            # Below the smallest normal number of the type that they compute in kernels may have 0, or few digits.
            more = of_scores * largest_number(reference) + float(np.finfo(precision.accumulation_dtype).tiny)
            if name.startswith(GRADIENT_PREFIX):  # whose terms may cancel, to 0 in one order and not in another
                more += UNITS * precision.epsilon * _size_of_terms(case, name.removeprefix(GRADIENT_PREFIX))
            if self.recurrence is not None:
                more += UNITS * precision.epsilon * _size_of_writes(case, name)
            allowed = tolerance.allowed(given, reference, None) + more
            if not tolerance.agrees(given, reference, allowed).all():
                return False
        return True

    def explained_by(self, case: KernelCase, failure: Failure, mistake: Explanation) -> Explanation | None:
        """How a mistake that explains another input explains this one; None where it does not.

        One mistake is tried alone, with the number that it was last found with; other numbers are looked for a few
        times.
        """
        problem, options = self.problem_of(case), self.options.check
        given = telling_results(failure)
        is_backward = any(name.startswith(GRADIENT_PREFIX) for name in given)
        problem = problem.with_gradient() if is_backward else replace(problem, grad_output=None)
        if len(mistake.slips) == 1 and mistake.slips[0] in SLIPS:  # not a plain reading of the numbers
            quantities = read_expected(problem, given, options)
            checker = Checker(problem, compute_reference(problem, list(quantities), options), quantities, options)
            latest = self.latest.get(mistake.slips, mistake)
            found = explained_by_same(checker, latest)
            if found is not None:
                self.latest[mistake.slips] = found
            if found is not None or SLIPS[mistake.slips[0]].number is None:
                return found
        self.searches += 1
        if self.searches > MOST_SEARCHES:
            return None
        explanations = self.explain(case, failure).explanations
        found = next((found for found in explanations if found.slips == mistake.slips), None)
        if found is not None:
            self.latest[mistake.slips] = found
        return found

    def explain(self, case: KernelCase, failure: Failure) -> CheckReport:
        """The report of an input with the mistakes that explain it."""
        return check(self.problem_of(case), telling_results(failure), replace(self.options.check, tries_slips=True))


def telling_results(failure: Failure) -> Mapping[str, GivenArray]:
    """What mistakes are looked for in: not the log-sum-exp where the output is wrong too, for they often change one."""
    is_of_both = failure.cause == f"differs {OUTPUT}"
    return {name: found for name, found in failure.returned.items() if name != LSE or not is_of_both}


def _largest_decay(case: KernelCase) -> float:
    """The largest logarithm of what is kept over all tokens: kernels subtract such sums, and take the exponential."""
    decay = case.arrays.get("decay")
    return 0.0 if decay is None else largest_number(decay.sum(axis=2))


def _size_of_writes(case: KernelCase, name: str) -> float:
    """About how large the terms are that a state or an output of a recurrence is the sum of."""
    written = largest_number(case.arrays["value"]) * math.sqrt(case.sizes.keys)
    return written * (largest_number(case.arrays["query"]) if name == OUTPUT else 1.0)


def _size_of_terms(case: KernelCase, key: str) -> float:
    """About how large the terms are that a gradient is the sum of."""
    query, keys, value, upstream = (largest_number(case.arrays[name]) for name in (*LAID_OUT, "grad_output"))
    of_weights = upstream * value * case.sizes.value_features
    sizes = {"query": of_weights * keys, "key": of_weights * query, "value": upstream}
    return sizes.get(key, of_weights)


def largest_number(array: Array) -> float:
    """The largest finite number."""
    return float(np.max(abs(array), initial=0, where=np.isfinite(array)))


def _differs_surely(given: Array, right: Array) -> bool:
    """Whether a number is so far from the right one that no rounding error is as large."""
    given = np.asarray(given, np.float64).reshape(right.shape)
    size = largest_number(right)
    with np.errstate(invalid="ignore"):
        difference = abs(given - right)
    is_apart = np.isfinite(right) & ~(difference <= LARGE_PART * size)
    return bool(size and is_apart.any())


def _a(noun: str) -> str:
    return noun if noun == "None" else f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def _has_mask(problem: ProblemSpec) -> bool:
    """Whether any key of a problem hides keys."""
    keys = (problem.mask, problem.window, problem.key_lengths, problem.key_mask, problem.cu_seqlens)
    return problem.causal or any(key is not None for key in keys)
