"""A loud query: so large that exponentials of its scores overflow where the maximum of the row is not subtracted."""

import math
from dataclasses import dataclass

from attncli.base.dtypes import HALF
from attncli.base.lazy_numpy import Array, np
from attncli.engine.run import run
from attncli.io.assemble import assemble
from attncli.io.origin import Origin, RawValue
from attncli.io.problem_files import Document
from attncli.problem.convert.arrays import LabelledArray
from attncli.problem.spec import ProblemSpec

EXCESS = 1.3  # how much larger than what overflows the largest score is
LOUD = 64.0  # scores are measured at this loudness, and grow in proportion to it
KEY_WEIGHTS = ("w_k", "w_v")


@dataclass(frozen=True)
class _LoudArray:
    """The array whose rows become queries; of embeddings the one feature that keys and values do not read."""

    name: str
    feature: int | None = None

    def keys(self, problem: ProblemSpec, rows: Array | list[int], loudness: float) -> Document:
        """The keys that make queries at some rows so loud."""
        array = getattr(problem, self.name).copy()
        if self.feature is None:
            array[..., rows, :] *= loudness
            return {self.name: _given(array)}
        array[..., rows, self.feature] = loudness
        keys = {self.name: _given(array)}
        for name in KEY_WEIGHTS:
            weights = getattr(problem, name).copy()
            weights[self.feature] = 0
            keys[name] = _given(weights.T if problem.weight_layout == "out_in" else weights)
        return keys


def with_loud_query(document: Document) -> Document:
    """The keys of a problem in which one query is so large that the exponentials of its scores overflow.

    It is the query whose largest score is farthest from its next, so that one key has all of its weight, and rounding
    does not change it. The keys stay as they are where no array of queries is drawn, and where scores do not grow with
    the queries: a softcap or a norm bounds them.
    """
    problem = assemble(document)
    array = _loud_array(problem)
    if array is None:
        return document
    count = getattr(problem, array.name).shape[-2]
    loud = assemble(document | array.keys(problem, list(range(count)), LOUD))
    scores = run(loud, "masked_scores").masked_scores
    row = _row_of_clearest_key(scores)
    with np.errstate(invalid="ignore"):
        largest = float(np.max(scores[..., row, :], initial=-math.inf))
    limit = EXCESS * _overflowing_score(problem)
    is_bounded = problem.softcap is not None or problem.qk_norm is not None or not problem.score.record.factorization
    if is_bounded or not math.isfinite(largest) or largest == 0:
        return document
    changed = document | array.keys(problem, [row], LOUD * limit / abs(largest))
    unread = assemble(changed).unread.keys() - problem.unread.keys()  # the sizes of what is drawn no longer
    return {key: raw for key, raw in changed.items() if key not in unread}


def _loud_array(problem: ProblemSpec) -> _LoudArray | None:
    """The drawn array in which a query can be loud; None where there is none."""
    drawn = problem.generators
    if "scores" in problem.not_computed:
        return None
    for name in ("query", "query_embeddings"):
        if getattr(problem, name) is not None:
            return _LoudArray(name) if name in drawn else None
    if not {"embeddings", *KEY_WEIGHTS} <= drawn.keys() or problem.only is not None:
        return None
    features = problem.lengths["x"]
    return _LoudArray("embeddings", features - 1) if features > 1 else None


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
