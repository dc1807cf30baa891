"""What each head of a model does: its weight on places, and its name by that.

The maps of a layer are [h n m]: heads, queries, keys. The weight on a place is a mean over the queries that have it: a
query without an earlier occurrence of its token is no evidence on induction. Padding never counts.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np

ENTROPY, EFFECTIVE_KEYS, DISTANCE = "entropy", "effective_keys", "distance"
UNIFORM, MIXED = "uniform", "mixed"
# The mean from which a place names a head, as in ARENA's exercises on head detectors.
LEAST_MEAN = 0.4
LEAST_UNIFORM = 0.95  # of the entropy of equal weights on the visible keys
LEAST_LOCAL = 2  # times equal weights on a wide place
LOCAL = 4  # keys on either side
FARTHEST = 8  # the largest offset that has a place
LEAST_PART = 0.5  # of the queries, which must have an offset that names a head: only the last ones have a far offset
# The tolerance of a row's sum around 1: more than the rounding of a thousand weights of bfloat16.
SUM_TOLERANCE = 1e-2
_SPACES = " \t\n\r▁ĠĊ"  # in tokens of tokenizers, which write spaces as signs
# A token that marks the beginning, the end or a section of a text: [CLS], </s>, <|endoftext|>, <bos>; or punctuation.
_SPECIAL = re.compile(r"\[[A-Z]+\]|<[^<>\s]+>")
_PADDING = re.compile("pad", re.IGNORECASE)  # in a special token: [PAD], <pad>, <|finetune_right_pad_id|>


@dataclass(frozen=True)
class Sequences:
    """The numbers of queries and keys of a map, their tokens, their padding, and the visible pairs.

    `real_keys` [m] and `real_queries` [n] are false for padding; None: all are tokens. `visible` [n m] is the mask of
    the layer; None: derive it from the maps.
    """

    queries: int
    keys: int
    query_tokens: Sequence[str] | None = None
    key_tokens: Sequence[str] | None = None
    real_keys: Array | None = None
    real_queries: Array | None = None
    visible: Array | None = None

    @property
    def is_self_attention(self) -> bool:
        """Whether the queries are the keys: equal counts and equal tokens."""
        return self.queries == self.keys and self.query_tokens == self.key_tokens

    @property
    def has_words(self) -> bool:
        """Whether the tokens of the keys are known; in self-attention the queries have the same."""
        return self.key_tokens is not None

    @cached_property
    def key_is_real(self) -> Array:
        """Whether each key is a token [m]."""
        return np.ones(self.keys, bool) if self.real_keys is None else np.asarray(self.real_keys, bool)

    @cached_property
    def query_is_real(self) -> Array:
        """Whether each query is a token [n]: in self-attention the keys' values."""
        if self.real_queries is not None:
            return np.asarray(self.real_queries, bool)
        return self.key_is_real if self.is_self_attention else np.ones(self.queries, bool)

    def visible_in(self, maps: Array) -> Array:
        """The real keys that each real query sees [n m], by the mask, or by the maps [h n m] of a layer.

        Without a mask these are all keys, or, if no real query gives weight to a later key, the earlier ones and
        itself.

        >>> Sequences(2, 2).visible_in(np.array([[[1.0, 0.0], [0.25, 0.75]]])).tolist()
        [[True, False], [True, True]]
        """
        is_real = self.query_is_real[:, None] & self.key_is_real
        if self.visible is not None:
            return np.asarray(is_real & np.asarray(self.visible, bool))
        has_weight = (np.nan_to_num(maps) != 0).any(axis=0) & is_real
        is_causal = self.queries == self.keys and not np.triu(has_weight, k=1).any()
        return np.asarray(is_real & np.tri(self.queries, dtype=bool) if is_causal else is_real)


