"""A trial of a kernel: find how it is called, run it on inputs that reveal mistakes, and shrink one that fails."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from attncli.analysis.check.check import check, read_expected
from attncli.analysis.check.compare import Checker
from attncli.analysis.check.report import CheckOptions, CheckReport, Explanation
from attncli.analysis.check.slips import is_explained_by
from attncli.analysis.check.tolerance import LARGE_PART, UNITS, Tolerance, compute_reference
from attncli.analysis.kernels.calls import (
    LAYOUTS,
    LSE,
    NO_HEADS,
    OUTPUT,
    Interface,
    describe_layout,
    find_returns,
    first_annotation,
    parameters_said,
    to_own_axes,
    visible_table,
)
from attncli.analysis.kernels.cases import LAID_OUT, CaseMaker, KernelCase, Scope, Sizes
from attncli.analysis.kernels.report import Failure, Kind, OtherFailure, Smallest, TrialReport
from attncli.analysis.kernels.shrink import Shrinker
from attncli.analysis.slips import SLIPS
from attncli.base.dtypes import HALF, Precision, coarsest
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, join_words
from attncli.engine.run import run
from attncli.io.assemble import assemble
from attncli.io.entries import ALIASES
from attncli.io.kernel_process import CallFailure, FunctionDescription, Returned, Runner
from attncli.io.problem_files import Document, Origin, RawValue
from attncli.plan.build import plan_of
from attncli.problem.arrays import GivenArray
from attncli.problem.fields import GRADIENT_PREFIX
from attncli.problem.layout import OWN_LAYOUTS
from attncli.problem.spec import ProblemSpec

NUMPY, TORCH, COMMAND = "numpy", "torch", "command"
TYPES: Mapping[str, Sequence[str]] = {
    NUMPY: ("float64", "float32", "float16"),
    TORCH: ("float64", "float32", "float16", "bfloat16"),
}
PROBE = Sizes(2, 3, 3, 5, 5, 4, 4)  # no two axes that a layout could confuse have the same length
SCORES = "masked_scores"
OWN_GRADIENTS = ("grad_bias", "grad_sink")  # which have no axis of batch items
PLAIN_LAYOUTS = ("bhnd", "hnd", NO_HEADS)  # which differ in how many axes there are, so that the shape tells them apart
LOOSE = 1e-3  # of the largest number: so near are results of the right layout in any type
MOST_FAILURES = 50  # then no other inputs are tried
MOST_ENDED = 4  # calls that end the process or the time: then no other inputs are tried
SHRINK_SECONDS, SLOW_SHRINK_SECONDS = 15.0, 45.0  # the second where a call that fails takes its time
MOST_SHRINKS = 4000  # inputs that are tried to make one smaller
MOST_SEARCHES = 20
NAMED_INPUTS = 3  # on which mistakes are looked for
ENOUGH_NUMBERS = 12  # in what is returned, for a mistake to be told from others
# The order in which one of several failures is made small: those with numbers say most.
KINDS: Sequence[Kind] = ("differs", "not_finite", "result", "raised", "changed", "crashed", "timeout")

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Description:
    """What the function computes: the keys of a problem without arrays, and what may be left open (None).

    `given` are the arrays of the problem's own, an input like others.
    """

    document: Document
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
    progress: Progress = lambda done, total: None


@dataclass
class Trial:
    """A function with what it is to compute, and how it is called."""

    runner: Runner
    interface: Interface
    description: Description
    options: TrialOptions
    remarks: list[str] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)
    searches: int = 0  # for the number of a mistake

    def problem_of(self, case: KernelCase, without: Sequence[str] = (), *, is_plain: bool = False) -> ProblemSpec:
        """The problem of an input, without some keys; `is_plain` leaves out heads and batch items where there is one."""
        arrays = dict(case.arrays)
        document = {key: raw for key, raw in self.description.document.items() if key not in without}
        if is_plain and case.is_plain:
            arrays |= {name: arrays[name][0, 0] for name in (*LAID_OUT, "grad_output") if name in arrays}
        if case.past:
            for name in ("key", "value"):
                cached, new = np.split(arrays[name], [case.past], axis=-2)
                arrays |= {name: new, f"past_{name}": cached}
        given = {
            name: RawValue(GivenArray(array, dtype=case.dtype if array.dtype.kind == "f" else None), Origin())
            for name, array in arrays.items()
            if name not in without
        }
        known = {"dtype": case.dtype} | ({"layout": OWN_LAYOUTS[0]} if arrays["query"].ndim == 4 else {})
        return assemble({**document, **given, **{key: RawValue(value, Origin()) for key, value in known.items()}})

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

    def judge(self, case: KernelCase) -> "Failure | CallFailure | None":
        """What goes wrong with an input; None where nothing does. A CallFailure is a refusal of the function's own."""
        problem = self.problem_of(case)
        returned = self.runner.call(self.interface.call(case, problem, self.visible))
        if isinstance(returned, CallFailure):
            return returned if returned.is_refusal else Failure(returned.kind, returned.sentence, returned.cause)
        results = self._results(case, returned)
        if isinstance(results, Failure):
            return results
        if self.interface.backward:
            made = {name: part.array for name, part in zip(self.interface.returns, returned.parts, strict=False)}
            more = self._backward(case, problem, {name: x for name, x in made.items() if name and x is not None})
            if isinstance(more, (Failure, CallFailure)):
                return more
            results |= more
        return self._compare(case, problem, results, returned.changed)

    def _results(self, case: KernelCase, returned: Returned) -> "dict[str, GivenArray] | Failure":
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
            array, expected = to_own_axes(name, part.array, case, self.interface.layout)
            if array is None:
                sentence = f"returns {name} of shape {part.array.shape}, not {expected}"
                return Failure("result", sentence, f"shape {name}")
            of_type = array if array.dtype.kind == "f" else array.astype(np.float64)
            results[name] = GivenArray(of_type, dtype=part.type if array.dtype.kind == "f" else None)
        return results

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
            results[name] = GivenArray(array, dtype=part.type)
        if not results:
            return Failure("result", "backward returns no gradient", "no gradient")
        return results

    def plain_results(self, case: KernelCase, returned: Mapping[str, GivenArray]) -> Mapping[str, GivenArray]:
        """Results in the axes of the plain problem: without those of heads and batch items where there is one of each."""
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
        largest_score = _largest(exact.value(SCORES)) if has_scores else 0.0
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
                return Failure("differs", f"returns a wrong {join_words(wrong)}", f"differs {cause}", results)
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
            more = of_scores * _largest(reference)
            if name.startswith(GRADIENT_PREFIX):  # whose terms may cancel, to 0 in one order and not in another
                more += UNITS * precision.epsilon * _size_of_terms(case, name.removeprefix(GRADIENT_PREFIX))
            allowed = tolerance.allowed(given, reference, None) + more
            if not tolerance.agrees(given, reference, allowed).all():
                return False
        return True

    def is_explained(self, case: KernelCase, failure: Failure, mistake: Explanation) -> bool:
        """Whether a mistake explains an input, too.

        One mistake is tried alone, with its number; a number that may be another one is looked for a few times.
        """
        problem, options = self.problem_of(case), self.options.check
        given = _telling_results(failure)
        is_backward = any(name.startswith(GRADIENT_PREFIX) for name in given)
        problem = problem.with_gradient() if is_backward else replace(problem, grad_output=None)
        if len(mistake.slips) == 1:
            quantities = read_expected(problem, given, options)
            checker = Checker(problem, compute_reference(problem, list(quantities), options), quantities, options)
            if is_explained_by(checker, mistake):
                return True
            if SLIPS[mistake.slips[0]].number is None:
                return False
        self.searches += 1
        if self.searches > MOST_SEARCHES:
            return False
        return any(found.slips == mistake.slips for found in self.explain(case, failure).explanations)

    def explain(self, case: KernelCase, failure: Failure) -> CheckReport:
        """The report of an input with the mistakes that explain it."""
        return check(self.problem_of(case), _telling_results(failure), replace(self.options.check, tries_slips=True))


