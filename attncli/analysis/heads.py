"""What each head of a model does: where its weight goes, as shares of all of it, and a word for what has most of it.

The maps of a layer are [h n m]: heads, queries, keys. A share is the sum of a map over some pairs of a query and a key,
divided by the sum of all of it, as TransformerLens' head detector counts it (`head_detector.py`, error measure "mul").
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attncli.analysis.rows import row_statistics
from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np

ENTROPY, EFFECTIVE_KEYS = "entropy", "effective_keys"
UNIFORM, MIXED = "uniform", "mixed"
# The share from which a head is called by where it looks, as ARENA's exercises on head detectors have it.
LEAST_SHARE = 0.4
LEAST_UNIFORM = 0.95  # of the entropy that equal weights on the visible keys have
_SPACES = " \t\n\r▁ĠĊ"  # of the words of tokenizers, which write spaces as signs
# A word that marks the beginning, the end or a part of a text: [CLS], </s>, <|endoftext|>, <bos>; or punctuation.
_SPECIAL = re.compile(r"\[[A-Z]+\]|<[^<>\s]+>")


@dataclass(frozen=True)
class Sequences:
    """The numbers of queries and keys of a map, and the words of both, where they are known."""

    queries: int
    keys: int
    query_tokens: Sequence[str] | None = None
    key_tokens: Sequence[str] | None = None

    @property
    def is_self_attention(self) -> bool:
        """Whether the queries are the keys: there are as many, and their words are the same."""
        return self.queries == self.keys and self.query_tokens == self.key_tokens

    @property
    def has_words(self) -> bool:
        """Whether the words of queries and keys are known."""
        return self.query_tokens is not None and self.key_tokens is not None


@dataclass(frozen=True)
class Place:
    """A place that a head may look at: its name, its noun as a head is called by it, and where it is.

    `pairs` gives the pairs of a query and a key, a boolean array [n m].
    """

    name: str
    noun: str
    about: str
    pairs: Callable[[Sequences], Array]
    needs_self_attention: bool = True
    needs_words: bool = False

    def pairs_of(self, sequences: Sequences) -> Array | None:
        """Its pairs in some sequences; None where they have no such place, or it is not known."""
        is_known = (sequences.is_self_attention or not self.needs_self_attention) and (
            sequences.has_words or not self.needs_words
        )
        return self.pairs(sequences) if is_known else None


def _first(sequences: Sequences) -> Array:
    pairs = np.zeros((sequences.queries, sequences.keys), bool)
    pairs[:, 0] = True
    return pairs


def _diagonal(offset: int) -> Callable[[Sequences], Array]:
    return lambda sequences: np.eye(sequences.queries, dtype=bool, k=offset)


def _same_words(sequences: Sequences) -> Array:
    """Whether a query and a key at another place have one word."""
    words = np.array(sequences.key_tokens, dtype=object)
    same: Array = np.equal.outer(words, words).astype(bool)
    np.fill_diagonal(same, False)
    return same


def _after_earlier(sequences: Sequences) -> Array:
    """Whether a key comes right after an earlier occurrence of the query's word, and not after the query.

    Source: TransformerLens, head_detector.py, get_induction_head_detection_pattern.
    """
    after = np.zeros((sequences.queries, sequences.keys), bool)
    after[:, 1:] = np.tril(_same_words(sequences))[:, :-1]
    return after


def _separators(sequences: Sequences) -> Array:
    """Whether a key is a separator, the first key aside."""
    pairs = np.zeros((sequences.queries, sequences.keys), bool)
    pairs[:, [at for at, word in enumerate(sequences.key_tokens or ()) if at and is_separator(word)]] = True
    return pairs


def is_separator(word: str) -> bool:
    """Whether a word is a mark of a tokenizer, or nothing but punctuation.

    >>> [is_separator(word) for word in ("[SEP]", "</s>", "<|endoftext|>", "Ġ,", "...", "cat", "'s")]
    [True, True, True, True, True, False, False]
    """
    bare = word.strip(_SPACES)
    return bool(_SPECIAL.fullmatch(bare)) or (bool(bare) and not any(map(str.isalnum, bare)))


# In the order in which equal shares count.
PLACES: Mapping[str, Place] = {
    place.name: place
    for place in (
        Place("first", "first token", "the first key", _first, needs_self_attention=False),
        Place("previous", "previous token", "the key before the query", _diagonal(-1)),
        Place("itself", "itself", "the query's own key", _diagonal(0)),
        Place("next", "next token", "the key after the query", _diagonal(1)),
        Place("induction", "induction", "what followed an earlier occurrence", _after_earlier, needs_words=True),
        Place("duplicates", "duplicates", "the same word elsewhere", _same_words, needs_words=True),
        Place(
            "separators",
            "separators",
            "[SEP], </s>, punctuation …; not the first key",
            _separators,
            needs_self_attention=False,
            needs_words=True,
        ),
    )
}
STATISTICS = (ENTROPY, EFFECTIVE_KEYS, *PLACES)  # of a head, in the order in which they are shown


@dataclass(frozen=True)
class Head:
    """What one head does: its layer and number, its statistics by name, and what it is called.

    A statistic is NaN where it has no number: shares of negative weights, an entropy of what is not a distribution, a
    place that the sequences do not have. `share` is that of the place it is called by; NaN of other kinds.
    """

    layer: int
    head: int
    statistics: Mapping[str, float]
    kind: str
    share: float

    @property
    def label(self) -> str:
        """What it is called, with the share of weight that it has there: `previous token 0.93`."""
        return self.kind if math.isnan(self.share) else f"{self.kind} {self.share:.2f}"


@dataclass(frozen=True)
class HeadReport:
    """The heads of some layers, the means over the heads of each layer and over all, and what equal weights would have.

    `uniform` has the statistics of maps whose weights are equal on the keys that queries may see.
    """

    heads: tuple[Head, ...]
    layer_means: tuple[Mapping[str, float], ...]
    mean: Mapping[str, float]
    uniform: Mapping[str, float]


def head_report(layers: Sequence[Array], precisions: Sequence[Precision], sequences: Sequence[Sequences]) -> HeadReport:
    """What the heads of some layers do, whose maps are [h n m] each, of such types and sequences."""
    tables = [layer_statistics(*each) for each in zip(layers, sequences, precisions, strict=True)]
    equal = [layer_statistics(equal_weights(maps)[None], own)[0] for maps, own in zip(layers, sequences, strict=True)]
    heads = tuple(
        Head(layer, head, statistics, *kind_of(statistics, equal[layer]))
        for layer, table in enumerate(tables)
        for head, statistics in enumerate(table)
    )
    return HeadReport(
        heads,
        tuple(mean_of(table) for table in tables),
        mean_of([head.statistics for head in heads]),
        mean_of(equal),
    )


def layer_statistics(
    maps: Array, sequences: Sequences, precision: Precision | None = None
) -> list[Mapping[str, float]]:
    """The statistics of each head of a layer [h n m].

    The entropy and the effective keys are means over the queries whose weights are a distribution.

    >>> maps = np.array([[[1.0, 0.0], [0.25, 0.75]]])
    >>> found = layer_statistics(maps, Sequences(2, 2))[0]
    >>> found["first"], found["previous"], found["itself"], found["next"], round(found["entropy"], 4)
    (0.625, 0.125, 0.875, 0.0, 0.2812)
    """
    pairs = {name: place.pairs_of(sequences) for name, place in PLACES.items()}
    rows = [row_statistics(one, precision) for one in maps]
    return [
        {
            ENTROPY: _mean(own.entropy.tolist()),
            EFFECTIVE_KEYS: _mean(own.effective_keys.tolist()),
            **_shares(one, pairs),
        }
        for one, own in zip(maps, rows, strict=True)
    ]


def _shares(weights: Array, pairs: Mapping[str, Array | None]) -> dict[str, float]:
    """The share of the weight of a map [n m] on some pairs of a query and a key, by name."""
    wide = weights.astype(np.result_type(weights.dtype, np.float64))
    total = float(wide.sum())
    has_shares = total > 0 and math.isfinite(total) and bool((wide >= 0).all())
    return {
        name: float(wide[own].sum()) / total if has_shares and own is not None else math.nan
        for name, own in pairs.items()
    }


def equal_weights(maps: Array) -> Array:
    """A map [n m] whose weights are equal on the keys that a query of a layer [h n m] may see.

    Where no query gives weight to a later key these are the earlier ones and itself, otherwise the keys that have some
    weight in any head.

    >>> equal_weights(np.array([[[1.0, 0.0], [0.25, 0.75]]])).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    has_weight = (maps != 0).any(axis=0)
    queries, keys = has_weight.shape
    is_causal = queries == keys and not np.triu(has_weight, k=1).any()
    is_visible = np.tri(queries, dtype=bool) if is_causal else np.tile(has_weight.any(axis=0), (queries, 1))
    return np.asarray(is_visible / np.maximum(is_visible.sum(axis=-1, keepdims=True), 1))


