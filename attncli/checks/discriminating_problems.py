"""Discriminating test problems: every mistake that applies changes the output, and one query overflows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from attncli.base.dtypes import HALF
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.checks.check import check
from attncli.checks.report import CheckOptions, Explanation
from attncli.checks.slips.search import attempts, own_attempt, run_attempt
from attncli.checks.tolerance import in_type
from attncli.engine.run import run
from attncli.io.assemble import assemble
from attncli.io.problem_files import Document, Origin, RawValue
from attncli.problem.arrays import GivenArray
from attncli.problem.layout import LAID_OUT, as_given
from attncli.problem.spec import ProblemSpec
from attncli.worksheet.hand_problems import MissingKeys, with_missing, with_other_seeds

# Projections preserve the size of their input: scores are about as large as normal numbers, and softmax is neither flat
# nor one-hot.
MATRICES = "xavier_normal"
MATRIX_GAINS = (1.0, 1.5, 2.0, 0.7)  # gains of the projections, tried in turn
MISSING = MissingKeys("normal", MATRICES, {"seed": 1}, tokens=8, features=8, features_per_head=8)
MAX_DRAWS = 40
ENOUGH_DRAWS = 8  # if a slip changes no number in any of so many draws, none will show it
ROUNDING = 1e-14  # in float64: no other drawn type shows less
OPTION, RESULT = "--telling", "output"

EXCESS = 1.1  # the least ratio of the largest score to the least that overflows
NEARLY = 0.9  # the share of a softcap that scores exceed
PROBE = 2.0**10  # rows are compared at this gain
QUERY_GAINS = [1.4**step for step in range(70)]
KEY_WEIGHTS = ("w_k", "w_v")


@dataclass(frozen=True)
class DiscriminatingProblem:
    """The keys of a problem, and the slips that no draw shows, because they change none of its numbers."""

    document: Document
    never_shown: tuple[Explanation, ...]

    @property
    def warnings(self) -> Sequence[str]:
        """A sentence for each slip that no draw shows."""
        return [
            f"{slip.slips[0]} can't be revealed: it changes no number of this problem: {slip.sentence}"
            for slip in self.never_shown
        ]


def choose(document: Document) -> DiscriminatingProblem:
    """The keys of a problem whose output reveals every slip that applies to it.

    It chooses missing keys, then seeds, and a query so large that its exponentials overflow unless the row's maximum is
    subtracted. The seeds follow from the document's. Raises AttnError if nothing is drawn, or if a slip goes unnoticed
    in each of MAX_DRAWS draws.
    """
    gains = () if "init" in document else MATRIX_GAINS
    document, problem = with_missing(document, MISSING, OPTION)
    best: DiscriminatingProblem | None = None
    hidden: Sequence[Explanation] = ()
    for number, drawn in enumerate(with_other_seeds(document, problem, MAX_DRAWS - 1)):
        if gains:
            drawn["init"] = RawValue({MATRICES: {"gain": gains[number % len(gains)]}}, Origin())
        draw = with_overflowing_query(drawn)
        found = _unnoticed(assemble(draw))
        if found is None:
            continue
        own_hidden, never_shown = found
        if own_hidden:
            hidden = own_hidden if not hidden or len(own_hidden) < len(hidden) else hidden
        elif best is None or len(never_shown) < len(best.never_shown):
            best = DiscriminatingProblem(draw, never_shown)
        if best is not None and (not best.never_shown or number + 1 >= ENOUGH_DRAWS):
            break
    if best is None:
        raise _no_draw(hidden)
    return best


def _no_draw(hidden: Sequence[Explanation]) -> AttnError:
    """The error if no draw suffices: in the best of them these slips would go unnoticed."""
    hint = "take more tokens or features, another seed, or a wider dtype"
    if not hidden:
        return AttnError(f"the output is not finite in any of {MAX_DRAWS} draws", where=OPTION, hint=hint)
    names = ", ".join(dict.fromkeys(explanation.slips[0] for explanation in hidden))
    message = f"none of {MAX_DRAWS} draws reveals every mistake; the best one misses {names}"
    return AttnError(message, where=OPTION, hint=hint)


def _unnoticed(problem: ProblemSpec) -> tuple[tuple[Explanation, ...], tuple[Explanation, ...]] | None:
    """The slips that a check of the output would not notice: they change numbers too little, or not at all.

    None if the output is not finite.
    """
    output: Array = getattr(run(problem, RESULT), RESULT)
    if not np.isfinite(output).all():
        return None
    report = check(problem, {RESULT: output}, CheckOptions(finds_unnoticed=True, tries_slips=False))
    unnoticed = report.unnoticed or ()
    exact, dtype = in_type(problem, "float64"), problem.precision.name
    right = run_attempt(own_attempt(exact), [RESULT])[RESULT]
    same = {
        (attempt.slips, attempt.sentence)
        for attempt in (attempts(exact, dtype) if unnoticed else ())
        if _is_same(run_attempt(attempt, [RESULT]).get(RESULT, np.empty(0)), right)
    }
    never_shown = tuple(found for found in unnoticed if (found.slips, found.sentence) in same)
    return tuple(found for found in unnoticed if found not in never_shown), never_shown


def _is_same(x: Array, right: Array) -> bool:
    """Whether numbers are right up to rounding in float64: not subtracting a maximum changes the last digit."""
    return x.shape == right.shape and np.allclose(x, right, rtol=ROUNDING, atol=ROUNDING * float(abs(right).max()))


@dataclass(frozen=True)
class _QueryArray:
    """The array whose rows are or become queries; in embeddings, the one feature that keys and values do not read."""

    name: str
    feature: int | None = None

    def with_gain(self, problem: ProblemSpec, rows: Sequence[int], gain: float) -> Document:
        """The keys with the queries at some rows multiplied by a factor."""
        if self.feature is None:
            array = getattr(problem, self.name).copy()
            array[..., rows, :] *= gain
            return {self.name: _given(as_given(array, problem.layout) if self.name in LAID_OUT else array)}
        keys = self._embeddings(problem, rows, gain, self.feature)
        for name in KEY_WEIGHTS:
            weights = getattr(problem, name).copy()
            weights[self.feature] = 0
            keys[name] = _given(weights.T if problem.weight_layout == "out_in" else weights)
        return keys

    def _embeddings(self, problem: ProblemSpec, rows: Sequence[int], gain: float, feature: int) -> Document:
        """The embeddings of some rows with a large feature; a sentence's as the vectors of its tokens."""
        if problem.vocabulary is None:
            array = getattr(problem, self.name).copy()
            array[..., rows, feature] = gain
            return {self.name: _given(array)}
        assert problem.embeddings is not None
        vocabulary = {token: vector.copy() for token, vector in problem.vocabulary.items()}
        for vector in vocabulary.values():
            if any(np.array_equal(vector, problem.embeddings[row]) for row in rows):
                vector[feature] = gain
        return {"vocabulary": RawValue({token: vector.tolist() for token, vector in vocabulary.items()}, Origin())}


