"""A loud query: exponentials of its scores overflow or vanish, or all of them are near the softcap."""

from collections.abc import Callable, Sequence
from functools import partial

from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import HALF
from attncli.base.lazy_numpy import Array, np
from attncli.engine.run import run
from attncli.io.assemble import assemble
from attncli.io.origin import Origin, RawValue
from attncli.io.problem_files import Document
from attncli.problem.arrays import LabelledArray
from attncli.problem.spec import ProblemSpec

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