@dataclass(frozen=True)
class Place:
    """A place that a head may look at: its name, the kind of a head that looks there, and its pairs.

    `pairs` gives the pairs of a query and a key, a boolean array [n m]. A place that `few` queries have is compared
    with the first token over these, and names a head if at least a `least_part` of the queries have it. A `wide` one
    names a head only if no narrower one does.
    """

    name: str
    kind: str
    about: str
    pairs: Callable[[Sequences], Array]
    needs_self_attention: bool = True
    needs_words: bool = False
    is_of_few: bool = False
    least_part: float = 0
    is_wide: bool = False

    @property
    def is_common(self) -> bool:
        """Whether every head shows it, not only heads named after it."""
        return not (self.is_wide or self.least_part)

    def pairs_of(self, sequences: Sequences) -> Array | None:
        """Its pairs in some sequences; None if they lack such a place, or it is unknown."""
        is_known = (sequences.is_self_attention or not self.needs_self_attention) and (
            sequences.has_words or not self.needs_words
        )
        return self.pairs(sequences) if is_known else None


def _first(sequences: Sequences) -> Array:
    """The first key that is not padding."""
    pairs = np.zeros((sequences.queries, sequences.keys), bool)
    pairs[:, np.flatnonzero(sequences.key_is_real)[:1]] = True
    return pairs


def _diagonal(offset: int) -> Callable[[Sequences], Array]:
    return lambda sequences: np.eye(sequences.queries, dtype=bool, k=offset)


def _same_words(sequences: Sequences) -> Array:
    """Whether a query and a key at another position have the same token."""
    words = np.array(sequences.key_tokens, dtype=object)
    same: Array = np.equal.outer(words, words).astype(bool)
    np.fill_diagonal(same, False)
    return same


def _after_earlier(sequences: Sequences) -> Array:
    """Whether a key comes right after an earlier occurrence of the query's token, and not after the query.

    Source: TransformerLens, head_detector.py, get_induction_head_detection_pattern.
    """
    after = np.zeros((sequences.queries, sequences.keys), bool)
    after[:, 1:] = np.tril(_same_words(sequences) & sequences.key_is_real)[:, :-1]
    return after


def _separators(sequences: Sequences) -> Array:
    """Whether a key is a separator, the first key aside."""
    tokens = sequences.key_tokens or ()
    return np.asarray(~_first(sequences) & np.array([is_separator(token) for token in tokens], bool))


def _near(sequences: Sequences) -> Array:
    """Whether a key is at most LOCAL positions from the query."""
    return np.asarray(_distances(sequences.queries, sequences.keys) <= LOCAL)


def _distances(queries: int, keys: int) -> Array:
    """The distance of each key from each query [n m]."""
    return np.asarray(abs(np.subtract.outer(np.arange(queries), np.arange(keys))))


def is_separator(word: str) -> bool:
    """Whether a token is a tokenizer's mark other than padding, or only punctuation.

    >>> [is_separator(word) for word in ("[SEP]", "</s>", "<|endoftext|>", "Ġ,", "...", "[PAD]", "<pad>", "cat", "'s")]
    [True, True, True, True, True, False, False, False, False]
    """
    bare = word.strip(_SPACES)
    if _SPECIAL.fullmatch(bare):
        return _PADDING.search(bare) is None
    return bool(bare) and not any(map(str.isalnum, bare))


# Among equal means, the first counts.
PLACES: Mapping[str, Place] = {
    place.name: place
    for place in (
        Place("first", "first token", "the first key", _first, needs_self_attention=False),
        Place("previous", "previous token", "the key before the query", _diagonal(-1)),
        Place("itself", "itself", "the query's own key", _diagonal(0)),
        Place("next", "next token", "the key after the query", _diagonal(1)),
        Place(
            "induction",
            "induction",
            "the key after an earlier occurrence",
            _after_earlier,
            needs_words=True,
            is_of_few=True,
        ),
        Place(
            "duplicates", "duplicate token", "the same token elsewhere", _same_words, needs_words=True, is_of_few=True
        ),
        Place(
            "separators",
            "separators",
            "[SEP], </s>, punctuation …; not the first key, not padding",
            _separators,
            needs_self_attention=False,
            needs_words=True,
        ),
        *(
            Place(
                f"offset -{back}",
                f"offset -{back}",
                f"the key {back} before the query",
                _diagonal(-back),
                is_of_few=True,
                least_part=LEAST_PART,
            )
            for back in range(2, FARTHEST + 1)
        ),
        Place("local", "local", f"keys at most {LOCAL} from the query", _near, is_wide=True),
    )
}
FIRST = "first"
STATISTICS = (ENTROPY, EFFECTIVE_KEYS, DISTANCE, *PLACES)  # statistics of a head, in display order
# The kinds of heads, and their meaning.
KINDS: Mapping[str, str] = {
    UNIFORM: f"at least {LEAST_UNIFORM:.0%} of the entropy that equal weights on the visible keys have",
    **{place.kind: place.about for place in PLACES.values()},
    MIXED: f"no place has a mean weight of {LEAST_MEAN} that is more than equal weights have there",
}
# How the weight on a place is counted, and how a head gets its name.
RULE = (
    "The mean weight on a place is over the queries that see a key there and other keys too. A head is named after the "
    f"place with the largest mean, at least {LEAST_MEAN} and more than equal weights have there. Induction and "
    "duplicate token are compared with first token over the queries that have them, and the smaller of both names no "
    "head; so are offsets, which at least half of the queries must have. Local names a head that no narrower place "
    f"names, with {LEAST_LOCAL} times what equal weights have. Padding never counts."
)


