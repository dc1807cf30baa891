"""Discriminating test problems: drawn so that every mistake that applies changes the output."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from attncli.analysis.check.check import check
from attncli.analysis.check.report import CheckOptions, Explanation
from attncli.analysis.check.tolerance import in_type
from attncli.analysis.hand_problems import MissingKeys, with_missing
from attncli.analysis.slips.search import attempts, own_attempt, run_attempt
from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import HALF
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.engine.run import run
from attncli.io.assemble import assemble
from attncli.io.origin import Origin, RawValue
from attncli.io.problem_files import Document
from attncli.ops.initializers import randint, stream
from attncli.problem.convert.arrays import LabelledArray
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


EXCESS = 1.1  # how much larger than what overflows the largest score is, at least
NEARLY = 0.9  # the part of a softcap that scores are beyond
PROBE = 2.0**10  # rows are compared at this loudness
LOUDNESS = [1.4**step for step in range(70)]
KEY_WEIGHTS = ("w_k", "w_v")


@dataclass(frozen=True)
class _LoudArray:
    """The array whose rows are or become queries; of embeddings the one feature that keys and values do not read."""

    name: str
    feature: int | None = None

    def keys(self, problem: ProblemSpec, rows: Sequence[int], loudness: float) -> Document:
        """The keys that make queries at some rows so loud."""
        if self.feature is None:
            array = getattr(problem, self.name).copy()
            array[..., rows, :] *= loudness
            return {self.name: _given(array)}
        keys = self._embeddings(problem, rows, loudness, self.feature)
        for name in KEY_WEIGHTS:
            weights = getattr(problem, name).copy()
            weights[self.feature] = 0
            keys[name] = _given(weights.T if problem.weight_layout == "out_in" else weights)
        return keys

    def _embeddings(self, problem: ProblemSpec, rows: Sequence[int], loudness: float, feature: int) -> Document:
        """The embeddings of some rows with a loud feature; those of a sentence as the vectors of its words."""
        if problem.vocabulary is None:
            array = getattr(problem, self.name).copy()
            array[..., rows, feature] = loudness
            return {self.name: _given(array)}
        assert problem.embeddings is not None
        vocabulary = {word: vector.copy() for word, vector in problem.vocabulary.items()}
        for vector in vocabulary.values():
            if any(np.array_equal(vector, problem.embeddings[row]) for row in rows):
                vector[feature] = loudness
        return {"vocabulary": RawValue({word: vector.tolist() for word, vector in vocabulary.items()}, Origin())}


def with_loud_query(document: Document) -> Document:
    """The keys of a problem in which one query is so large that exponentials of its scores overflow or vanish.

    It is the query whose largest score is farthest from its next, so that one key has all of its weight, and rounding
    does not change it. Where a softcap bounds the scores, it is one whose scores are all near the negative softcap, as
    those of masked keys are where the softcap comes after the mask. The keys stay as they are where no array of queries
    is drawn, and where no query is loud enough.
    """
    problem = assemble(document)
    array = _loud_array(problem)
    if array is None:
        return document
    every_row = range(getattr(problem, array.name).shape[-2])

    def scores(rows: Sequence[int], loudness: float) -> Array:
        """The masked scores where some rows are so loud."""
        values: Array = run(assemble(document | array.keys(problem, rows, loudness)), "masked_scores").masked_scores
        return values

    limit = EXCESS * _overflowing_score(problem)
    if problem.softcap is not None and problem.softcap < limit:
        bound = -NEARLY * problem.softcap
        rows = {sign: _row_below(scores(every_row, sign * PROBE), bound, problem.seed or 0) for sign in (1, -1)}
        sign = 1 if rows[1] is not None else -1
        row = rows[sign]
        reaches: Callable[[Array], Array] = partial(_is_below, bound=bound)
    else:
        sign, row = 1, _row_of_clearest_key(scores(every_row, PROBE))
        reaches = partial(_is_beyond, limit=limit)
    if row is None:
        return document
    for loudness in LOUDNESS:
        if reaches(scores([row], sign * loudness))[..., row].any():
            changed = document | array.keys(problem, [row], sign * loudness)
            unread = assemble(changed).unread.keys() - problem.unread.keys()  # the sizes of what is drawn no longer
            return {key: raw for key, raw in changed.items() if key not in unread}
    return document


def _loud_array(problem: ProblemSpec) -> _LoudArray | None:
    """The drawn array in which a query can be loud; None where there is none."""
    drawn = problem.generators
    for name in ("scores", "query", "query_embeddings"):
        if getattr(problem, name) is not None:
            return _LoudArray(name) if name in drawn else None
    source = "embeddings" if problem.vocabulary is None else "vocabulary"
    if not {source, *KEY_WEIGHTS} <= drawn.keys() or problem.only is not None:
        return None
    features = problem.lengths["x"]
    return _LoudArray("embeddings", features - 1) if features > 1 else None


def _is_below(scores: Array, bound: float) -> Array:
    """Which rows [… n] have no visible score above a bound."""
    below: Array = scores.max(axis=-1) < bound
    return below


def _is_beyond(scores: Array, limit: float) -> Array:
    """Which rows [… n] have a largest visible score so far from 0."""
    largest = scores.max(axis=-1)
    beyond: Array = np.isfinite(largest) & (abs(largest) > limit)
    return beyond


def _row_below(scores: Array, bound: float, number: int) -> int | None:
    """One of the rows with masked keys whose visible scores are all below a bound, in some head; None without any."""
    largest = scores.max(axis=-1)
    fits = (largest < bound) & np.isfinite(largest) & (scores == -np.inf).any(axis=-1)
    rows = np.flatnonzero(fits.reshape(-1, fits.shape[-1]).any(axis=0))
    return int(rows[number % rows.size]) if rows.size else None


def _row_of_clearest_key(scores: Array) -> int:
    """The query whose largest score is farthest from the next one, in proportion, in the head where it is nearest."""
    rows = np.moveaxis(scores, -2, 0).reshape(scores.shape[-2], -1, scores.shape[-1])
    ordered = np.sort(rows, axis=-1)
    with np.errstate(invalid="ignore"):
        size = abs(np.where(np.isfinite(rows), rows, 0)).max(axis=-1)
        next_largest = ordered[..., -2] if rows.shape[-1] > 1 else np.full(size.shape, -np.inf)
        gaps = (ordered[..., -1] - next_largest) / np.where(size == 0, 1, size)
    return int(np.nan_to_num(gaps, nan=0.0, posinf=np.inf).min(axis=-1).argmax())


def _overflowing_score(problem: ProblemSpec) -> float:
    """The score whose exponential overflows in the type; in float32, which kernels compute in, for half types."""
    name = "float32" if problem.precision.name in HALF else problem.precision.name
    temperature: float = problem.normalize.parameters.get("temperature", 1.0)
    return float(np.log(np.finfo(name).max)) * temperature


def _given(array: Array) -> RawValue:
    """An array as a value of a document."""
    return RawValue(LabelledArray(array), Origin())
