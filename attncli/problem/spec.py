"""ProblemSpec: a checked problem, as plans, engines and writers read it; its fields are the keys of a problem file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from attncli.base.dtypes import NAMES, Precision
from attncli.base.lazy_numpy import Array
from attncli.ops import kinds, look_up
from attncli.ops.records import Operator
from attncli.problem.fields import (
    CACHE,
    HEADS,
    INPUTS,
    MASKS,
    NUMBERS,
    PROJECTIONS,
    QUERIES,
    RANDOM,
    STAGES,
    Field,
    problem_field,
)
from attncli.problem.labels import find_label, number_equal_labels, numbered_labels
from attncli.problem.layout import Layout
from attncli.problem.origins import ArrayOrigin


@dataclass(frozen=True, kw_only=True)
class ProblemSpec:
    """A problem whose values were converted and checked by `attncli.problem.build.build`, the only way to make one.

    Sequences are [n d], with batch items [b n d], or with a head axis [b h n d]. Weight matrices are in_out, as
    `x @ W` takes them, also where `weight_layout` is out_in.
    """

    embeddings: Array | None = problem_field(
        "matrix",
        INPUTS,
        "the sequence; queries, keys and values are projected from it",
        letters="m x",
        axis_counts=(2, 3),
        is_random_fill=True,
    )
    query_embeddings: Array | None = problem_field(
        "matrix",
        INPUTS,
        "a second sequence that asks (cross-attention)",
        letters="n y",
        axis_counts=(2, 3),
        is_random_fill=True,
    )
    tokens: tuple[str, ...] | None = problem_field(
        "labels", INPUTS, "labels of the rows of embeddings or key", letters="m"
    )
    query_tokens: tuple[str, ...] | None = problem_field("labels", INPUTS, "labels of the queries", letters="n")
    sentence: str | None = problem_field(
        "text", INPUTS, "text whose words are looked up in the vocabulary, or get a vector each from seed and dim"
    )
    vocabulary: Mapping[str, Array] | None = problem_field("vocabulary", INPUTS, "the vector of each word")
    query: Array | None = problem_field(
        "matrix", INPUTS, "queries, already projected", letters="n d", axis_counts=(2, 3, 4), is_random_fill=True
    )
    key: Array | None = problem_field(
        "matrix", INPUTS, "keys, already projected", letters="m c", axis_counts=(2, 3, 4), is_random_fill=True
    )
    value: Array | None = problem_field(
        "matrix",
        INPUTS,
        "values, already projected; without it the keys",
        letters="m e",
        axis_counts=(2, 3, 4),
        is_random_fill=True,
    )
    w_q: Array | None = problem_field(
        "matrix",
        PROJECTIONS,
        "query weights; without it the identity",
        letters="y d",
        is_weight=True,
        is_random_fill=True,
    )
    w_k: Array | None = problem_field(
        "matrix", PROJECTIONS, "key weights", letters="x c", is_weight=True, is_random_fill=True
    )
    w_v: Array | None = problem_field(
        "matrix", PROJECTIONS, "value weights", letters="x e", is_weight=True, is_random_fill=True
    )
    w_o: Array | None = problem_field(
        "matrix",
        PROJECTIONS,
        "output weights, after the heads are merged",
        letters="h·e o",
        is_weight=True,
        is_random_fill=True,
    )
    b_q: Array | None = problem_field("vector", PROJECTIONS, "query bias", letters="d", is_random_fill=True)
    b_k: Array | None = problem_field("vector", PROJECTIONS, "key bias", letters="c", is_random_fill=True)
    b_v: Array | None = problem_field("vector", PROJECTIONS, "value bias", letters="e", is_random_fill=True)
    b_o: Array | None = problem_field("vector", PROJECTIONS, "output bias", letters="o", is_random_fill=True)
    weight_layout: str = problem_field(
        "word",
        PROJECTIONS,
        "how matrices are stored: in_out (x @ W) or out_in (x @ W.T, as nn.Linear does)",
        default="in_out",
        words=("in_out", "out_in"),
    )
    heads: int | None = problem_field("integer", HEADS, "query heads that attend side by side; without it one", least=1)
    kv_heads: int | None = problem_field("integer", HEADS, "key and value heads, each for several query heads", least=1)
    qk_norm: Operator | None = problem_field("qk_norm", HEADS, "brings queries and keys of each head to one size")
    sink: Array | None = problem_field(
        "vector",
        HEADS,
        "a logit for each head that takes part in the softmax and is dropped",
        letters="h",
        decides_dtype=False,
    )
    score: Operator = problem_field(
        "score",
        STAGES,
        "how well each key answers each query",
        default=Operator(look_up("score", "scaled_dot")),
    )
    scale: float | None = problem_field("number", STAGES, "number multiplied into the score instead of the score's own")
    softcap: float | None = problem_field(
        "number", STAGES, "squeezes scores between -softcap and softcap, before bias and masks", above=0
    )
    position: Operator | None = problem_field("position", STAGES, "what tells the model where queries and keys stand")
    normalize: Operator = problem_field(
        "normalize", STAGES, "from scores to weights", default=Operator(look_up("normalize", "softmax"))
    )
    context: Operator = problem_field(
        "context",
        STAGES,
        "from weights and values to the answer",
        default=Operator(look_up("context", "weighted_sum")),
    )
    mask: Array | Operator | None = problem_field(
        "boolean_matrix",
        MASKS,
        "1 or true where the query may attend to the key (broadcasts), or the name of a mask",
        letters="n m",
        axis_counts=(1, 2, 3, 4),
        decides_dtype=False,
        is_mask=True,
    )
    bias: Array | None = problem_field(
        "matrix",
        MASKS,
        "numbers added to the scores; broadcasts",
        letters="n m",
        axis_counts=(1, 2, 3, 4),
        decides_dtype=False,
        is_mask=True,
    )
    causal: bool = problem_field("flag", MASKS, "no query sees a key that stands after it", default=False, is_mask=True)
    window: tuple[float, float] | None = problem_field(
        "window",
        MASKS,
        "keys visible to the left and right of a query; inf or -1 for no limit",
        is_mask=True,
    )
    key_lengths: Array | None = problem_field(
        "counts",
        MASKS,
        "how many keys of each batch item are real; the rest is padding",
        letters="b",
        decides_dtype=False,
        is_mask=True,
    )
    key_mask: Array | None = problem_field(
        "booleans",
        MASKS,
        "1 for a real key, 0 for padding, as tokenizers give it",
        letters="b m",
        axis_counts=(1, 2),
        decides_dtype=False,
        is_mask=True,
    )
    align: str = problem_field(
        "word",
        MASKS,
        "where queries stand among the keys: from the first (after the cache), or up to the last real key",
        default="top_left",
        words=("top_left", "bottom_right"),
    )
    past_key: Array | None = problem_field(
        "matrix", CACHE, "keys that come before key", letters="p c", axis_counts=(2, 3, 4)
    )
    past_value: Array | None = problem_field(
        "matrix", CACHE, "values that come before value", letters="p e", axis_counts=(2, 3, 4)
    )
    only: tuple[str, ...] | None = problem_field(
        "labels", QUERIES, "the queries to compute: labels, or positions from 0", letters="n"
    )
    seed: int | None = problem_field("integer", RANDOM, "starts the random numbers", least=0)
    generator: str = problem_field(
        "word",
        RANDOM,
        "the stream of random numbers: pcg64, or legacy (numpy.random.seed)",
        default="pcg64",
        words=("pcg64", "legacy"),
    )
    init: Operator | None = problem_field("generator", RANDOM, "draws every projection, and embedding, that is missing")
    token_count: int | None = problem_field("integer", RANDOM, "how many embeddings to draw", least=1)
    dim: int | None = problem_field("integer", RANDOM, "features of the embeddings to draw", least=1)
    d_k: int | None = problem_field("integer", RANDOM, "columns of w_q and w_k to draw; without it dim", least=1)
    d_v: int | None = problem_field("integer", RANDOM, "columns of w_v to draw; without it dim", least=1)

    dtype: str | None = problem_field(
        "word", NUMBERS, "the type that is computed and stored; without it the inputs' own", words=NAMES
    )

    layout: Layout = field(repr=False)
    # The length of each axis letter, as one head has it.
    lengths: Mapping[str, int] = field(repr=False)
    # Where each field was given, by its name, or `score.w1` of an operator's array; nothing in Python.
    origins: Mapping[str, ArrayOrigin] = field(repr=False, compare=False)
    # The generator of each array that was made, by the name of its field, or `score.w1` of an operator's.
    generators: Mapping[str, Operator] = field(repr=False, compare=False)
    # Why nothing reads a key, for each key that was given and that nothing reads.
    unread: Mapping[str, str] = field(repr=False, compare=False)

    def origin_of(self, name: str) -> ArrayOrigin | None:
        """Where the array of a field was given, embeddings that stand in a vocabulary with it; None in Python."""
        if name == "embeddings" and self.vocabulary is not None:
            vocabulary = self.origins.get("vocabulary")
            return None if vocabulary is None else ArrayOrigin(vocabulary.name)
        return self.origins.get(name)

    @property
    def precision(self) -> Precision:
        """The type that is computed and stored."""
        return Precision(self.dtype or "float64")

    @property
    def is_self_attention(self) -> bool:
        """Whether queries and keys come from one sequence."""
        return self.query is None and self.query_embeddings is None

    @property
    def query_source(self) -> Array:
        """The array whose rows become queries: `query`, `query_embeddings` or `embeddings`."""
        return next(x for x in (self.query, self.query_embeddings, self.embeddings) if x is not None)

    @property
    def past_count(self) -> int:
        """The number of cached keys."""
        return self.lengths.get("p", 0)

    @property
    def new_key_count(self) -> int:
        """The number of keys without the cached ones."""
        return self.lengths[self.new_key_letter]

    @property
    def new_key_letter(self) -> str:
        """The letter of the keys that are given or projected: `m`, or `k` where others are cached."""
        return new_key_letter(self.past_key)

    @property
    def key_labels(self) -> tuple[str, ...]:
        """The label of each key, cached ones first: its token, or a word and its number from 1."""
        past, new = self.past_count, self.new_key_count
        if self.tokens and len(self.tokens) == past + new:
            return self.tokens
        word = "token" if self.is_self_attention else "key"
        return numbered_labels("past", past) + (self.tokens or numbered_labels(word, new))

    @property
    def query_labels(self) -> tuple[str, ...]:
        """The label of each query, also of those that `only` leaves out."""
        if self.query_tokens:
            return self.query_tokens
        count = int(self.query_source.shape[-2])
        if self.is_self_attention or (self.query_embeddings is None and self.tokens and count == self.new_key_count):
            return self.key_labels[self.past_count :]
        return numbered_labels("query", count)

    @property
    def selected_query_labels(self) -> tuple[str, ...]:
        """The labels of the queries that are computed."""
        labels, selected = self.query_labels, self.selected_queries
        return labels if selected is None else tuple(labels[index] for index in selected)

    @property
    def numbered_query_labels(self) -> tuple[str, ...]:
        """The labels of the queries that are computed, equal ones with their number among all queries: `the#2`."""
        labels, selected = number_equal_labels(self.query_labels), self.selected_queries
        return labels if selected is None else tuple(labels[index] for index in selected)

    @cached_property
    def selected_queries(self) -> list[int] | None:
        """The positions of the queries that are computed, or None for all."""
        if self.only is None:
            return None
        labels = self.query_labels
        return [index for label in self.only for index in find_label(label, labels, where="only")]


def new_key_letter(past_key: Array | None) -> str:
    """The letter of the keys that are given or projected: `m`, or `k` where others are cached."""
    return "m" if past_key is None else "k"


FIELDS: Mapping[str, Field] = {f.name: Field(name=f.name, **f.metadata) for f in fields(ProblemSpec) if f.metadata}
# The value of each field that is not given.
DEFAULTS: Mapping[str, Any] = {
    f.name: f.default_factory() if callable(f.default_factory) else f.default for f in fields(ProblemSpec) if f.metadata
}
# The fields that may hold an operator of the computation, in the order of the registry's kinds.
OPERATOR_FIELDS = tuple(
    name
    for kind in kinds()
    for name, field in FIELDS.items()
    if kind != "generator" and field.kind == ("boolean_matrix" if kind == "mask" else kind)
)