class _OfPlaces:
    """Derived numbers of a head, or of a mean of several."""

    statistics: Mapping[str, float]
    part_of_all: Mapping[str, float]

    @property
    def kinds(self) -> Mapping[str, float]:
        """The mean weight on each place over the queries that have it, by kind of head."""
        return {place.kind: self.statistics[name] for name, place in PLACES.items()}

    @property
    def shares(self) -> Mapping[str, float]:
        """The mean weight on each place over all queries that count, by kind of head."""
        return {place.kind: self.part_of_all[name] for name, place in PLACES.items()}


@dataclass(frozen=True)
class HeadNumbers(_OfPlaces):
    """The means of several heads' numbers; NaN if there is none."""

    statistics: Mapping[str, float]
    part_of_all: Mapping[str, float]


@dataclass(frozen=True)
class Head(_OfPlaces):
    """One head: its layer and number, its numbers (NaN if there is none), and its kind.

    `statistics` has `entropy` (in nats), `effective_keys` (the mean of its exponential) and `distance` (of the weight
    from the query), means over the queries that count; and for each place the mean weight over the queries that have
    it, and with `part_of_all` over all that count. `share` is the mean on the place that names it, NaN for other kinds;
    `received` the sum of the weight on each key, and `sums` the least and the largest sum of the rows that are not
    distributions, None if all are.
    """

    layer: int
    head: int
    statistics: Mapping[str, float]
    kind: str
    share: float
    part_of_all: Mapping[str, float] = field(default_factory=dict)
    received: Sequence[float] = ()
    sums: tuple[float, float] | None = None

    @property
    def label(self) -> str:
        """Its kind, with the mean weight there: `previous token 0.93`."""
        return self.kind if math.isnan(self.share) else f"{self.kind} {self.share:.2f}"


@dataclass(frozen=True)
class HeadReport:
    """The heads of some layers, the means over each layer's heads and over all, and the numbers of equal weights.

    `uniform` has the numbers of maps with equal weights on the visible keys.
    """

    heads: tuple[Head, ...]
    layer_means: tuple[HeadNumbers, ...]
    mean: HeadNumbers
    uniform: HeadNumbers


def head_report(layers: Sequence[Array], sequences: Sequence[Sequences]) -> HeadReport:
    """The report on the heads of some layers, with maps [h n m] each, of such sequences."""
    tables = [layer_heads(maps, own, layer) for layer, (maps, own) in enumerate(zip(layers, sequences, strict=True))]
    equal = [_of_equal_weights(maps, own) for maps, own in zip(layers, sequences, strict=True)]
    return HeadReport(
        tuple(head for table in tables for head in table),
        tuple(mean_of(table) for table in tables),
        mean_of([head for table in tables for head in table]),
        mean_of(equal),
    )


def layer_heads(maps: Array, sequences: Sequences, layer: int = 0) -> list[Head]:
    """The report on each head of a layer [h n m].

    >>> maps = np.array([[[1.0, 0.0], [0.25, 0.75]]])
    >>> found = layer_heads(maps, Sequences(2, 2))[0]
    >>> found.kinds["first token"], found.shares["first token"], found.kinds["next token"]
    (0.25, 0.625, nan)
    """
    frame = _Layer(sequences, sequences.visible_in(maps))
    return [frame.head(own, layer, number) for number, own in enumerate(maps)]


