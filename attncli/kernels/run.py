"""The run of a trial: every input, and one that fails made as small as can be, with the mistake that explains it."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from attncli.base.errors import AttnError
from attncli.base.text import count_of, join_words
from attncli.checks.check import check
from attncli.checks.report import Explanation
from attncli.io.problem_files import Origin, RawValue
from attncli.kernels.borders import find_domain, find_precision
from attncli.kernels.calls import NO_HEADS, PASSED_KEYS, Interface, parameters_said
from attncli.kernels.cases import CaseMaker, KernelCase
from attncli.kernels.chosen_tolerance import find_passed
from attncli.kernels.domain import Domain
from attncli.kernels.laws import try_laws
from attncli.kernels.probing import find_call, find_mask, hint_of
from attncli.kernels.process import CallFailure, FunctionDescription, Runner
from attncli.kernels.report import LEAST_TELLING, Failure, Kind, OtherFailure, Smallest, TrialReport
from attncli.kernels.shrink import Shrinker
from attncli.kernels.trial import COMMAND, Description, Trial, TrialOptions
from attncli.problem.conventions import CONVENTIONS
from attncli.problem.fields import GRADIENT_PREFIX, option_name
from attncli.problem.spec import DEFAULTS, FIELDS

CALL_HINT = "--layout and --arrays say how it takes its arguments"
LEAST_TILE = 16  # keys, or those of which the function takes multiples
MOST_FAILURES = 50  # then no other inputs are tried
MOST_ENDED = 4  # calls that end the process or the time: then no other inputs are tried
TRY_SECONDS = 45.0  # after which no other inputs are tried where enough were
SHRINK_SECONDS = 15.0
MOST_SHRINKS = 4000  # inputs that are tried to make one smaller
NAMED_INPUTS = 3  # on which mistakes are looked for
ENOUGH_INPUTS = 2  # of these, which a mistake is to explain
ENOUGH_NUMBERS = 12  # in what is returned, for a mistake to be told from others
# The failure that is made small: of those with numbers, which say most, the one on most inputs; else the first.
NUMERIC: Sequence[Kind] = ("differs", "not_finite")  # of these a mistake may be named
KINDS: Sequence[Kind] = ("result", "raised", "changed", "crashed", "timeout")


def try_function(
    runner: Runner, interface: Interface, found: FunctionDescription, description: Description, options: TrialOptions
) -> TrialReport:
    """Try a function on inputs that reveal mistakes; the smallest on which it fails is made as small as can be.

    Raises AttnError where it can't be called as it should be, or refuses all inputs.
    """
    if options.library != COMMAND:  # what a program has built in is said by the options
        _check_is_passed(interface, found, description)
    trial = Trial(runner, interface, description, options)
    find_call(trial, found)
    find_mask(trial)
    domain = find_domain(trial)
    find_precision(trial, domain)
    if options.laws:
        return _laws_report(trial, domain)
    return _run(trial, domain)


def _check_is_passed(interface: Interface, found: FunctionDescription, description: Description) -> None:
    """Raise AttnError where a key may be an argument of a function that says nothing of its parameters."""
    if any(not one.takes_any for one in found.parameters or ()):
        return
    keys = [key for key in description.document if key in PASSED_KEYS]
    if keys:
        names = join_words(keys)
        message = f"does not say what its parameters are, so {names} can't be passed"
        hint = f"write a function (query, key, value) that calls it with {names}"
        raise AttnError(message, where=interface.function, hint=hint)


def _laws_report(trial: Trial, domain: Domain) -> TrialReport:
    """The report on the laws alone, which need no reference."""
    laws = try_laws(trial, domain)
    tried = [law for law in laws if law.holds is not None]
    return replace(_report(trial, domain, len(tried), sum(not law.holds for law in tried)), laws=laws)


def _cases(trial: Trial, domain: Domain) -> list[KernelCase]:
    maker = CaseMaker(domain, trial.options.seed)
    own = trial.description.given
    own = own if own is None or trial.options.is_backward else own.without("grad_output")
    given = [] if own is None else [own]
    made = [*maker.systematic(), *maker.drawn(trial.options.inputs)]
    if not domain.has_empty_rows:  # a mask of −∞ alone that is added to the scores of a query
        kept = [case for case in made if "mask" not in case.arrays or not trial.has_empty_row(case)]
        if "mask" in domain.extras:
            trial.untried.append("queries that see no key, whose masks are −∞ alone: --empty-rows nan or zeros says so")
        made = kept
    return [*given, *(sorted(made, key=lambda case: not _is_telling(case, domain)) if trial.is_slow else made)]


def _run(trial: Trial, domain: Domain) -> TrialReport:
    """Try all inputs, and make one that fails small."""
    cases = _cases(trial, domain)
    failures: list[tuple[KernelCase, Failure]] = []
    refusals: dict[str, int] = {}
    count, telling, telling_failures, ended = 0, 0, 0, 0
    is_stopped = is_interrupted = False
    end = time.monotonic() + TRY_SECONDS
    for done, case in enumerate(cases):
        trial.options.progress(done, len(cases))
        try:
            found = trial.judge(case)
        except KeyboardInterrupt:  # what was found so far is shown
            if not count:
                raise
            is_stopped = is_interrupted = True
            break
        if isinstance(found, CallFailure):
            refusals[found.sentence] = refusals.get(found.sentence, 0) + 1
            continue
        count += 1
        telling += _is_telling(case, domain)
        if found is not None:
            failures.append((case, found))
            ended += found.kind in ("crashed", "timeout")
        if found is not None and found.returned:
            telling_failures += _is_telling(case, domain)
        is_enough = telling_failures >= NAMED_INPUTS or len(failures) >= 2 * MOST_FAILURES
        is_stopped = ended >= MOST_ENDED or (len(failures) >= MOST_FAILURES and is_enough)
        is_late = time.monotonic() > end and telling >= LEAST_TELLING and done + 1 < len(cases)
        if is_late:
            trial.untried.append(f"{count_of(len(cases) - done - 1, 'more input')}, after {TRY_SECONDS:g} s")
        if is_stopped or is_late:
            break
    if not count:
        sentence = next(iter(refusals), "returns nothing")
        hint = hint_of(sentence, CALL_HINT)
        raise AttnError(f"it refuses every input: it {sentence}", where=trial.interface.function, hint=hint)
    trial.untried += [f"{count_of(number, 'input')}: it {sentence}" for sentence, number in refusals.items()]
    report = _report(trial, domain, count, len(failures))
    passed = find_passed(trial, cases[:count], report.compared)
    report = replace(report, is_stopped=is_stopped, is_interrupted=is_interrupted, telling=telling, passed=passed)
    return report if not failures else _with_smallest(trial, domain, report, failures)


def _is_telling(case: KernelCase, domain: Domain) -> bool:
    """Whether an input has several tiles of keys, and several heads or batch items where the function has any."""
    sizes = case.sizes
    has_others = domain.has_batch or max(domain.heads) > (1, 1)
    return sizes.keys > max(LEAST_TILE, domain.keys.step) and (sizes.batch * sizes.heads > 1 or not has_others)


def _report(trial: Trial, domain: Domain, count: int, failed: int) -> TrialReport:
    """The report without the failures."""
    interface = trial.interface
    keys = [key for key in trial.description.document if key not in ("heads", "kv_heads")]
    given, own = parameters_said(interface, keys)
    called = list(trial.remarks)
    if given:
        called.append(f"given {join_words(given)}")
    if own:
        called.append(
            f"{join_words(own)}: the function's own, for no parameter takes {'it' if len(own) == 1 else 'them'}"
        )
    if interface.left:
        called.append(f"left at their defaults: {', '.join(interface.left)}")
    compared = [name for name in interface.returns if name]
    compared += [f"{GRADIENT_PREFIX}{key}" for key in interface.gradients]
    untried = list(trial.untried)
    if "causal" in interface.keys and not any(key in trial.description.document for key in ("causal", "window")):
        untried.append("a causal mask: --causal says so")
    if all(heads == kv_heads for heads, kv_heads in domain.heads) and interface.layout != NO_HEADS:
        untried.append("fewer heads of keys than of queries: --kv-heads says so")
    return TrialReport(
        interface.function,
        called,
        domain,
        interface.layout,
        interface.library,
        count,
        failed,
        untried,
        compared=tuple(compared),
    )


def _with_smallest(
    trial: Trial, domain: Domain, report: TrialReport, failures: Sequence[tuple[KernelCase, Failure]]
) -> TrialReport:
    """The report with the smallest input of the most telling failure, the mistakes that explain it, and the others."""
    counts = Counter(failure.kind for _, failure in failures)
    kind = next((kind for kind, _ in counts.most_common() if kind in NUMERIC), None)
    kind = kind or next(kind for kind in KINDS if kind in counts)
    ordered = sorted((x for x in failures if x[1].kind == kind), key=lambda x: (_order_of(x[0]), x[0].count))
    explanations, explained = _find_mistakes(trial, ordered) if kind in NUMERIC else ((), None)
    case, failure = explained or ordered[0]
    case, failure = _shrunk(trial, domain, case, failure, explanations)
    again = trial.judge(case)
    is_repeated = isinstance(again, Failure) and again.cause == failure.cause
    printed = trial.runner.printed
    plain = trial.problem_of(case, is_plain=True)
    if failure.returned:
        same = [trial.explained_by(case, failure, one) for one in explanations if not case.memory]
        explanations = tuple(one for one in same if one is not None)
        failure = replace(failure, returned=trial.plain_results(case, failure.returned))
        own = check(plain, failure.returned, replace(trial.options.check, tries_slips=False))
        failure = replace(failure, report=own)
    if not is_repeated:
        report = replace(report, untried=[*report.untried, "what it gives is not the same in every call"])
    others = _others(failures, failure.cause)
    return replace(
        report,
        smallest=Smallest(case, plain, failure, printed, trial.has_empty_row(case)),
        explanations=explanations,
        others=others,
        right_with=_right_with(trial, [case for case, failure in failures if failure.kind in NUMERIC]),
    )


def _right_with(trial: Trial, cases: Sequence[KernelCase]) -> tuple[str, ...]:
    """The options by which the function is right on all inputs on which it gives wrong numbers.

    One of rows without keys or of causal masks alone, or else a convention, which may be the function's but for such
    rows. A function that fails on views alone is right with contiguous arrays.
    """
    description = trial.description
    if not cases or description.convention is not None:
        return ()

    def is_right(convention: str | None, **keys: str) -> bool:
        document = {**description.document, **{key: RawValue(value, Origin()) for key, value in keys.items()}}
        with_it = replace(trial, description=replace(description, convention=convention, document=document))
        return all(with_it.judge(case) is None for case in cases)

    for key in ("empty_rows", "align"):
        others = [word for word in FIELDS[key].words if word != DEFAULTS[key] and key not in description.document]
        right = next((word for word in others if is_right(None, **{key: word})), None)
        if right is not None:
            return (f"{option_name(key)} {right}",)
    if all(case.memory for case in cases) and all(trial.judge(replace(case, memory="")) is None for case in cases):
        return ("contiguous arrays",)
    found = []
    usual = str(DEFAULTS["empty_rows"])
    for name in CONVENTIONS:
        if is_right(name):
            found.append(f"--as {name}")
        elif is_right(name, empty_rows=usual):
            found.append(f"--as {name} --empty-rows {usual}")
    return tuple(found)


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
    places = dict.fromkeys(round(at * (len(rich) - 1) / (NAMED_INPUTS - 1)) for at in range(NAMED_INPUTS))
    chosen = [rich[at] for at in places]
    candidates: dict[tuple[str, ...], Explanation] = {}
    of_largest: list[tuple[str, ...]] = []
    for case, failure in chosen:
        own = trial.explain(case, failure).explanations
        of_largest = [found.slips for found in own]
        for found in own:
            candidates.setdefault(found.slips, found)
    kept = []
    for mistake in candidates.values():
        explained = [one for one in chosen if trial.explained_by(*one, mistake) is not None]
        # One alone may be explained by chance; in one tile or head mistakes look alike, so the largest decides.
        is_of_largest = any({*mistake.slips} <= {*slips} for slips in of_largest)  # with another one, or alone
        if len(explained) >= min(ENOUGH_INPUTS, len(chosen)) and (is_of_largest or explained[-1] is chosen[-1]):
            kept.append((mistake, explained))
    most = max((len(explained) for _, explained in kept), default=0)
    common = [(mistake, explained) for mistake, explained in kept if len(explained) == most]
    return tuple(mistake for mistake, _ in common), common[0][1][0] if common else None


def _number_count(failure: Failure) -> int:
    return sum(array.array.size for array in failure.returned.values())


def _shrunk(
    trial: Trial, domain: Domain, case: KernelCase, failure: Failure, mistakes: Sequence[Explanation]
) -> tuple[KernelCase, Failure]:
    """The smallest input on which the function fails for the same cause, by the same mistake if any, and how it fails.

    What the function gave in that call is kept: a function that draws numbers may give others the next time.
    """
    latest = {id(case): (case, failure)}
    end = time.monotonic() + SHRINK_SECONDS

    def fails(smaller: KernelCase) -> bool:
        if not domain.takes(smaller.sizes):
            return False
        try:
            found = trial.judge(smaller)
        except AttnError:  # no problem of attn's, such as a window of no keys
            return False
        if not isinstance(found, Failure) or (found.kind, found.cause) != (failure.kind, failure.cause):
            return False
        if mistakes and all(trial.explained_by(smaller, found, mistake) is None for mistake in mistakes):
            return False
        latest[id(smaller)] = smaller, found
        return True

    is_square = domain.order.startswith("same") and case.sizes.queries == case.sizes.keys
    letters = "".join(letter for letter in "bhnmde" if letter != "h" or _may_have_other_heads(trial))
    shrinker = Shrinker(
        fails,
        lambda: time.monotonic() < end and shrinker.tried < MOST_SHRINKS,
        letters,
        domain.dtypes,
        domain.needed,
        [
            *([] if domain.has_other_value_features else ["de"]),
            *(["nm"] if is_square or domain.have_same_bounds else []),
        ],
    )
    return latest[id(shrinker.shrink(case))]


def _may_have_other_heads(trial: Trial) -> bool:
    """Whether the numbers of heads are not what the user has said."""
    return trial.description.heads is None and trial.description.kv_heads is None
