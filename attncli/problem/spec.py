"""ProblemSpec: a checked problem, as plans, engines and writers read it; its fields are the keys of a problem file."""

from collections.abc import Hashable, Mapping
from dataclasses import field, fields
from functools import cached_property
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import NAMES, Precision
from attncli.base.lazy_numpy import Array
from attncli.ops import look_up, taken_kinds
from attncli.ops.gates import GATES
from attncli.ops.records import Operator
from attncli.ops.rules import PositionAxes
from attncli.problem.fields import (
    CACHE,
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
from attncli.problem.origins import ArrayOrigin, ConventionUse
from attncli.problem.results import DEFAULT_SELECTION, given_table, reasons_not_computed


def signature_of(value: Any) -> Hashable:
    """The shape of an array, the record and parameters of an operator, any other value itself.

    >>> import numpy as np
    >>> signature_of(np.zeros((2, 3))), signature_of(-0.0), signature_of("softmax")
    ((2, 3), '-0.0', 'softmax')
    """
    if isinstance(value, str):
        return value
    if hasattr(value, "shape"):
        shape: tuple[int, ...] = value.shape
        return shape
    if isinstance(value, Operator):
        return value.record, tuple((name, signature_of(parameter)) for name, parameter in value.given.items())
    if isinstance(value, float):
        return repr(value)  # 0 and −0 are equal, but lead to different results
    return value if isinstance(value, Hashable) else repr(value)


@dataclass(frozen=True, kw_only=True)
class ProblemSpec:
    """A problem whose values were converted and checked by `attncli.problem.build.build`, the only way to make one.

    What is worked out once for a problem, as a cached property, follows from shapes, types and words alone: problems
    that differ in numbers share it (`attncli.problem.forms`).

    Sequences are [n d], with batch items [b n d], or with a head axis [b h n d]. Weight matrices are in_out, as
    `x @ W` takes them, also where `weight_layout` is out_in.
    """

    embeddings: Array | None = problem_field(
        "matrix",
        INPUTS,
        "the sequence, of which queries, keys and values are made",
        letters="m x",
        axis_counts=(2, 3),
        is_random_fill=True,
        is_common=True,
        example="[[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]",
        template="active",
    )
    residual: Array | None = problem_field(
        "matrix",
        INPUTS,
        "the residual stream before the layer's norm; residual_norm makes embeddings of it",
        letters="m x",
        axis_counts=(2, 3),
        is_random_fill=True,
        example="[[3, 4, 0, 0], [0, 6, 8, 0], [1, 1, 1, 1]]",
        template="together",
    )
    residual_norm: Operator | None = problem_field(
        "residual_norm",
        INPUTS,
        "the layer's norm: brings the vectors of residual, or of tokens, to one size",
        example="rms",
        template="together",
    )
    query_embeddings: Array | None = problem_field(
        "matrix",
        INPUTS,
        "a second sequence that asks (cross-attention)",
        letters="n y",
        axis_counts=(2, 3),
        is_random_fill=True,
        last_result="scores",
        example="[[1, 0, 0, 1], [0, 1, 1, 0]]",
    )
    tokens: tuple[str, ...] | None = problem_field(
        "labels",
        INPUTS,
        "labels of the rows of embeddings or key; with token_table, the rows that are looked up",
        letters="m",
        example="[the, cat, sat]",
        template="active",
    )
    query_tokens: tuple[str, ...] | None = problem_field(
        "labels", INPUTS, "labels of the queries", letters="n", example="[le, chat, dort]"
    )
    sentence: str | None = problem_field(
        "text",
        INPUTS,
        "text; each word has its vector in vocabulary, or drawn",
        is_common=True,
        example="the cat sat",
        template="together",
    )
    vocabulary: Mapping[str, Array] | None = problem_field(
        "vocabulary",
        INPUTS,
        "the vector of each word",
        example="{the: [1, 0], cat: [0, 1], sat: [1, 1]}",
        template="together",
    )
    token_table: Array | None = problem_field(
        "matrix",
        INPUTS,
        "a vector in each row, looked up by tokens that are numbers: 464,3797",
        letters="t x",
        is_row_table=True,
        example="[[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]",
        template="together",
    )
    token_positions: Array | None = problem_field(
        "matrix",
        INPUTS,
        "row i is added to the token that stands at position i",
        letters="t x",
        is_row_table=True,
        example="[[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]]",
        template="together",
    )
    token_scale: float | None = problem_field(
        "number",
        INPUTS,
        "number multiplied into the vectors of tokens, before positions",
        example="2",
        template="together",
    )
    query: Array | None = problem_field(
        "matrix",
        INPUTS,
        "queries, already projected",
        letters="n d",
        axis_counts=(2, 3, 4),
        is_random_fill=True,
        is_common=True,
        last_result="scores",
        example="[[1, 0, 0, 1], [0, 1, 1, 0]]",
    )
    key: Array | None = problem_field(
        "matrix",
        INPUTS,
        "keys, already projected",
        letters="m c",
        axis_counts=(2, 3, 4),
        is_random_fill=True,
        is_common=True,
        last_result="scores",
        example="[[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0]]",
    )
    value: Array | None = problem_field(
        "matrix",
        INPUTS,
        "values, already projected; without it the keys",
        letters="m e",
        axis_counts=(2, 3, 4),
        is_random_fill=True,
        is_common=True,
        example="[[1, 0], [0, 1], [2, 2]]",
        template="together",
    )
    scores: Array | None = problem_field(
        "matrix",
        INPUTS,
        "scores in place of what makes them, before softcap; [n m], [b n m], or with heads [h n m], [b h n m]",
        letters="n m",
        axis_counts=(2, 3, 4),
        is_random_fill=True,
        example="[[1.7, 0.2, 0.8]]",
    )
    weights: Array | None = problem_field(
        "matrix",
        INPUTS,
        "weights in place of what makes them; [n m], [b n m], or with heads [h n m], [b h n m]",
        letters="n m",
        axis_counts=(2, 3, 4),
        is_random_fill=True,
        example="[[0.5, 0.5, 0], [0, 0.5, 0.5]]",
    )
    w_q: Array | None = problem_field(
        "matrix",
        PROJECTIONS,
        "query weights; without it the identity",
        letters="y d",
        is_weight=True,
        is_random_fill=True,
        is_common=True,
        last_result="scores",
        example="identity",
    )
    w_k: Array | None = problem_field(
        "matrix",
        PROJECTIONS,
        "key weights",
        letters="x c",
        is_weight=True,
        is_random_fill=True,
        is_common=True,
        last_result="scores",
        example="identity",
    )
    w_v: Array | None = problem_field(
        "matrix",
        PROJECTIONS,
        "value weights",
        letters="x e",
        is_weight=True,
        is_random_fill=True,
        is_common=True,
        last_result="output",
        example="identity",
    )
    w_o: Array | None = problem_field(
        "matrix",
        PROJECTIONS,
        "output weights, after the heads are merged",
        letters="h·e o",
        is_weight=True,
        is_random_fill=True,
        last_result="output",
        example="identity",
    )
    b_q: Array | None = problem_field(
        "vector",
        PROJECTIONS,
        "query bias",
        letters="d",
        is_random_fill=True,
        last_result="scores",
        example="[1, 0, 0, 0]",
    )
    b_k: Array | None = problem_field(
        "vector",
        PROJECTIONS,
        "key bias",
        letters="c",
        is_random_fill=True,
        last_result="scores",
        example="[0, 1, 0, 0]",
    )
    b_v: Array | None = problem_field(
        "vector",
        PROJECTIONS,
        "value bias",
        letters="e",
        is_random_fill=True,
        last_result="output",
        example="[0, 0, 1, 0]",
    )
    b_o: Array | None = problem_field(
        "vector",
        PROJECTIONS,
        "output bias",
        letters="o",
        is_random_fill=True,
        last_result="output",
        example="[0, 0, 0, 1]",
    )
    w_qkv: Array | None = problem_field(
        "matrix",
        PROJECTIONS,
        "query, key and value weights in one matrix, in the order that packing says",
        letters="x d+c+e",
        is_weight=True,
        is_random_fill=True,
        packs=("w_q", "w_k", "w_v"),
        last_result="output",
        example="identity",
    )
    b_qkv: Array | None = problem_field(
        "vector",
        PROJECTIONS,
        "query, key and value bias in one list, as packing says",
        letters="d+c+e",
        is_random_fill=True,
        packs=("b_q", "b_k", "b_v"),
        last_result="output",
        example="ones",
    )
    w_kv: Array | None = problem_field(
        "matrix",
        PROJECTIONS,
        "key and value weights in one matrix, as packing says",
        letters="x c+e",
        is_weight=True,
        is_random_fill=True,
        packs=("w_k", "w_v"),
        last_result="output",
        example="identity",
    )
    b_kv: Array | None = problem_field(
        "vector",
        PROJECTIONS,
        "key and value bias in one list, as packing says",
        letters="c+e",
        is_random_fill=True,
        packs=("b_k", "b_v"),
        last_result="output",
        example="ones",
    )
    w_g: Array | None = problem_field(
        "matrix",
        PROJECTIONS,
        "gate weights: the merged heads are multiplied by a gate of the queries' sequence",
        letters="y u",
        is_weight=True,
        is_random_fill=True,
        last_result="output",
        example="identity",
    )
    b_g: Array | None = problem_field(
        "vector",
        PROJECTIONS,
        "gate bias",
        letters="u",
        is_random_fill=True,
        last_result="output",
        example="[0, 0, 0, 0]",
    )
    w_qg: Array | None = problem_field(
        "matrix",
        PROJECTIONS,
        "query and gate weights in one matrix, of each head its query, then its gate",
        letters="y d+u",
        is_weight=True,
        is_random_fill=True,
        packs=("w_q", "w_g"),
        last_result="output",
        example="identity",
    )
    b_qg: Array | None = problem_field(
        "vector",
        PROJECTIONS,
        "query and gate bias in one list, of each head its query's, then its gate's",
        letters="d+u",
        is_random_fill=True,
        packs=("b_q", "b_g"),
        last_result="output",
        example="ones",
    )
    gate: str = problem_field(
        "word",
        PROJECTIONS,
        "the function of the projected gate",
        default="sigmoid",
        words=tuple(GATES),
        last_result="output",
        example="silu",
    )
    packing: str = problem_field(
        "word",
        PROJECTIONS,
        "the order in packed projections: all queries, keys, values; or those of each head; or of each key head",
        default="concatenated",
        words=("concatenated", "per_head", "per_group"),
        word_meanings=(
            "│ q₀ q₁ q₂ q₃ │ k₀ k₁ │ v₀ v₁ │ as GPT-2, Phi-3 and PyTorch's in_proj_weight",
            "│ q₀ k₀ v₀ │ q₁ k₁ v₁ │ as GPT-NeoX and BLOOM",
            "│ q₀ q₁ k₀ v₀ │ q₂ q₃ k₁ v₁ │ as Falcon 40B and InternLM2",
        ),
        last_result="output",
        example="per_head",
    )
    weight_layout: str = problem_field(
        "word",
        PROJECTIONS,
        "how matrices are stored: in_out (x @ W) or out_in (x @ W.T, as nn.Linear does)",
        default="in_out",
        words=("in_out", "out_in"),
        example="out_in",
    )
    heads: int | None = problem_field(
        "integer",
        PROJECTIONS,
        "query heads that attend side by side; without it one",
        least=1,
        is_common=True,
        example="2",
    )
    kv_heads: int | None = problem_field(
        "integer",
        PROJECTIONS,
        "key and value heads, each for several query heads",
        least=1,
        last_result="output",
        example="1",
    )
    qk_norm: Operator | None = problem_field(
        "qk_norm", PROJECTIONS, "brings queries and keys of each head to one size", last_result="scores", example="l2"
    )
    clip_qkv: float | None = problem_field(
        "number",
        PROJECTIONS,
        "queries, keys and values are limited to ± this number after their projection",
        above=0,
        last_result="output",
        example="8",
    )
    value_scale: float | None = problem_field(
        "number",
        PROJECTIONS,
        "number multiplied into the values after their projection",
        last_result="output",
        example="1/2",
    )
    query_scale: Operator | None = problem_field(
        "query_scale",
        PROJECTIONS,
        "a factor for each query that grows with its position, after norm and rope",
        last_result="scores",
        example="log_steps:length=2,offset=0",
    )
    value_norm: Operator | None = problem_field(
        "value_norm", PROJECTIONS, "brings values of each head to one size", last_result="output", example="rms"
    )
    context_norm: Operator | None = problem_field(
        "context_norm",
        PROJECTIONS,
        "brings the context of each head to one size, before w_o",
        last_result="output",
        example="rms",
    )
    sink: Array | None = problem_field(
        "vector",
        PROJECTIONS,
        "a score for each head that takes part in the softmax like that of one more key, and is then dropped",
        letters="h",
        decides_dtype=False,
        last_result="weights",
        example="[0]",
    )
    score: Operator = problem_field(
        "score",
        STAGES,
        "how well each key answers each query",
        default=Operator(look_up("score", "scaled_dot")),
        is_common=True,
        last_result="scores",
        example="scaled_dot",
        template="active",
    )
    scale: float | None = problem_field(
        "number",
        STAGES,
        "number multiplied into the score instead of the score's own",
        last_result="scores",
        example="1/sqrt(2)",
    )
    softcap: float | None = problem_field(
        "number",
        STAGES,
        "squeezes scores between -softcap and softcap, before bias and masks",
        above=0,
        last_result="weights",
        example="30",
    )
    position: Operator | None = problem_field(
        "position",
        STAGES,
        "what tells the model where queries and keys stand",
        is_common=True,
        example="sinusoidal",
    )
    positions: Array | None = problem_field(
        "positions",
        STAGES,
        "where the rows of embeddings or key stand, for rope and positions added to embeddings; masks count rows",
        letters="m",
        axis_counts=(1, 2, 3),
        decides_dtype=False,
        example="[0, 1, 5]",
    )
    positions_of_queries: Array | None = problem_field(
        "positions",
        STAGES,
        "where the rows of query_embeddings or query stand, if not where those of positions do",
        letters="n",
        axis_counts=(1, 2, 3),
        decides_dtype=False,
        example="[0, 1, 5]",
    )
    normalize: Operator = problem_field(
        "normalize",
        STAGES,
        "from scores to weights",
        default=Operator(look_up("normalize", "softmax")),
        is_common=True,
        last_result="weights",
        example="softmax",
        template="active",
    )
    context: Operator = problem_field(
        "context",
        STAGES,
        "from weights and values to the answer",
        default=Operator(look_up("context", "weighted_sum")),
        last_result="output",
        example="weighted_sum",
        template="active",
    )
    mask: Array | Operator | None = problem_field(
        "boolean_matrix",
        MASKS,
        "1 or true where the query may attend to the key (broadcasts), or the name of a mask",
        letters="n m",
        axis_counts=(1, 2, 3, 4),
        neutral=1,
        decides_dtype=False,
        is_mask=True,
        is_common=True,
        last_result="weights",
        example="[[1, 0, 1], [1, 1, 0], [1, 1, 1]]",
    )
    bias: Array | None = problem_field(
        "matrix",
        MASKS,
        "numbers added to the scores; broadcasts",
        letters="n m",
        axis_counts=(1, 2, 3, 4),
        neutral=0,
        decides_dtype=False,
        is_mask=True,
        last_result="weights",
        example="[[0, 0, -1], [0, 0, 0], [1/2, 0, 0]]",
    )
    causal: bool = problem_field(
        "flag",
        MASKS,
        "no query sees a key that stands after it",
        default=False,
        is_mask=True,
        is_common=True,
        last_result="weights",
        example="true",
    )
    window: tuple[float, float] | None = problem_field(
        "window",
        MASKS,
        "keys visible left and right of a query; inf or -1: all",
        is_mask=True,
        is_common=True,
        last_result="weights",
        example="[1, 0]",
    )
    key_lengths: Array | None = problem_field(
        "counts",
        MASKS,
        "how many keys of each batch item are real; the rest is padding",
        letters="b",
        decides_dtype=False,
        is_mask=True,
        last_result="weights",
        example="[2]",
    )
    key_mask: Array | None = problem_field(
        "booleans",
        MASKS,
        "1 for a real key, 0 for padding, as tokenizers give it",
        letters="b m",
        axis_counts=(1, 2),
        neutral=1,
        decides_dtype=False,
        is_mask=True,
        last_result="weights",
        example="[1, 1, 0]",
    )
    align: str = problem_field(
        "word",
        MASKS,
        "where queries stand among the keys: after the cache, at the first key of all, or up to the last real key",
        default="top_left",
        words=("top_left", "first_key", "bottom_right"),
        example="bottom_right",
    )
    empty_rows: str = problem_field(
        "word",
        MASKS,
        "the weights of a query that may attend to nothing, where those of others sum to 1",
        default="zeros",
        words=("zeros", "nan", "uniform"),
        last_result="weights",
        example="nan",
    )
    past_key: Array | None = problem_field(
        "matrix",
        CACHE,
        "keys that come before key",
        letters="p c",
        axis_counts=(2, 3, 4),
        last_result="scores",
        example="[[1, 0, 0, 0]]",
        template="together",
    )
    past_value: Array | None = problem_field(
        "matrix",
        CACHE,
        "values that come before value",
        letters="p e",
        axis_counts=(2, 3, 4),
        example="[[0, 0, 0, 1]]",
        template="together",
    )
    only: tuple[str, ...] | None = problem_field(
        "labels",
        QUERIES,
        "the queries to compute: labels, or positions from 0",
        letters="n",
        example="[cat]",
    )
    seed: int | None = problem_field(
        "integer", RANDOM, "starts the random numbers", least=0, is_common=True, example="1"
    )
    generator: str = problem_field(
        "word",
        RANDOM,
        "the stream of random numbers: pcg64, or legacy (numpy.random.seed)",
        default="pcg64",
        words=("pcg64", "legacy"),
        example="legacy",
    )
    init: Operator | None = problem_field(
        "generator", RANDOM, "draws every projection, and embedding, that is missing", example="identity"
    )
    token_count: int | None = problem_field(
        "integer", RANDOM, "how many embeddings to draw", least=1, is_common=True, example="3"
    )
    dim: int | None = problem_field(
        "integer", RANDOM, "features of the embeddings to draw", least=1, is_common=True, example="4"
    )
    d_k: int | None = problem_field(
        "integer",
        RANDOM,
        "columns of w_q and w_k that are drawn or packed; without it dim, or equal parts",
        least=1,
        example="4",
    )
    d_v: int | None = problem_field(
        "integer",
        RANDOM,
        "columns of w_v that are drawn or packed; without it dim, or equal parts",
        least=1,
        example="4",
    )

    dtype: str | None = problem_field(
        "word",
        NUMBERS,
        "the type that is computed and stored; without it the inputs' own",
        words=NAMES,
        example="float32",
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
    # What a convention has made of the words that were given; None where they were read as attn reads them.
    convention: ConventionUse | None = field(default=None, repr=False, compare=False)

    def origin_of(self, name: str) -> ArrayOrigin | None:
        """Where the array of a field was given, embeddings that stand in a vocabulary with it; None in Python."""
        if name == "embeddings" and self.vocabulary is not None:
            vocabulary = self.origins.get("vocabulary")
            return None if vocabulary is None else ArrayOrigin(vocabulary.name)
        return self.origins.get(name)

    @property
    def embeddings_source(self) -> str:
        """The key of the array that embeddings are made of: `residual`, `token_table`, or they themselves.

        A table has the rows of the tokens alone. Each is there only where embeddings are made of it: `embeddings` has
        the same array then, before it is scaled and normalized.
        """
        return next((name for name in ("residual", "token_table") if getattr(self, name) is not None), "embeddings")

    @cached_property
    def precision(self) -> Precision:
        """The type that is computed and stored."""
        return Precision(self.dtype or "float64")

    @cached_property
    def signature(self) -> Hashable:
        """Everything that a plan depends on: shapes of arrays, operators, options and selected queries."""
        selected = self.selected_queries
        return (
            None if selected is None else tuple(selected),
            self.vocabulary is not None,
            *((name, signature_of(value)) for name in _PLANNED_FIELDS if (value := getattr(self, name)) is not None),
        )

    @cached_property
    def given_table(self) -> str | None:
        """The table that is given in place of what makes it, "scores" or "weights"; None where scores are computed."""
        return given_table(vars(self))

    @cached_property
    def not_computed(self) -> Mapping[str, str]:
        """Why the problem does not compute scores, weights or output, for each of them that it does not compute."""
        return reasons_not_computed(vars(self))

    @cached_property
    def default_selection(self) -> tuple[str, ...]:
        """The names of the results that are selected where none is named: scores, weights and output."""
        return tuple(name for name in DEFAULT_SELECTION if name == self.given_table or name not in self.not_computed)

    @property
    def is_self_attention(self) -> bool:
        """Whether queries and keys come from one sequence; a square table is read as that of the embeddings."""
        if self.given_table is not None:
            return self.embeddings is not None and self.query_count == self.new_key_count
        return self.query is None and self.query_embeddings is None

    @property
    def query_source(self) -> Array:
        """The array whose rows are the queries: the given table, `query`, `query_embeddings` or `embeddings`."""
        arrays = (self.weights, self.scores, self.query, self.query_embeddings, self.embeddings)
        return next(x for x in arrays if x is not None)

    @property
    def query_count(self) -> int:
        """The number of queries, also of those that `only` leaves out."""
        return int(self.query_source.shape[-2])

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
        return new_key_letter(self.past_value)

    @property
    def key_feature_letter(self) -> str:
        """The letter that steps have for features of keys: that of queries where the score compares them one by one."""
        return self.score.record.shapes.arrays.get("key", ("m", "c"))[-1]

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
        count = self.query_count
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


def new_key_letter(past_value: Array | None) -> str:
    """The letter of the keys that are given or projected: `m`, or `k` where others are cached."""
    return "m" if past_value is None else "k"


FIELDS: Mapping[str, Field] = {f.name: Field(name=f.name, **f.metadata) for f in fields(ProblemSpec) if f.metadata}
# A plan depends on neither words nor how numbers are drawn; what is drawn counts by its shape.
_PLANNED_FIELDS = tuple(
    name
    for name, field in FIELDS.items()
    if field.kind not in ("labels", "text", "vocabulary") and field.panel != RANDOM
)
# The value of each field that is not given.
DEFAULTS: Mapping[str, Any] = {
    f.name: f.default_factory() if callable(f.default_factory) else f.default for f in fields(ProblemSpec) if f.metadata
}
# The fields that may hold an operator of the computation, in the order of the registry's kinds.
OPERATOR_FIELDS = tuple(
    name
    for kind in taken_kinds()
    for name, field in FIELDS.items()
    if kind != "generator" and field.kind == ("boolean_matrix" if kind == "mask" else kind)
)


def position_axes(problem: ProblemSpec) -> PositionAxes | None:
    """The axes that positions are on, where the position scheme reads several; otherwise None."""
    position = problem.position
    if position is None or position.record.position_axes is None:
        return None
    return position.record.position_axes(position.parameters)


def positions_of(problem: ProblemSpec, role: str) -> str | None:
    """The key that gives the positions of queries or of keys; None where none does.

    `positions` are those of the queries too, unless `positions_of_queries` are given.

    >>> from attncli.problem.build import build
    >>> problem = build({"embeddings": [[1, 2]], "position": "rope", "positions": [3]})
    >>> positions_of(problem, "query"), positions_of(problem, "key")
    ('positions', 'positions')
    """
    if role == "query" and problem.positions_of_queries is not None:
        return "positions_of_queries"
    return "positions" if problem.positions is not None else None