def _telling_results(failure: Failure) -> Mapping[str, GivenArray]:
    """What mistakes are looked for in: not the log-sum-exp where the output is wrong too, for they often change one."""
    is_of_both = failure.cause == f"differs {OUTPUT}"
    return {name: found for name, found in failure.returned.items() if name != LSE or not is_of_both}


def _size_of_terms(case: KernelCase, key: str) -> float:
    """About how large the terms are that a gradient is the sum of."""
    query, keys, value, upstream = (_largest(case.arrays[name]) for name in (*LAID_OUT, "grad_output"))
    of_weights = upstream * value * case.sizes.value_features
    sizes = {"query": of_weights * keys, "key": of_weights * query, "value": upstream}
    return sizes.get(key, of_weights)


def _largest(array: Array) -> float:
    """The largest finite number."""
    return float(np.max(abs(array), initial=0, where=np.isfinite(array)))


def _differs_surely(given: Array, right: Array) -> bool:
    """Whether a number is so far from the right one that no rounding error is as large."""
    given = np.asarray(given, np.float64).reshape(right.shape)
    size = _largest(right)
    with np.errstate(invalid="ignore"):
        difference = abs(given - right)
    is_apart = np.isfinite(right) & ~(difference <= LARGE_PART * size)
    return bool(size and is_apart.any())