def _given(array: Array) -> RawValue:
    return RawValue(GivenArray(array), Origin())


def with_overflowing_query(document: Document) -> Document:
    """The keys of a problem in which one large query makes exponentials of its scores overflow or vanish.

    It is the query whose largest score is farthest from the next, so that one key has all of its weight, and rounding
    does not change it. If a softcap bounds the scores, it is a query whose scores are all near the negative softcap, as
    masked keys' are if the softcap follows the mask. The keys are unchanged if no array of queries is drawn, or no gain
    is large enough.
    """
    problem = assemble(document)
    array = _drawn_queries(problem)
    if array is None:
        return document
    every_row = range(getattr(problem, array.name).shape[-2])

    def scores(rows: Sequence[int], gain: float) -> Array:
        """The masked scores if some rows have a gain."""
        changed = document | array.with_gain(problem, rows, gain)
        values: Array = run(assemble(changed), "masked_scores").masked_scores
        return values

    sign, limit = 1, EXCESS * _overflowing_score(problem)
    row: int | None
    overflows: Callable[[Array], Array]
    if problem.softcap is not None and problem.softcap < limit:
        bound = -NEARLY * problem.softcap
        rows = {sign: _row_below(scores(every_row, sign * PROBE), bound, problem.seed or 0) for sign in (1, -1)}
        sign = 1 if rows[1] is not None else -1
        row, overflows = rows[sign], partial(_is_below, bound=bound)
    else:
        row, overflows = _row_of_clearest_key(scores(every_row, PROBE)), partial(_is_beyond, limit=limit)
    if row is None:
        return document
    for gain in QUERY_GAINS:
        if overflows(scores([row], sign * gain))[..., row].any():
            changed = document | array.with_gain(problem, [row], sign * gain)
            unread = assemble(changed).unread.keys() - problem.unread.keys()  # without the sizes of drawn arrays
            return {key: raw for key, raw in changed.items() if key not in unread}
    return document