def _of_equal_weights(maps: Array, sequences: Sequences) -> Head:
    """The numbers of equal weights on the visible keys of a layer [h n m]."""
    visible = sequences.visible_in(maps)
    return _Layer(sequences, visible).head(visible / np.maximum(visible.sum(axis=-1, keepdims=True), 1), 0, 0)


@dataclass(frozen=True)
class _Cells:
    """The pairs of a place in a layer, as rows and columns, and whether each query [n] has the place.

    `equal` is the weight that equal weights on the visible keys give the place [n].
    """

    rows: Array
    columns: Array
    has: Array
    equal: Array


@dataclass(frozen=True)
class _OnPlace:
    """The weight of a head on a place: the means over the queries that have it, and over all that count.

    `equal` and `first` are the means of equal weights there, and of the head on the first token, over the same queries;
    `part` is the share of queries that have it.
    """

    mean: float
    of_all: float
    equal: float
    first: float
    part: float


class _Layer:
    """Data shared by all heads of a layer: the places of its queries and keys."""

    def __init__(self, sequences: Sequences, visible: Array) -> None:
        self._sequences = sequences
        self._is_real = sequences.key_is_real
        self._seen = visible.sum(axis=-1)
        found = {name: place.pairs_of(sequences) for name, place in PLACES.items()}
        self._places = {name: pairs if pairs is None else self._cells(pairs, visible) for name, pairs in found.items()}
        is_self = sequences.is_self_attention
        self._distances = _distances(sequences.queries, sequences.keys) if is_self else None

    def _cells(self, pairs: Array, visible: Array) -> _Cells:
        """The cells of some pairs of real keys."""
        own = (pairs & visible).sum(axis=-1)
        rows, columns = (pairs & self._is_real).nonzero()
        return _Cells(rows, columns, (own > 0) & (own < self._seen), own / np.maximum(self._seen, 1))

    def head(self, weights: Array, layer: int, number: int) -> Head:
        """The report on a head with these weights [n m]."""
        own = np.where(self._is_real, weights.astype(np.result_type(weights.dtype, np.float64)), 0)
        with np.errstate(invalid="ignore", over="ignore"):
            sums = own.sum(axis=-1)
            counted = self._sequences.query_is_real & np.isfinite(own).all(axis=-1) & (sums > 0)
            is_one = counted & (own >= 0).all(axis=-1) & (abs(sums - 1) <= SUM_TOLERANCE)
        entropies = _entropies(own[is_one])
        own = np.where(counted[:, None], own, 0)
        places = self._on_places(own, counted)
        entropy, equal_entropy = _mean(entropies), _mean(np.log(np.maximum(self._seen[is_one], 1)))
        kind, share = kind_of({name: each for name, each in places.items() if each is not None}, entropy, equal_entropy)
        others = sums[counted & ~is_one]
        distances = np.array([]) if self._distances is None else (own * self._distances).sum(axis=-1)[counted]
        statistics = {ENTROPY: entropy, EFFECTIVE_KEYS: _mean(np.exp(entropies)), DISTANCE: _mean(distances)}
        return Head(
            layer,
            number,
            {**statistics, **{name: math.nan if each is None else each.mean for name, each in places.items()}},
            kind,
            share,
            {name: math.nan if each is None else each.of_all for name, each in places.items()},
            tuple(map(float, own[counted].sum(axis=0))),
            (float(others.min()), float(others.max())) if others.size else None,
        )

    def _on_places(self, weights: Array, counted: Array) -> dict[str, _OnPlace | None]:
        """The weight of a map [n m] on each place; None if no query that counts has it."""
        found: dict[str, _OnPlace | None] = {}
        first: Array = np.zeros(len(counted))
        for name, cells in self._places.items():
            found[name] = None
            if cells is None:
                continue
            on_place: Array = np.bincount(cells.rows, weights[cells.rows, cells.columns], minlength=len(counted))
            first = on_place if name == FIRST else first
            having = cells.has & counted
            if having.any():
                found[name] = _OnPlace(
                    mean=_mean(on_place[having]),
                    of_all=_mean(on_place[counted]),
                    equal=_mean(cells.equal[having]),
                    first=_mean(first[having]),
                    part=float(having.sum() / counted.sum()),
                )
        return found