def _a(noun: str) -> str:
    return noun if noun == "None" else f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def _has_mask(problem: ProblemSpec) -> bool:
    """Whether any key of a problem hides keys."""
    keys = (problem.mask, problem.window, problem.key_lengths, problem.key_mask)
    return problem.causal or any(key is not None for key in keys)


def try_function(
    runner: Runner, interface: Interface, found: FunctionDescription, description: Description, options: TrialOptions
) -> TrialReport:
    """Try a function on inputs that reveal mistakes; the smallest on which it fails is made as small as can be.

    Raises AttnError where it can't be called as it should be, or refuses all inputs.
    """
    trial = Trial(runner, interface, description, options)
    _find_call(trial, found)
    scope = _find_scope(trial)
    return _run(trial, scope)


def _find_call(trial: Trial, found: FunctionDescription) -> None:
    """Find the library of the arrays, the layout and what is returned: as chosen, or with which the function works.

    The first with which it gives the right numbers is taken; otherwise of the PLAIN_LAYOUTS the first in which the
    output has the right shape, or else the first.
    """
    options = trial.options
    libraries = [options.library] if options.library else _libraries(found)
    layouts = [options.layout] if options.layout else _layouts(trial)
    candidates = [(library, layout) for library in libraries for layout in layouts]
    best: tuple[int, Interface] | None = None
    for library, layout in candidates:
        interface = replace(trial.interface, library=library, layout=layout)
        for dtype in ("float64", "float32") if trial.description.dtypes is None else trial.description.dtypes[:1]:
            quality, changed = _probe(trial, interface, dtype)
            if quality < 3:
                break
        counts = quality if quality < 2 else 2
        may_be_taken = best is None or layout in PLAIN_LAYOUTS or quality == 0
        if may_be_taken and (best is None or counts < best[0]):
            best = (counts, changed)
        if quality == 0:
            break
    assert best is not None
    trial.interface = best[1]
    if options.returns is not None:
        trial.interface = replace(trial.interface, returns=options.returns)
    how = "" if len(candidates) == 1 else ", found by trying"
    arrays = {TORCH: "PyTorch tensors", COMMAND: ".npz files"}.get(trial.interface.library, "NumPy arrays")
    own_layout = describe_layout(trial.interface.layout)
    trial.remarks.append(f"{trial.interface.signature}: {arrays}, {own_layout}{how}")


def _libraries(found: FunctionDescription) -> list[str]:
    """The libraries of arrays to try, the likelier first: by annotations, and by what the module imports."""
    annotations = first_annotation(found.parameters)
    if "torch" in annotations or "tensor" in annotations:
        return [TORCH]
    if "ndarray" in annotations or "numpy" in annotations:
        return [NUMPY]
    if found.uses_torch:
        return [NUMPY, TORCH] if found.uses_numpy and not found.uses_torch else [TORCH, NUMPY]
    return [NUMPY]


def _layouts(trial: Trial) -> list[str]:
    """The layouts to try, the likelier first; heads are side by side only where their number is known to the function."""
    knows_heads = "heads" in trial.interface.keys or trial.description.heads is not None
    return [layout for layout in ("bhnd", "hnd", NO_HEADS, "bnhd", "nhd") if layout in LAYOUTS] + (
        ["bnd"] if knows_heads else []
    )