def _drawn_queries(problem: ProblemSpec) -> _QueryArray | None:
    """The drawn array whose rows are or become queries; None if there is none."""
    drawn = problem.generators
    for name in ("scores", "query", "query_embeddings"):
        if getattr(problem, name) is not None:
            return _QueryArray(name) if name in drawn else None
    source = "embeddings" if problem.vocabulary is None else "vocabulary"
    if not {source, *KEY_WEIGHTS} <= drawn.keys() or problem.only is not None:
        return None
    features = problem.lengths["x"]
    return _QueryArray("embeddings", features - 1) if features > 1 else None


def _is_below(scores: Array, bound: float) -> Array:
    """The rows [… n] that have no visible score above a bound."""
    below: Array = scores.max(axis=-1) < bound
    return below


def _is_beyond(scores: Array, limit: float) -> Array:
    """The rows [… n] whose largest visible score is at least so far from 0."""
    largest = scores.max(axis=-1)
    beyond: Array = np.isfinite(largest) & (abs(largest) > limit)
    return beyond


def _row_below(scores: Array, bound: float, number: int) -> int | None:
    """A row with masked keys whose visible scores are all below a bound, in some head; None without any."""
    largest = scores.max(axis=-1)
    fits = (largest < bound) & np.isfinite(largest) & (scores == -np.inf).any(axis=-1)
    rows = np.flatnonzero(fits.reshape(-1, fits.shape[-1]).any(axis=0))
    return int(rows[number % rows.size]) if rows.size else None


def _row_of_clearest_key(scores: Array) -> int:
    """The query whose largest score is farthest from the next, in proportion, in the head where it is nearest."""
    rows = np.moveaxis(scores, -2, 0).reshape(scores.shape[-2], -1, scores.shape[-1])
    ordered = np.sort(rows, axis=-1)
    with np.errstate(invalid="ignore"):
        size = abs(np.where(np.isfinite(rows), rows, 0)).max(axis=-1)
        next_largest = ordered[..., -2] if rows.shape[-1] > 1 else np.full(size.shape, -np.inf)
        gaps = (ordered[..., -1] - next_largest) / np.where(size == 0, 1, size)
    return int(np.nan_to_num(gaps, nan=0.0, posinf=np.inf).min(axis=-1).argmax())


def _overflowing_score(problem: ProblemSpec) -> float:
    """The score whose exponential overflows in the type; float32 for half types, as kernels compute in it."""
    name = "float32" if problem.precision.name in HALF else problem.precision.name
    temperature: float = problem.normalize.parameters.get("temperature", 1.0)
    return float(np.log(np.finfo(name).max)) * temperature
