"""Problems whose inputs tell: drawn so that every slip in them shows, at the tolerance of their type."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from attncli.analysis.check.check import check
from attncli.analysis.check.options import CheckOptions
from attncli.analysis.check.report import Explanation
from attncli.analysis.check.rounding import in_type
from attncli.analysis.loud_query import with_loud_query
from attncli.analysis.missing_keys import MissingKeys, with_missing
from attncli.analysis.slips import attempts, run_attempt
from attncli.analysis.slips.attempts import own_attempt
from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.engine.run import run
from attncli.io.assemble import assemble
from attncli.io.origin import Origin, RawValue
from attncli.io.problem_files import Document
from attncli.ops.initializers import randint, stream
from attncli.problem.spec import ProblemSpec

# Projections keep the size of what they project: scores are about as large as normal numbers, and softmax is neither
# flat nor one-hot.
EMBEDDINGS, MATRICES = "normal", "xavier_normal"
GAINS = (1.0, 1.5, 2.0, 0.7)  # of the projections, one after another
MISSING = MissingKeys(EMBEDDINGS, MATRICES, {"seed": 1}, tokens=8, features=8, features_per_head=8)
MAX_DRAWS = 40
ENOUGH_DRAWS = 8  # where a slip changes no number in any of so many, none will show it
ROUNDING = 1e-14  # in float64: no type that is drawn for shows less
OPTION, RESULT = "--telling", "output"


@dataclass(frozen=True)
class TellingProblem:
    """The keys of a problem, and the slips that no draw shows, because they change none of its numbers."""

    document: Document
    never_shown: tuple[Explanation, ...]

    @property
    def warnings(self) -> Sequence[str]:
        """A sentence for each slip that no draw has shown."""
        return [
            f"{slip.slips[0]} would go unnoticed, because it changes no number of this problem: {slip.sentence}"
            for slip in self.never_shown
        ]


def choose(document: Document) -> TellingProblem:
    """The keys of a problem on whose inputs every slip shows that can be made in it, judged by its output.

    What is missing is chosen; then seeds, and where a query is so large that its exponentials overflow without the
    maximum of the row. The seeds that are tried follow from that of the document. Raises AttnError where nothing is
    drawn, or where in each of MAX_DRAWS draws a slip would go unnoticed.
    """
    is_init_given = "init" in document
    document = with_missing(document, MISSING)
    problem = assemble(document)
    if not any(generator.record.is_drawn for generator in problem.generators.values()):
        raise AttnError("every array is given, so nothing is drawn", where=OPTION, hint="leave out some of them")
    best: TellingProblem | None = None
    hidden: Sequence[Explanation] = ()
    for number, draw in enumerate(_draws(document, problem, () if is_init_given else GAINS), 1):
        found = _unnoticed(assemble(draw))
        if found is not None and found.hidden:
            hidden = found.hidden if not hidden or len(found.hidden) < len(hidden) else hidden
        elif found is not None and (best is None or len(found.never_shown) < len(best.never_shown)):
            best = TellingProblem(draw, found.never_shown)
        if best is not None and (not best.never_shown or number >= ENOUGH_DRAWS):
            break
    if best is None:
        raise _no_draw(hidden)
    return best


def _no_draw(hidden: Sequence[Explanation]) -> AttnError:
    """The error where none of the draws will do: in the best of them these slips would go unnoticed."""
    hint = "take more tokens or features, another seed, or a wider dtype"
    if not hidden:
        return AttnError(f"in {MAX_DRAWS} draws the output is never finite", where=OPTION, hint=hint)
    names = ", ".join(dict.fromkeys(explanation.slips[0] for explanation in hidden))
    message = f"in each of {MAX_DRAWS} draws a slip would go unnoticed, in the best of them {names}"
    return AttnError(message, where=OPTION, hint=hint)


def _draws(document: Document, problem: ProblemSpec, gains: Sequence[float]) -> Iterator[Document]:
    """The problem with one seed after another."""
    name: Any = problem.generator  # of a stream, as `assemble` has checked
    assert problem.seed is not None
    seeds = randint(stream(name, problem.seed), (MAX_DRAWS - 1,), high=2**31).astype(int).tolist()
    for number, seed in enumerate((problem.seed, *seeds)):
        drawn = document | {"seed": replace(document["seed"], value=seed)}
        if gains:
            drawn["init"] = RawValue({MATRICES: {"gain": gains[number % len(gains)]}}, Origin())
        yield with_loud_query(drawn)


@dataclass(frozen=True)
class _Unnoticed:
    """The slips that a check of a draw does not notice: those that change numbers too little, or no number."""

    hidden: tuple[Explanation, ...]
    never_shown: tuple[Explanation, ...]


def _unnoticed(problem: ProblemSpec) -> _Unnoticed | None:
    """The slips that a check of the output would not notice; None where the output is not finite."""
    output: Array = getattr(run(problem, RESULT), RESULT)
    if not np.isfinite(output).all():
        return None
    report = check(problem, {RESULT: output}, CheckOptions(finds_unnoticed=True, tries_slips=False))
    unnoticed = report.unnoticed or ()
    exact, dtype = in_type(problem, "float64"), problem.precision.name
    ours = run_attempt(own_attempt(exact), [RESULT])[RESULT]
    same = {
        (attempt.slips, attempt.sentence)
        for attempt in (attempts(exact, dtype) if unnoticed else ())
        if _is_same(run_attempt(attempt, [RESULT]).get(RESULT, np.empty(0)), ours)
    }
    never_shown = tuple(found for found in unnoticed if (found.slips, found.sentence) in same)
    return _Unnoticed(tuple(found for found in unnoticed if found not in never_shown), never_shown)


def _is_same(x: Array, ours: Array) -> bool:
    """Whether numbers are ours but for rounding in float64: a maximum that is not subtracted moves the last digit."""
    return x.shape == ours.shape and np.allclose(x, ours, rtol=ROUNDING, atol=ROUNDING * float(abs(ours).max()))