def _probe(trial: Trial, interface: Interface, dtype: str) -> tuple[int, Interface]:
    """How well a call works: 0 the right numbers, 1 the right shape, 2 something else, 3 a failure."""
    scope = _first_scope(trial, interface)
    case = CaseMaker(scope).make(_sizes(PROBE, scope), dtype)
    before, trial.interface = trial.interface, interface
    try:
        problem = trial.problem_of(case)
        returned = trial.runner.call(interface.call(case, problem, trial.visible))
        if isinstance(returned, CallFailure):
            return 3, interface
        interface = replace(interface, returns=find_returns(returned, case, interface.layout) or (OUTPUT,))
        trial.interface = interface
        results = trial._results(case, returned)
        if isinstance(results, Failure):
            return 2, interface
        reference = _reference(problem, OUTPUT)
        output = results[OUTPUT].array if OUTPUT in results else None
        if output is None:
            return 2, interface
        size = _largest(reference)
        with np.errstate(all="ignore"):
            is_near = np.allclose(output.reshape(reference.shape), reference, rtol=0, atol=LOOSE * size, equal_nan=True)
        return (0 if is_near else 1), interface
    finally:
        trial.interface = before


def _reference(problem: ProblemSpec, name: str) -> Array:
    """What attn computes, [b h n e]."""
    found: Array = getattr(run(problem, name), name)
    return found


def _first_scope(trial: Trial, interface: Interface) -> Scope:
    """The scope before anything but the layout is known."""
    description, layout = trial.description, interface.layout
    has_batch = "b" in layout
    knows_heads = "h" in layout or "heads" in interface.keys or description.heads is not None
    knows_groups = bool({"kv_heads", "enable_gqa"} & interface.keys)
    if layout == NO_HEADS:
        heads = [(1, 1)]
    elif description.heads is not None or description.kv_heads is not None:
        kv_heads = description.kv_heads or description.heads or 1
        several = [description.heads] if description.heads else [2 * kv_heads, kv_heads, 3 * kv_heads]
        heads = [(count, kv_heads if description.kv_heads else count) for count in several]
    else:
        heads = [(2, 2), (1, 1), (3, 3)] if knows_heads else [(1, 1)]
        heads += [(4, 2), (2, 1), (6, 3), (6, 2)] if knows_groups and knows_heads else []
    return Scope(
        heads=heads,
        has_batch=has_batch,
        has_memories=interface.library != COMMAND,
        extras=_extras(trial, interface),
        needed=interface.needed,
        has_gradients=trial.options.is_backward,
    )


def _extras(trial: Trial, interface: Interface) -> Sequence[Any]:
    """The further arguments that are tried: those that the problem does not say already."""
    said = set(trial.description.document)
    return [extra for extra in interface.extras if extra not in said]


def _sizes(sizes: Sizes, scope: Scope) -> Sizes:
    """Sizes within a scope: the most different heads."""
    heads, kv_heads = max(scope.heads, key=lambda pair: (pair[0] == pair[1], pair)) if len(scope.heads) > 1 else scope.heads[0]
    return replace(sizes, batch=sizes.batch if scope.has_batch else 1, heads=heads, kv_heads=kv_heads)


def _find_scope(trial: Trial) -> Scope:
    """What inputs the function takes: the types, and values of another width than keys; what it does not take is said."""
    scope = _first_scope(trial, trial.interface)
    chosen = trial.description.dtypes
    dtypes = list(chosen or TYPES.get(trial.interface.library, TYPES[NUMPY]))
    maker = CaseMaker(scope)
    refused: dict[str, str] = {}
    for dtype in dtypes if chosen is None and len(dtypes) > 1 else ():
        found = _call(trial, maker.make(_sizes(PROBE, scope), dtype))
        if isinstance(found, CallFailure) and found.kind == "raised":
            refused[dtype] = found.sentence
    if len(refused) < len(dtypes):
        dtypes = [dtype for dtype in dtypes if dtype not in refused]
        trial.untried += [f"{dtype}: it {sentence}" for dtype, sentence in refused.items()]
    scope = replace(scope, dtypes=dtypes)
    same, wide = _sizes(PROBE, scope), replace(_sizes(PROBE, scope), value_features=PROBE.features + 2)
    usual = _output_of(trial, maker.make(same, dtypes[0]))
    if isinstance(usual, dict):
        other = _output_of(trial, maker.make(wide, dtypes[0]))
        if not isinstance(other, dict):
            trial.untried.append(f"values of another width than keys: it {other}")
            scope = replace(scope, has_other_value_features=False)
    return scope


