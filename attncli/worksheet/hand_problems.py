"""Problems to do by hand: small integers, an integer √d, no lost weight; and defaults for any drawn problem."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.engine.run import run
from attncli.io.assemble import assemble, read_value
from attncli.io.problem_files import Document, Origin, RawValue
from attncli.ops.initializers import randint, stream
from attncli.ops.normalizers import softmax
from attncli.ops.registry import is_operator, look_up
from attncli.problem.fields import TABLES
from attncli.problem.spec import FIELDS, OPERATOR_FIELDS, ProblemSpec

SEQUENCES = ("embeddings", "residual", "query", "key")  # one of them is given, or embeddings are drawn


@dataclass(frozen=True)
class MissingKeys:
    """Defaults for a problem: generators of embeddings and of matrices, other keys, and sizes."""

    embeddings: str
    matrices: str
    others: Mapping[str, Any]
    tokens: int
    features: int
    features_per_head: int


# NumPy never changes the legacy stream: a seed draws the same problem with every version.
DEFAULTS = {"seed": 1, "generator": "legacy"}
# √4 = 2; with several heads each has one feature: √1 = 1
MISSING = MissingKeys("randint:low=0,high=3", "randint:low=-1,high=2", DEFAULTS, 3, features=4, features_per_head=1)
MIN_WEIGHT = 0.02  # the least weight of a visible key
MAX_DRAWS = 1000
OPTION = "--by-hand"


def choose(document: Document, *, has_ties: bool = True) -> Document:
    """The keys of a problem to do by hand: defaults for missing keys, and a suitable seed.

    No two tokens have the same vector, and in every row of scores with several visible keys the softmax weights are at
    least MIN_WEIGHT; they are not all equal, or in as few rows as in any draw. The seeds follow from the document's.
    Unless it `has_ties`, no two weights of a row are equal. Raises AttnError if nothing is drawn, if √d is not an
    integer, or if each of MAX_DRAWS draws loses a weight or has two equal ones.
    """
    document, problem = with_missing(document, MISSING, OPTION)
    _check_root(problem)
    best, fewest = None, math.inf
    for attempt in with_other_seeds(document, problem, MAX_DRAWS):
        count = _count_rows_of_equal_weights(assemble(attempt), has_ties=has_ties)
        if count < fewest:
            best, fewest = attempt, count
        if count == 0:
            break
    if best is None:
        message = f"in {MAX_DRAWS} draws there is always a weight below {MIN_WEIGHT}, or a token twice"
        raise AttnError(message, where=OPTION, hint="take fewer tokens or features, or another seed")
    if fewest and not has_ties:
        message = f"in {MAX_DRAWS} draws there are always two equal weights of one query"
        raise AttnError(message, where=OPTION, hint="take fewer tokens or heads, or another seed")
    return best


def choose_variants(document: Document, count: int) -> list[Document]:
    """The keys of so many different problems to do by hand, without equal weights of a query.

    Their seeds follow from the document's. Raises AttnError if there are not so many.
    """
    complete, problem = with_missing(document, MISSING, OPTION)
    found: dict[bytes, Document] = {}
    for attempt in with_other_seeds(complete, problem, 2 * count):
        chosen = choose(attempt, has_ties=False)
        arrays = (value for value in vars(assemble(chosen)).values() if isinstance(value, np.ndarray))
        found.setdefault(b"".join(array.tobytes() for array in arrays), chosen)
        if len(found) == count:
            return list(found.values())
    message = f"there are only {len(found)} different problems"
    raise AttnError(message, where=OPTION, hint="ask for fewer, or take more tokens")


def _count_rows_of_equal_weights(problem: ProblemSpec, *, has_ties: bool) -> float:
    """In how many rows softmax gives several visible keys equal weights, or two of them if ties are excluded.

    Infinity if the problem can't be done by hand: a weight is lost, or two tokens are equal.
    """
    sequences = (getattr(problem, name) for name in SEQUENCES if name in problem.generators)
    if any(len(np.unique(array, axis=0)) < len(array) for array in sequences):
        return math.inf
    if "weights" in problem.not_computed:
        return 0
    scores = run(problem, "masked_scores").masked_scores
    rows = [softmax(row[row > -np.inf]) for row in scores.reshape(-1, scores.shape[-1]) if (row > -np.inf).sum() > 1]
    if any(weights.min() < MIN_WEIGHT for weights in rows):
        return math.inf
    if has_ties:
        return sum(np.allclose(weights, weights[0]) for weights in rows)
    return sum(bool(np.isclose(np.diff(np.sort(weights)), 0).any()) for weights in rows)


def _check_root(problem: ProblemSpec) -> None:
    """Raise AttnError if the scores are divided by the root of a number of features that is not a square."""
    if "scores" in problem.not_computed or problem.score.record.unscaled is None or problem.scale is not None:
        return
    count = problem.lengths["d"]
    if math.isqrt(count) ** 2 != count:
        message = f"each head has {count} features, and √{count} is not a whole number"
        raise AttnError(message, where=OPTION, hint="give 1, 4 or 9 for each head with --dim or --d-k, or a --scale")


def with_missing(document: Document, missing: MissingKeys, option: str) -> tuple[Document, ProblemSpec]:
    """The keys of a problem with defaults for missing ones and for its operators' arrays, and the problem.

    Raises AttnError, at the option that chooses the numbers, if nothing is drawn.
    """
    sequences = [document[key].value for key in SEQUENCES if key in document]
    chosen: dict[str, Any] = {"init": missing.matrices, **missing.others}
    has_table = not document.keys().isdisjoint(TABLES)
    if not sequences and not has_table and "sentence" not in document:
        chosen["embeddings"] = missing.embeddings
    if all(map(_is_drawn, sequences)) and not has_table:  # otherwise they have their own sizes
        heads = document["heads"].value if "heads" in document else 1
        several = type(heads) is int and heads > 1
        if "vocabulary" not in document:
            chosen["dim"] = missing.features_per_head * heads if several else missing.features
        if not document.keys() & {"sentence", "tokens"}:
            chosen["token_count"] = missing.tokens
    values = {key: RawValue(value, Origin()) for key, value in chosen.items() if key not in document}
    operators = {key: _with_arrays(key, document[key], missing) for key in OPERATOR_FIELDS if key in document}
    document = document | values | operators
    problem = assemble(document)
    if not any(generator.record.is_drawn for generator in problem.generators.values()):
        raise AttnError("every array is given, so nothing is drawn", where=option, hint="leave out some of them")
    return document, problem


def with_other_seeds(document: Document, problem: ProblemSpec, count: int) -> Iterator[Document]:
    """The keys of a problem, then with so many other seeds, which follow from its own."""
    name: Any = problem.generator  # of a stream, as `assemble` has checked
    assert problem.seed is not None
    seeds = randint(stream(name, problem.seed), (count,), high=2**31).astype(int).tolist()
    for seed in (problem.seed, *seeds):
        yield document | {"seed": replace(document["seed"], value=seed)}


def _is_drawn(value: Any) -> bool:
    return isinstance(value, str) and is_operator("generator", value.partition(":")[0])


def _with_arrays(key: str, raw: RawValue, missing: MissingKeys) -> RawValue:
    """The value of a key that names an operator, with its missing arrays drawn; other values unchanged."""
    value = read_value(FIELDS[key], raw)
    name, given = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else (value, {})
    kind = "mask" if FIELDS[key].kind == "boolean_matrix" else FIELDS[key].kind
    if not isinstance(name, str) or not isinstance(given, dict) or not is_operator(kind, name):
        return raw
    parameters = look_up(kind, name).parameters
    drawn = {p.name: missing.matrices for p in parameters if p.kind == "array" and p.required and p.name not in given}
    return replace(raw, value={name: {**given, **drawn}}) if drawn else raw
