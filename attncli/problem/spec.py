"""ProblemSpec: a checked problem for plans, engines and writers; its fields are the keys of a problem file."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from attncli.base.dtypes import NAMES, Precision
from attncli.base.errors import AttnError
from attncli.base.labels import find_label, number_equal_labels, numbered_labels
from attncli.base.lazy_numpy import Array, np
from attncli.ops import look_up, taken_kinds
from attncli.ops.records import Operator, PositionAxes
from attncli.problem.arrays import ArrayOrigin
from attncli.problem.fields import (
    CACHE,
    DEFAULT_SELECTION,
    DIFFERENCE,
    GRADIENTS,
    INPUTS,
    MASKS,
    NUMBERS,
    OUTPUT,
    PROJECTIONS,
    QUERIES,
    RANDOM,
    STAGES,
    Field,
    given_table,
    integer,
    labels,
    matrix,
    number,
    offset,
    reasons_not_computed,
    row,
    weight,
    word,
)
from attncli.problem.layout import ARRAY_LAYOUTS, LAYOUTS_ELSEWHERE, OWN_LAYOUTS, Layout, laid_out, layout_text
from attncli.problem.mask_expressions import MaskExpression, MaskLeaf, reads_index_scores


@dataclass(frozen=True)
class ConventionUse:
    """How the keys of a problem were read: the convention's name and version, and the differences from attn.

    `changes` has a line for each given word that the convention reads differently from attn, `remarks` one for each
    word that it lacks, which attn reads in its own way.
    """

    name: str
    version: str
    changes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"as {self.name} ({'; '.join(self.changes)})" if self.changes else f"as {self.name}"

    def as_object(self) -> dict[str, Any]:
        """Its fields for JSON."""
        return {
            "name": self.name,
            "version": self.version,
            "changes": list(self.changes),
            "remarks": list(self.remarks),
        }


def signature_of(value: Any) -> Hashable:
    """The shape of an array, the record and parameters of an operator, or any other value itself.

    >>> import numpy as np
    >>> signature_of(np.zeros((2, 3))), signature_of(-0.0), signature_of("softmax")
    ((2, 3), '-0.0', 'softmax')
    """
    if isinstance(value, str):
        return value
    if hasattr(value, "shape"):
        shape: tuple[int, ...] = value.shape
        return shape
    if isinstance(value, (MaskExpression, MaskLeaf)):
        return value.signature(signature_of)
    if isinstance(value, Operator):
        return value.record, tuple((name, signature_of(parameter)) for name, parameter in value.given.items())
    if isinstance(value, float):
        return repr(value)  # 0 and −0 are equal, but give different results
    return value if isinstance(value, Hashable) else repr(value)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProblemSpec:
    """A problem with converted and checked values; only `attncli.problem.build.build` makes one.

    Its cached properties depend only on shapes, types and choices: problems that differ in numbers share them
    (`attncli.problem.problem_cache`).

    Sequences are [n d], with batch items [b n d], or with a head axis [b h n d]. Weight matrices are in_out, as in `x @
    W`, even if `weight_layout` is out_in.
    """

    # A table: the formatter would turn each row's two or three lines into eight.
    # fmt: off
    embeddings: Array | None = matrix(INPUTS, "[b] m x", "the sequence, for queries, keys and values",
        "[[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]", is_random_fill=True, is_common=True, template="active")
    residual: Array | None = matrix(INPUTS, "[b] m x",
        "the residual stream, before the norm of the layer; residual_norm makes embeddings of it",
        "[[3, 4, 0, 0], [0, 6, 8, 0], [1, 1, 1, 1]]", is_random_fill=True, template="together")
    residual_norm: Operator | None = row("residual_norm", INPUTS,
        "the norm of the layer: normalizes residual, or the vectors of tokens", "rms", template="together")
    query_embeddings: Array | None = matrix(INPUTS, "[b] n y",
        "a second sequence, for the queries (cross-attention)", "[[1, 0, 0, 1], [0, 1, 1, 0]]",
        is_random_fill=True, used_by="queries")
    tokens: tuple[str, ...] | None = labels(INPUTS,
        "labels of the rows of embeddings or key, or a file of them; with token_table, the rows to look up",
        "[the, cat, sat]",
        axes="m", template="active")
    query_tokens: tuple[str, ...] | None = labels(INPUTS, "labels of the queries", "[le, chat, dort]", axes="n")
    sentence: str | None = row("text", INPUTS,
        "text; its vectors by vocabulary or tokenizer, or drawn", "the cat sat",
        is_common=True, template="together")
    tokenizer: Any = row("tokenizer", INPUTS,
        "a model's tokenizer.json, which splits sentence into the tokens of token_table", "tokenizer.json",
        template="together")
    vocabulary: Mapping[str, Array] | None = row("vocabulary", INPUTS,
        "the vector of each word; small is built in",
        "{the: [1, 0], cat: [0, 1], sat: [1, 1]}", template="together")
    token_table: Array | None = matrix(INPUTS, "t x",
        "a vector in each row, looked up by tokens that are numbers: 464,3797",
        "[[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]", is_row_table=True, template="together")
    token_positions: Array | None = matrix(INPUTS, "t x", "row i is added to the token at position i",
        "[[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]]", is_row_table=True, template="together")
    token_scale: float | None = number(INPUTS, "factor of the vectors of tokens, before positions are added", "2",
        template="together")
    token_types: Array | None = matrix(INPUTS, "t x", "row i is added to a token of type i",
        "[[0, 1, 0, 1], [1, 0, 1, 0]]", is_row_table=True, template="together")
    token_type_ids: Array | None = row("counts", INPUTS,
        "the type of each token, a row of token_types; without it all 0", "[0, 1, 1]", axes="m",
        template="together")
    token_norm: Operator | None = row("token_norm", INPUTS,
        "normalizes the vectors of tokens, after positions and types are added", "layer", template="together")
    query: Array | None = matrix(INPUTS, "[b h] n d", "queries, already projected", "[[1, 0, 0, 1], [0, 1, 1, 0]]",
        is_random_fill=True, used_by="queries", is_common=True)
    key: Array | None = matrix(INPUTS, "[b h] m c", "keys, already projected",
        "[[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0]]", is_random_fill=True, used_by="queries", is_common=True)
    value: Array | None = matrix(INPUTS, "[b h] m e", "values, already projected; without it the keys",
        "[[1, 0], [0, 1], [2, 2]]", is_random_fill=True, is_common=True, template="together")
    layout: str | None = word(INPUTS,
        "the axes of query, key and value: batch items b, heads h, tokens n (or s, t), features d", "bnhd",
        template="together", words=tuple(ARRAY_LAYOUTS), word_aliases=LAYOUTS_ELSEWHERE, says_how_given=True,
        word_meanings=tuple(f"{layout_text(layout)}: {use}" for layout, use in ARRAY_LAYOUTS.items()))
    scores: Array | None = matrix(INPUTS, "[b h] n m",
        "scores, instead of queries and keys, before scale; [n m], [b n m], or with heads [h n m], [b h n m]",
        "[[1.7, 0.2, 0.8]]", is_random_fill=True)
    weights: Array | None = matrix(INPUTS, "[b h] n m",
        "weights, instead of scores; [n m], [b n m], or with heads [h n m], [b h n m]",
        "[[0.5, 0.5, 0], [0, 0.5, 0.5]]", is_random_fill=True)
    w_q: Array | None = weight("y d", "query weights; without it the identity", "queries", is_common=True)
    w_k: Array | None = weight("x c", "key weights", "queries", is_common=True)
    w_v: Array | None = weight("x e", "value weights", is_common=True)
    w_o: Array | None = weight("h·e o", "output weights, after the heads are merged")
    b_q: Array | None = offset("d", "query bias", "[1, 0, 0, 0]", "queries")
    b_k: Array | None = offset("c", "key bias", "[0, 1, 0, 0]", "queries")
    b_v: Array | None = offset("e", "value bias", "[0, 0, 1, 0]")
    b_o: Array | None = offset("o", "output bias", "[0, 0, 0, 1]")
    w_qkv: Array | None = weight("x d+c+e",
        "query, key and value weights in one matrix, in the order of packing")
    b_qkv: Array | None = offset("d+c+e", "query, key and value bias in one list, in the order of packing", "ones")
    w_kv: Array | None = weight("x c+e", "key and value weights in one matrix, in the order of packing")
    b_kv: Array | None = offset("c+e", "key and value bias in one list, in the order of packing", "ones")
    w_q_latent: Array | None = weight("y μ", "query latent weights: w_q projects the latent to queries", "queries")
    b_q_latent: Array | None = offset("μ", "query latent bias", "ones", "queries", template="together")
    q_latent_norm: Operator | None = row("q_latent_norm", PROJECTIONS, "normalizes the query latent, before w_q", "rms",
        used_by="queries", template="together")
    w_kv_latent: Array | None = weight("x λ",
        "latent weights: w_k and w_v, or w_kv, project the latent to keys and values")
    b_kv_latent: Array | None = offset("λ", "latent bias", "ones", template="together")
    kv_latent_norm: Operator | None = row("kv_latent_norm", PROJECTIONS, "normalizes the latent, before w_k and w_v",
        "rms", used_by="output", template="together")
    w_k_rope: Array | None = weight("x ρ",
        "weights of the last features of each key, which all heads share; positions rotate only these", "queries",
        template="together")
    b_k_rope: Array | None = offset("ρ", "bias of the last features of each key", "ones", "queries",
        template="together")
    w_kv_latent_rope: Array | None = weight("x λ+ρ",
        "latent and rope key weights in one matrix; the latent has as many columns as w_kv has rows",
        parts=("w_kv_latent", "w_k_rope"), template="together")
    b_kv_latent_rope: Array | None = offset("λ+ρ", "latent and rope key bias in one list", "ones",
        parts=("b_kv_latent", "b_k_rope"), template="together")
    w_q_index: Array | None = weight("y ζ",
        "indexer's query weights, the heads side by side; with a query latent they project the latent",
        "queries", template="together")
    w_k_index: Array | None = weight("x η", "indexer's key weights: one key for all of its heads", "queries",
        template="together")
    w_h_index: Array | None = weight("y ι", "weights for a query's weight of each indexer head",
        "queries", template="together")
    k_index_norm: Operator | None = row("k_index_norm", PROJECTIONS, "normalizes the indexer's keys", "layer",
        used_by="queries", template="together")
    index_rope: str | None = word(PROJECTIONS,
        "the pairs of indexer features that rope rotates: halves or neighbours; by default none",
        "halves", words=("halves", "pairs"), used_by="queries", template="together",
        word_meanings=("one feature in each half of the first features: DeepSeek V3.2",
            "pairs of neighbours among the first features: GLM 5"))
    w_g: Array | None = weight("y u",
        "gate weights: a gate, projected from the queries' sequence, multiplies the merged heads")
    b_g: Array | None = offset("u", "gate bias", "[0, 0, 0, 0]")
    w_qg: Array | None = weight("y d+u", "query and gate weights in one matrix: each head's query, then its gate")
    b_qg: Array | None = offset("d+u",
        "query and gate bias in one list: each head's query, then its gate", "ones")
    gate: Operator = row("gate", PROJECTIONS, "the function of the projected gate", "silu",
        default=Operator(look_up("gate", "sigmoid")), used_by="output")
    packing: str = word(PROJECTIONS,
        "the order in packed projections: all queries, keys, values; or head by head; or by key heads",
        "per_head", words=("concatenated", "per_head", "per_group", "four_blocks"), default="concatenated",
        used_by="output",
        word_meanings=(
            "│ q₀ q₁ q₂ q₃ │ k₀ k₁ │ v₀ v₁ │ as GPT-2, Phi-3 and PyTorch's in_proj_weight",
            "│ q₀ k₀ v₀ │ q₁ k₁ v₁ │ as GPT-NeoX and BLOOM",
            "│ q₀ q₁ k₀ v₀ │ q₂ q₃ k₁ v₁ │ as Falcon 40B and InternLM2",
            "│ q₀ q₁ v₀ v₁ k₀ k₁ │ q₂ q₃ v₂ v₃ k₂ k₃ │ … four such blocks, values before keys, as CodeGen",
        ))
    weight_layout: str = word(PROJECTIONS,
        "how matrices are stored: in_out (x @ W) or out_in (x @ W.T, as nn.Linear does)", "out_in",
        words=("in_out", "out_in"), default="in_out")
    heads: int | None = integer(PROJECTIONS, "number of query heads; by default 1", "2", least=1,
        is_common=True)
    kv_heads: int | None = integer(PROJECTIONS, "number of key and value heads, shared by query heads", "1", least=1,
        used_by="output")
    qk_norm: Operator | None = row("qk_norm", PROJECTIONS, "normalizes the queries and keys of each head", "l2",
        used_by="queries")
    clip_qkv: float | None = number(PROJECTIONS,
        "clips queries, keys and values to ± this number, after their projection", "8", above=0, used_by="output")
    value_scale: float | None = number(PROJECTIONS, "factor of the values, after their projection", "1/2",
        used_by="output")
    query_scale: Operator | None = row("query_scale", PROJECTIONS,
        "a factor for each query that grows with its position, after norm and rope", "log_steps:length=2,offset=0",
        used_by="queries")
    value_norm: Operator | None = row("value_norm", PROJECTIONS, "normalizes the values of each head", "rms",
        used_by="output")
    context_norm: Operator | None = row("context_norm", PROJECTIONS,
        "normalizes the context of each head, before w_o", "rms", used_by="output")
    sink: Array | None = row("vector", PROJECTIONS,
        "one extra logit per head that joins the softmax and is then discarded", "[0]", axes="h",
        decides_dtype=False, used_by="weights")
    score: Operator = row("score", STAGES, "how well each key answers each query", "scaled_dot",
        default=Operator(look_up("score", "scaled_dot")), used_by="scores", is_common=True, template="active")
    scale: float | None = number(STAGES, "factor of the scores, instead of the score's default", "1/sqrt(2)",
        used_by="weights")
    softcap: float | None = number(STAGES, "limits scores smoothly to -softcap … softcap, before bias and masks", "30",
        above=0, used_by="weights")
    position: Operator | None = row("position", STAGES, "the position scheme",
        "sinusoidal", is_common=True)
    position_norm: Operator | None = row("position_norm", STAGES,
        "normalizes the rows of the position scheme's table, before products with queries", "layer", used_by="scores",
        template="together")
    positions: Array | None = row("positions", STAGES,
        "positions of the rows of embeddings or key, for rope and added positions; masks count rows",
        "[0, 1, 5]", axes="[s b] m")
    positions_of_queries: Array | None = row("positions", STAGES,
        "positions of the rows of query_embeddings or query, if they differ from positions", "[0, 1, 5]",
        axes="[s b] n")
    normalize: Operator = row("normalize", STAGES, "turns scores into weights", "softmax",
        default=Operator(look_up("normalize", "softmax")), used_by="weights", is_common=True, template="active")
    context: Operator = row("context", STAGES, "combines weights and values", "weighted_sum",
        default=Operator(look_up("context", "weighted_sum")), used_by="output", template="active")
    difference: Operator | None = row("difference", STAGES,
        "heads come in pairs: subtracts λ times the second's weights from the first's; λ, or its parts",
        "0.8", used_by="output", template="together")
    head_pairs: str = word(STAGES, "the pairs of heads in a difference", "halves", words=("neighbours", "halves"),
        default="neighbours", used_by="output", template="together",
        word_meanings=(
            "heads 0 and 1, 2 and 3 …: Differential Transformer's code",
            "heads i and h + i of 2 h: DiffLlama",
        ))
    recurrence: Operator | None = row("recurrence", STAGES,
        "a state that every token writes and reads, instead of score, normalize and context", "linear",
        used_by="output", template="together")
    decay: Array | None = matrix(STAGES, "[b h] n [d]",
        "of a recurrence: log of the share of the state that each token, or each key feature, keeps; broadcasts",
        "[-0.5, 0, -1]", neutral=0, used_by="output", template="together")
    beta: Array | None = matrix(STAGES, "[b h] n",
        "of a recurrence with a delta rule: the fraction of the difference that each token writes; broadcasts",
        "[1, 0.5, 0.5]", neutral=1, used_by="output", template="together")
    past_state: Array | None = matrix(CACHE, "[b h] d e", "the state of a recurrence before the first token",
        "[[1, 0], [0, 1]]", used_by="output", template="together")
    mask: Array | Operator | MaskExpression | None = row("boolean_matrix", MASKS,
        "1 where a query sees a key, or masks with ~, & and |",
        "[[1, 0, 1], [1, 1, 0], [1, 1, 1]]", axes="[b h] n m", neutral=1, used_by="weights", is_common=True)
    index_scores: Array | None = matrix(MASKS, "[b h] n m",
        "scores by which mask top chooses a query's keys, instead of an indexer's",
        "[[1, 0, 2], [0, 3, 1], [2, 1, 4]]", decides_dtype=False, used_by="weights", template="together",
        completes_mask="mask")
    bias: Array | None = matrix(MASKS, "[b h] n m", "numbers added to the scores; broadcasts",
        "[[0, 0, -1], [0, 0, 0], [1/2, 0, 0]]", neutral=0, decides_dtype=False, used_by="weights")
    causal: bool = row("flag", MASKS, "no query sees a later key", "true", default=False,
        used_by="weights", is_common=True)
    window: tuple[float, float] | None = row("window", MASKS, "keys visible left and right of a query; inf or -1: all",
        "[1, 0]", used_by="weights", is_common=True)
    key_lengths: Array | None = row("counts", MASKS,
        "number of real keys in each batch item, the rest is padding; or of keys that each query sees",
        "[2]", axes="b [n]", used_by="weights")
    key_mask: Array | None = row("booleans", MASKS, "1 for a real key, 0 for padding, as tokenizers give it",
        "[1, 1, 0]", axes="b m", neutral=1, used_by="weights")
    cu_seqlens: Array | None = row("sequence_bounds", MASKS,
        "bounds of sequences packed in one array: sequence i has the rows from number i to number i + 1",
        "[0, 1, 3]", axes="z", used_by="weights")
    cu_seqlens_k: Array | None = row("sequence_bounds", MASKS,
        "the same for the keys, if their sequences have other lengths", "[0, 1, 3]", axes="z", used_by="weights",
        template="together", completes_mask="cu_seqlens")
    grad_output: Array | None = matrix(GRADIENTS, "[b h] n v",
        "the gradient of a loss by the output, from which all others follow; broadcasts", "ones",
        is_random_fill=True, decides_dtype=False, used_by="output")
    align: str = word(MASKS,
        "positions of the queries: from after the cache, from the first key, or up to the last real key",
        "bottom_right", words=("top_left", "first_key", "bottom_right"), default="top_left")
    empty_rows: str = word(MASKS, "weights of a query that sees no key", "nan",
        words=("zeros", "nan", "uniform"), default="zeros", used_by="weights")
    past_key: Array | None = matrix(CACHE, "[b h] p c", "cached keys, before key", "[[1, 0, 0, 0]]",
        used_by="queries", template="together")
    past_value: Array | None = matrix(CACHE, "[b h] p e", "cached values, before value", "[[0, 0, 0, 1]]",
        template="together")
    past_index_key: Array | None = matrix(CACHE, "[b] p η",
        "cached keys of the indexer, already normalized and rotated, before the new ones", "[[1, 0, 0, 1]]",
        used_by="queries", template="together")
    page_table: Array | None = row("page_numbers", CACHE,
        "the pages of each batch item, in order; key and value are pages (pages, page size, heads, features)",
        "[[0]]", axes="b l", template="together", says_how_given=True)
    page_size: int | None = integer(CACHE, "keys per page, if key and value have consecutive pages", "2",
        least=1, template="together", says_how_given=True)
    only: tuple[str, ...] | None = labels(QUERIES, "the queries to compute: labels, or positions from 0", "[cat]",
        axes="n")
    seed: int | None = integer(RANDOM, "the seed of the random numbers", "1", least=0, is_common=True)
    generator: str = word(RANDOM,
        "the stream of random numbers: pcg64, legacy (numpy.random.seed) or torch (torch.manual_seed)", "legacy",
        words=("pcg64", "legacy", "torch"), default="pcg64")
    init: Operator | None = row("generator", RANDOM, "draws missing projections and embeddings",
        "identity")
    token_count: int | None = integer(RANDOM, "number of embeddings to draw", "3", least=1, sizes="m [n]",
        is_common=True)
    dim: int | None = integer(RANDOM, "features of the embeddings to draw", "4", least=1, sizes="x [y]",
        is_common=True)
    d_k: int | None = integer(RANDOM,
        "columns of drawn or packed w_q and w_k; by default dim, or equal parts", "4", least=1, sizes="d c")
    d_v: int | None = integer(RANDOM, "columns of drawn or packed w_v; by default dim, or equal parts", "4",
        least=1, sizes="e [h·e u]")
    d_o: int | None = integer(RANDOM, "columns of a drawn w_o; by default dim", "4", least=1, sizes="[o]")
    dtype: str | None = word(NUMBERS, "the type for computing and storing; by default the inputs'", "float32",
        words=NAMES)
    round: Mapping[str, int] | None = row("decimals_of_steps", NUMBERS,
        "decimals to which steps are rounded before others read them, as in a publication", "{weights: 2}")
    decimal_comma: bool = row("flag", NUMBERS, "numbers are written, and may be typed, with a comma: 0,5", "true",
        default=False)
    # fmt: on

    leading: Layout
    # The length of each axis letter, in one head.
    lengths: Mapping[str, int]
    # The origin of each field, by name, or `score.w1` for an operator's array; empty in Python.
    origins: Mapping[str, ArrayOrigin]
    # The generator of each array that was made, by its field's name, or `score.w1` for an operator's.
    generators: Mapping[str, Operator]
    # The reason why a key is unused, for each unused key.
    unread: Mapping[str, str]
    # The convention's changes; None for attn's own reading.
    convention: ConventionUse | None = None

    def origin_of(self, name: str) -> ArrayOrigin | None:
        """The origin of a field's array; embeddings from a vocabulary have the vocabulary's. None in Python."""
        if name == "embeddings" and self.vocabulary is not None:
            vocabulary = self.origins.get("vocabulary")
            return None if vocabulary is None else ArrayOrigin(vocabulary.name)
        return self.origins.get(name)

    @property
    def reading(self) -> str:
        """The unusual reading of keys, for a heading; "" if there is none."""
        if self.convention is not None:
            return str(self.convention)
        is_usual = self.layout is None or self.layout in OWN_LAYOUTS or not laid_out(vars(self))
        return "" if is_usual else f"layout {self.layout} {layout_text(str(self.layout))}"

    @property
    def drawn_sentence(self) -> tuple[str, ...]:
        """The drawn numbers for a sentence without vectors, and alternatives; otherwise None."""
        generator = self.generators.get("vocabulary")
        if generator is None or generator.record.name != SENTENCE_GENERATOR or self.init is not None:
            return ()
        size = self.lengths["x"]
        return (
            f"drawn with seed {self.seed}: {size} normal numbers a word, projections with σ = 1/√{size}",
            "others: --seed 1, --dim 4, --init randint; --vocabulary small has a meaning",
        )

    @property
    def embeddings_source(self) -> str:
        """The key of the embeddings' source: `residual`, `token_table`, or `embeddings`.

        A table has only the tokens' rows. Both sources exist only if embeddings are made from them: `embeddings` then
        has the same array, before scaling and normalizing.
        """
        return next((name for name in ("residual", "token_table") if getattr(self, name) is not None), "embeddings")

    @cached_property
    def precision(self) -> Precision:
        """The type for computing and storing."""
        return Precision(self.dtype or "float64")

    @cached_property
    def signature(self) -> Hashable:
        """All facts for a plan: shapes of arrays, operators, options and selected queries."""
        selected = self.selected_queries
        return (
            None if selected is None else tuple(selected),
            self.vocabulary is not None,
            *((name, signature_of(value)) for name in _PLANNED_FIELDS if (value := getattr(self, name)) is not None),
        )

    @cached_property
    def given_table(self) -> str | None:
        """The given table, "scores" or "weights"; None if scores are computed."""
        return given_table(vars(self))

    @cached_property
    def not_computed(self) -> Mapping[str, str]:
        """The reasons why the problem does not compute scores, weights or output; only for those."""
        return reasons_not_computed(vars(self))

    @cached_property
    def default_selection(self) -> tuple[str, ...]:
        """The default results: scores, weights and output."""
        names = [name for name in DEFAULT_SELECTION if name == self.given_table or name not in self.not_computed]
        if self.difference is not None and names[-1] == OUTPUT:
            names.insert(-1, DIFFERENCE)
        return tuple(names)

    def with_gradient(self) -> "ProblemSpec":
        """The problem with a gradient of the output, by default ones."""
        if self.grad_output is not None:
            return self
        return replace(self, grad_output=self.precision.round(np.ones((1, 1))))

    @cached_property
    def chooses_keys(self) -> bool:
        """Whether a used mask chooses keys by index scores."""
        return "weights" not in self.not_computed and reads_index_scores(self.mask)

    @property
    def has_indexer(self) -> bool:
        """Whether an indexer computes index scores, and a mask reads them."""
        return self.chooses_keys and self.w_q_index is not None

    @property
    def scaled_features(self) -> int:
        """The number whose square root divides scores: the features, times the number of summands from positions."""
        return self.lengths["d"] * (1 if self.position is None else self.position.scores_added)

    @property
    def has_length_per_query(self) -> bool:
        """Whether `key_lengths` has a length per query [b n], not per batch item [b]."""
        return self.key_lengths is not None and self.key_lengths.ndim > 1

    @property
    def is_self_attention(self) -> bool:
        """Whether queries and keys come from one sequence; a square table counts as that."""
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
        """The number of queries, including those that `only` leaves out."""
        return int(self.query_source.shape[-2])

    @property
    def past_count(self) -> int:
        """The number of cached keys."""
        return self.lengths.get("p", 0)

    @property
    def new_key_count(self) -> int:
        """The number of keys without cached ones."""
        return self.lengths[self.new_key_letter]

    @property
    def new_key_letter(self) -> str:
        """The letter of given or projected keys: `m`, or `k` if others are cached."""
        return self.leading.new_key_letter

    @property
    def key_feature_letter(self) -> str:
        """The letter of key features in steps: the queries' letter if the score compares features one by one."""
        reader = self.score if self.recurrence is None else self.recurrence
        return reader.record.shapes.arrays.get("key", ("m", "c"))[-1]

    @property
    def key_labels(self) -> tuple[str, ...]:
        """The label of each key, cached ones first: its token, or a word and its number from 1."""
        past, new = self.past_count, self.new_key_count
        if self.tokens and len(self.tokens) == past + new:
            return self.tokens
        word = "token_" if self.is_self_attention else "key_"
        return numbered_labels("past_", past) + (self.tokens or numbered_labels(word, new))

    @property
    def query_labels(self) -> tuple[str, ...]:
        """The label of each query, including those that `only` leaves out."""
        if self.query_tokens:
            return self.query_tokens
        count = self.query_count
        if self.is_self_attention or (self.query_embeddings is None and self.tokens and count == self.new_key_count):
            return self.key_labels[self.past_count :]
        return numbered_labels("query_", count)

    @property
    def selected_query_labels(self) -> tuple[str, ...]:
        """The labels of the computed queries."""
        labels, selected = self.query_labels, self.selected_queries
        return labels if selected is None else tuple(labels[index] for index in selected)

    @property
    def numbered_query_labels(self) -> tuple[str, ...]:
        """The labels of the computed queries, equal ones with their number among all queries: `the#2`."""
        labels, selected = number_equal_labels(self.query_labels), self.selected_queries
        return labels if selected is None else tuple(labels[index] for index in selected)

    @cached_property
    def selected_queries(self) -> list[int] | None:
        """The positions of the computed queries, or None for all."""
        if self.only is None:
            return None
        labels, selected = self.query_labels, list[int]()
        known = frozenset(labels)
        for entry, label in enumerate(self.only):
            if label.isdecimal() and label not in known and int(label) < len(labels):  # fast for many positions
                selected.append(int(label))
                continue
            try:
                selected += find_label(label, labels, where="only")
            except AttnError as error:
                error.entry = entry
                raise
        return selected