def _call(trial: Trial, case: KernelCase) -> Returned | CallFailure:
    return trial.runner.call(trial.interface.call(case, trial.problem_of(case), trial.visible))


def _output_of(trial: Trial, case: KernelCase) -> "dict[str, GivenArray] | str":
    """What the function returns of an input, or why it is nothing."""
    returned = _call(trial, case)
    if isinstance(returned, CallFailure):
        return returned.sentence
    results = trial._results(case, returned)
    return results.sentence if isinstance(results, Failure) else results


def _cases(trial: Trial, scope: Scope) -> list[KernelCase]:
    maker = CaseMaker(scope, trial.options.seed)
    given = [] if trial.description.given is None else [trial.description.given]
    return [*given, *maker.systematic(), *maker.drawn(trial.options.inputs)]


def _run(trial: Trial, scope: Scope) -> TrialReport:
    """Try all inputs, and make one that fails small."""
    cases = _cases(trial, scope)
    failures: list[tuple[KernelCase, Failure]] = []
    refusals: dict[str, int] = {}
    count, ended, is_stopped = 0, 0, False
    for done, case in enumerate(cases):
        trial.options.progress(done, len(cases))
        found = trial.judge(case)
        if isinstance(found, CallFailure):
            refusals[found.sentence] = refusals.get(found.sentence, 0) + 1
            continue
        count += 1
        if found is not None:
            failures.append((case, found))
            ended += found.kind in ("crashed", "timeout")
        is_stopped = ended >= MOST_ENDED or len(failures) >= MOST_FAILURES
        if is_stopped:
            break
    if not count:
        sentence = next(iter(refusals), "returns nothing")
        raise AttnError(f"it refuses every input: it {sentence}", where=trial.interface.function, hint=_call_hint(trial))
    trial.untried += [f"{count_of(number, 'input')}: it {sentence}" for sentence, number in refusals.items()]
    report = _report(trial, scope, count, len(failures))
    report = replace(report, is_stopped=is_stopped)
    return report if not failures else _with_smallest(trial, scope, report, failures)


def _call_hint(trial: Trial) -> str:
    return "--layout and --arrays say how it takes its arguments"


def _report(trial: Trial, scope: Scope, count: int, failed: int) -> TrialReport:
    """The report without the failures."""
    interface = trial.interface
    keys = [key for key in trial.description.document if key not in ("heads", "kv_heads")]
    given, own = parameters_said(interface, keys)
    called = list(trial.remarks)
    if given:
        called.append(f"given {join_words(given)}")
    if own:
        called.append(f"{join_words(own)}: the function's own, for no parameter takes {'it' if len(own) == 1 else 'them'}")
    if interface.left:
        called.append(f"left at their defaults: {', '.join(interface.left)}")
    compared = [name for name in interface.returns if name]
    compared += [f"{GRADIENT_PREFIX}{key}" for key in interface.gradients]
    untried = list(trial.untried)
    if all(heads == kv_heads for heads, kv_heads in scope.heads) and interface.layout != NO_HEADS:
        untried.append("fewer heads of keys than of queries: --kv-heads says so")
    return TrialReport(
        interface.function,
        called,
        tuple(scope.dtypes),
        interface.layout,
        interface.library,
        count,
        failed,
        untried,
        compared=tuple(compared),
    )