def _entropies(rows: Array) -> Array:
    """The entropy of each distribution [n m]; 0·ln 0 is 0."""
    terms = rows * np.log(np.where(rows > 0, rows, 1))
    return np.asarray(np.maximum(-terms.sum(axis=-1), 0))


def kind_of(places: Mapping[str, _OnPlace], entropy: float, equal_entropy: float) -> tuple[str, float]:
    """The kind of a head by the weight on its places, and the mean that decides it.

    It is uniform if it has nearly the entropy of equal weights; otherwise the place with the largest mean names it,
    from LEAST_MEAN on and above equal weights; without one it is mixed. A place of few queries must exceed the first
    token over these; then the first token does not name a head that looks for earlier occurrences. Wide places come
    last.
    """
    if entropy >= LEAST_UNIFORM * equal_entropy > 0:
        return UNIFORM, math.nan
    found = {
        name: each
        for name, each in places.items()
        if each.mean >= LEAST_MEAN
        and each.mean > each.equal * (LEAST_LOCAL if PLACES[name].is_wide else 1)
        and each.part >= PLACES[name].least_part
        and (not PLACES[name].is_of_few or each.mean > each.first)
    }
    if any(PLACES[name].is_of_few and PLACES[name].needs_words for name in found):
        found.pop(FIRST, None)  # where the head could look elsewhere, it did
    narrow = [name for name in found if not PLACES[name].is_wide] or list(found)
    if not narrow:
        return MIXED, math.nan
    name = max(narrow, key=lambda each: found[each].mean)
    return PLACES[name].kind, found[name].mean


def mean_of(heads: Sequence[Head]) -> HeadNumbers:
    """The mean of each number over the heads that have one; NaN if none has."""
    return HeadNumbers(
        {name: _mean_of_known(each.statistics[name] for each in heads) for name in STATISTICS},
        {name: _mean_of_known(each.part_of_all[name] for each in heads) for name in PLACES},
    )


def _mean(numbers: Array) -> float:
    """The mean of some numbers; NaN without any."""
    return float(numbers.mean()) if numbers.size else math.nan


def _mean_of_known(numbers: Iterable[float]) -> float:
    """The mean of the numbers that are not NaN; NaN without any."""
    return _mean(np.array([number for number in numbers if not math.isnan(number)]))


def rollout(layers: Sequence[Array]) -> Array:
    """How much of each key's vector has arrived at each query after each layer: maps [h n n] each to [layers n n].

    R₁ = A₁ and Rₗ = Aₗ Rₗ₋₁, where Aₗ = ½ (mean over the heads) + ½ I, with rows that sum to 1. Source: Abnar & Zuidema
    2020, Quantifying Attention Flow in Transformers, section 3. Raises AttnError if a map is not square, or layers
    differ in length.

    >>> rollout([np.array([[[1.0, 0.0], [0.5, 0.5]]])] * 2).tolist()
    [[[1.0, 0.0], [0.25, 0.75]], [[1.0, 0.0], [0.4375, 0.5625]]]
    """
    lengths = {length for maps in layers for length in maps.shape[-2:]}
    if len(lengths) != 1:
        hint = "it follows one sequence through layers of self-attention"
        raise AttnError(f"maps of {sorted(lengths)} positions can't be multiplied", where="--rollout", hint=hint)
    found: list[Array] = []
    for maps in layers:
        mean = maps.astype(np.result_type(maps.dtype, np.float64)).mean(axis=0)
        step = mean / 2 + np.eye(len(mean)) / 2
        step /= step.sum(axis=-1, keepdims=True)
        found.append(step @ found[-1] if found else step)
    return np.stack(found)


def sort_heads(heads: Sequence[Head], name: str) -> list[Head]:
    """The heads with the largest number of a statistic first, those without a number last; ties keep their order.

    A leading `-` reverses the order.
    """
    sign, key = (1, name[1:]) if name.startswith("-") else (-1, name)

    def order(head: Head) -> tuple[Any, ...]:
        number = head.statistics[key]
        return (True, 0) if math.isnan(number) else (False, sign * number)

    return sorted(heads, key=order)


def summaries_of_kinds() -> Iterator[tuple[str, str]]:
    """The kinds of heads with their meaning, and the rule."""
    yield from KINDS.items()
    yield "rule", RULE