FIELDS: Mapping[str, Field] = {f.name: Field(name=f.name, **f.metadata) for f in fields(ProblemSpec) if f.metadata}
# Plans depend neither on labels nor on how numbers are drawn, only on the shapes of drawn arrays.
_PLANNED_FIELDS = tuple(
    name
    for name, field in FIELDS.items()
    if field.kind not in ("labels", "text", "tokenizer", "vocabulary") and field.panel != RANDOM
)
# The key of the labels along an axis, by its letter.
LABEL_KEYS = {field.axes: name for name, field in FIELDS.items() if field.kind == "labels" and field.panel == INPUTS}
# The default of each field.
SENTENCE_GENERATOR = "normal"  # for the vectors and projections of a sentence without vectors

DEFAULTS: Mapping[str, Any] = {
    f.name: f.default_factory() if callable(f.default_factory) else f.default for f in fields(ProblemSpec) if f.metadata
}
# The fields that may hold an operator, in the order of the registry's kinds.
OPERATOR_FIELDS = tuple(
    name
    for kind in taken_kinds()
    for name, field in FIELDS.items()
    if kind != "generator" and field.kind == ("boolean_matrix" if kind == "mask" else kind)
)


def position_axes(problem: ProblemSpec) -> PositionAxes | None:
    """The axes of positions if the position scheme reads several; otherwise None."""
    position = problem.position
    if position is None or position.record.position_axes is None:
        return None
    return position.record.position_axes(position.parameters)