def _with_smallest(
    trial: Trial, scope: Scope, report: TrialReport, failures: Sequence[tuple[KernelCase, Failure]]
) -> TrialReport:
    """The report with the smallest input of the most telling failure, the mistakes that explain it, and the others."""
    kind = next(kind for kind in KINDS if any(failure.kind == kind for _, failure in failures))
    ordered = sorted((x for x in failures if x[1].kind == kind), key=lambda x: (_order_of(x[0]), x[0].count))
    explanations, explained = _find_mistakes(trial, ordered) if kind == "differs" else ((), None)
    case, failure = explained or ordered[0]
    case = _shrunk(trial, scope, case, failure, explanations)
    found = trial.judge(case)
    is_repeated = isinstance(found, Failure)
    failure = found if isinstance(found, Failure) else failure
    printed = trial.runner.printed
    plain = trial.problem_of(case, is_plain=True)
    if failure.returned:
        explanations = tuple(x for x in explanations if not case.memory and trial.is_explained(case, failure, x))
        failure = replace(failure, returned=trial.plain_results(case, failure.returned))
        own = check(plain, failure.returned, replace(trial.options.check, tries_slips=False))
        failure = replace(failure, report=own)
    if not is_repeated:
        report = replace(report, untried=[*report.untried, "what it gives is not the same in every call"])
    others = _others(failures, failure.cause)
    return replace(
        report,
        smallest=Smallest(case, plain, failure, printed),
        explanations=explanations,
        others=others,
    )


def _order_of(case: KernelCase) -> int:
    """The wider the type the less does rounding hide."""
    return ("float64", "float32", "float16", "bfloat16").index(case.dtype) > 1


def _others(failures: Sequence[tuple[KernelCase, Failure]], cause: str) -> tuple[OtherFailure, ...]:
    """The failures for another cause, once for each."""
    by_cause: dict[str, list[tuple[KernelCase, Failure]]] = {}
    for case, failure in failures:
        if failure.cause != cause:
            by_cause.setdefault(failure.cause, []).append((case, failure))
    found = []
    for group in by_cause.values():
        case, failure = min(group, key=lambda one: one[0].count)
        found.append(OtherFailure(failure.kind, failure.sentence, len(group), case.sizes))
    return tuple(found)


def _find_mistakes(
    trial: Trial, ordered: Sequence[tuple[KernelCase, Failure]]
) -> tuple[tuple[Explanation, ...], tuple[KernelCase, Failure] | None]:
    """The mistakes that explain several inputs, and the smallest of these inputs."""
    rich = [x for x in ordered if _number_count(x[1]) >= ENOUGH_NUMBERS] or list(ordered)
    rich.sort(key=lambda x: bool(x[0].memory))
    rich = [x for x in rich if x[0].memory == rich[0][0].memory]
    common: tuple[Explanation, ...] = ()
    first: tuple[KernelCase, Failure] | None = None
    chosen = dict.fromkeys(round(at * (len(rich) - 1) / (NAMED_INPUTS - 1)) for at in range(NAMED_INPUTS))
    for case, failure in (rich[at] for at in chosen):
        found = trial.explain(case, failure).explanations
        if not found:
            continue
        kept = tuple(x for x in common if any(x.slips == other.slips for other in found)) if common else found
        if kept:
            common, first = kept, first or (case, failure)
    return common, first


def _number_count(failure: Failure) -> int:
    return sum(array.array.size for array in failure.returned.values())


def _shrunk(
    trial: Trial, scope: Scope, case: KernelCase, failure: Failure, mistakes: Sequence[Explanation]
) -> KernelCase:
    """The smallest input on which the function fails for the same cause, and by the same mistakes where one is named."""
    is_slow = failure.kind in ("crashed", "timeout")
    end = time.monotonic() + (SLOW_SHRINK_SECONDS if is_slow else SHRINK_SECONDS)

    def fails(smaller: KernelCase) -> bool:
        try:
            found = trial.judge(smaller)
        except AttnError:  # no problem of attn's, such as a window of no keys
            return False
        if not isinstance(found, Failure) or (found.kind, found.cause) != (failure.kind, failure.cause):
            return False
        return not mistakes or any(trial.is_explained(smaller, found, mistake) for mistake in mistakes)

    letters = "".join(letter for letter in "bhnmde" if letter != "h" or _may_have_other_heads(trial))
    shrinker = Shrinker(
        fails,
        lambda: time.monotonic() < end and shrinker.tried < MOST_SHRINKS,
        letters,
        scope.dtypes,
        scope.needed,
        not scope.has_other_value_features,
    )
    return shrinker.shrink(case)


def _may_have_other_heads(trial: Trial) -> bool:
    """Whether the numbers of heads are not what the user has said."""
    return trial.description.heads is None and trial.description.kv_heads is None