def kind_of(statistics: Mapping[str, float], equal: Mapping[str, float]) -> tuple[str, float]:
    """What a head is called by its statistics, and the share that it is called by; `equal` has those of equal weights.

    It is uniform where it has nearly the entropy of equal weights; otherwise it is called by the place that has most of
    its weight, from LEAST_SHARE on, where that is more than equal weights have there; and mixed without any.

    >>> kind_of({"entropy": 0.4, "first": 0.1, "previous": 0.9}, {"entropy": 0.7, "first": 0.5, "previous": 0.4})
    ('previous token', 0.9)
    """
    if statistics[ENTROPY] >= LEAST_UNIFORM * equal[ENTROPY] > 0:
        return UNIFORM, math.nan
    shares = {name: statistics[name] for name in PLACES if statistics.get(name, math.nan) > equal.get(name, 0)}
    name = max(shares, key=lambda each: shares[each], default=None)
    if name is None or shares[name] < LEAST_SHARE:
        return MIXED, math.nan
    return PLACES[name].noun, shares[name]


def mean_of(statistics: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """The mean of each statistic over some heads, of those that have a number; NaN without any."""
    return {name: _mean([each[name] for each in statistics]) for name in STATISTICS}


def _mean(numbers: Sequence[float]) -> float:
    found = [number for number in numbers if not math.isnan(number)]
    return sum(found) / len(found) if found else math.nan


def rollout(layers: Sequence[Array]) -> Array:
    """How much of each key's vector has arrived at each query after each layer: maps [h n n] each to [layers n n].

    R₁ = A₁ and Rₗ = Aₗ Rₗ₋₁, where Aₗ = ½ (mean over the heads) + ½ I, with rows that sum to 1. Source: Abnar & Zuidema
    2020, Quantifying Attention Flow in Transformers, section 3. Raises AttnError where a map is not square, or layers
    have other lengths.

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
    """The heads with the largest number of a statistic first, those without a number last; equal ones in their order.

    A name that begins with `-` sorts the other way.
    """
    sign, key = (1, name[1:]) if name.startswith("-") else (-1, name)

    def order(head: Head) -> tuple[Any, ...]:
        number = head.statistics[key]
        return (True, 0) if math.isnan(number) else (False, sign * number)

    return sorted(heads, key=order)