def rotated_lengths(problem: ProblemSpec) -> Mapping[str, int]:
    """The lengths of axes for a scheme that rotates queries and keys: only their shared rope features."""
    width, position = problem.lengths.get("ρ"), problem.position
    if width is None or position is None or position.record.acts_on != "query_and_key":
        return problem.lengths
    return {**problem.lengths, "d": width, "c": width}


def rotated_features(problem: ProblemSpec) -> int:
    """The number of a head's features that rope rotates: shared ones, or all, unless its parameters say otherwise."""
    from attncli.ops.rope import rotated_count  # noqa: PLC0415 - few problems rotate only some features

    assert problem.position is not None
    return rotated_count(rotated_lengths(problem)["d"], problem.position.parameters)


def positions_of(problem: ProblemSpec, role: str) -> str | None:
    """The key with the positions of queries or of keys; None if not given.

    `positions` also serve the queries, unless `positions_of_queries` are given.

    >>> from attncli.problem.build import build
    >>> problem = build({"embeddings": [[1, 2]], "position": "rope", "positions": [3]})
    >>> positions_of(problem, "query"), positions_of(problem, "key")
    ('positions', 'positions')
    """
    if role == "query" and problem.positions_of_queries is not None:
        return "positions_of_queries"
    return "positions" if problem.positions is not None else None
