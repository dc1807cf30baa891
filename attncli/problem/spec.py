"""ProblemSpec: a checked problem, as plans, engines and writers read it; its fields are the keys of a problem file."""

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
    """How the keys of a problem were read: the convention's name and version, and what was read otherwise than usual.

    `changes` has a line for each word that was given and that the convention reads otherwise than attn does, `remarks`
    one for each that it does not have, which is read as attn reads it.
    """

    name: str
    version: str
    changes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"as {self.name} ({'; '.join(self.changes)})" if self.changes else f"as {self.name}"

    def as_object(self) -> dict[str, Any]:
        """Its fields as JSON has them."""
        return {
            "name": self.name,
            "version": self.version,
            "changes": list(self.changes),
            "remarks": list(self.remarks),
        }


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
    if isinstance(value, (MaskExpression, MaskLeaf)):
        return value.signature(signature_of)
    if isinstance(value, Operator):
        return value.record, tuple((name, signature_of(parameter)) for name, parameter in value.given.items())
    if isinstance(value, float):
        return repr(value)  # 0 and −0 are equal, but lead to different results
    return value if isinstance(value, Hashable) else repr(value)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProblemSpec:
    """A problem whose values were converted and checked by `attncli.problem.build.build`, the only way to make one.

    What is worked out once for a problem, as a cached property, follows from shapes, types and choices alone: problems
    that differ in numbers share it (`attncli.problem.problem_cache`).

    Sequences are [n d], with batch items [b n d], or with a head axis [b h n d]. Weight matrices are in_out, as
    `x @ W` takes them, also where `weight_layout` is out_in.
    """

    # A table: a row has two or three lines, which the formatter would make eight.
    # fmt: off
    embeddings: Array | None = matrix(INPUTS, "[b] m x", "the sequence, of which queries, keys and values are made",
        "[[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]", is_random_fill=True, is_common=True, template="active")
    residual: Array | None = matrix(INPUTS, "[b] m x",
        "the residual stream, before the norm of the layer; residual_norm makes embeddings of it",
        "[[3, 4, 0, 0], [0, 6, 8, 0], [1, 1, 1, 1]]", is_random_fill=True, template="together")
    residual_norm: Operator | None = row("residual_norm", INPUTS,
        "the norm of the layer: normalizes residual, or the vectors of tokens", "rms", template="together")
    query_embeddings: Array | None = matrix(INPUTS, "[b] n y",
        "a second sequence, of which queries are made (cross-attention)", "[[1, 0, 0, 1], [0, 1, 1, 0]]",
        is_random_fill=True, used_by="queries")
    tokens: tuple[str, ...] | None = labels(INPUTS,
        "labels of the rows of embeddings or key, or a file of them; with token_table, the rows that are looked up",
        "[the, cat, sat]",
        axes="m", template="active")
    query_tokens: tuple[str, ...] | None = labels(INPUTS, "labels of the queries", "[le, chat, dort]", axes="n")
    sentence: str | None = row("text", INPUTS,
        "text; its vectors by vocabulary or tokenizer, or drawn", "the cat sat",
        is_common=True, template="together")
    tokenizer: Any = row("tokenizer", INPUTS,
        "the tokenizer.json of a model, which splits sentence into the tokens of token_table", "tokenizer.json",
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
        "scores, in place of queries and keys, before scale; [n m], [b n m], or with heads [h n m], [b h n m]",
        "[[1.7, 0.2, 0.8]]", is_random_fill=True)
    weights: Array | None = matrix(INPUTS, "[b h] n m",
        "weights, in place of scores; [n m], [b n m], or with heads [h n m], [b h n m]",
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
        "query, key and value weights in one matrix, in the order that packing says")
    b_qkv: Array | None = offset("d+c+e", "query, key and value bias in one list, as packing says", "ones")
    w_kv: Array | None = weight("x c+e", "key and value weights in one matrix, as packing says")
    b_kv: Array | None = offset("c+e", "key and value bias in one list, as packing says", "ones")
    w_q_latent: Array | None = weight("y μ", "query latent weights: queries are made of the latent by w_q", "queries")
    b_q_latent: Array | None = offset("μ", "query latent bias", "ones", "queries", template="together")
    q_latent_norm: Operator | None = row("q_latent_norm", PROJECTIONS, "normalizes the query latent, before w_q", "rms",
        used_by="queries", template="together")
    w_kv_latent: Array | None = weight("x λ",
        "latent weights: keys and values are made of the latent by w_k and w_v, or w_kv")
    b_kv_latent: Array | None = offset("λ", "latent bias", "ones", template="together")
    kv_latent_norm: Operator | None = row("kv_latent_norm", PROJECTIONS, "normalizes the latent, before w_k and w_v",
        "rms", used_by="output", template="together")
    w_k_rope: Array | None = weight("x ρ",
        "weights of the last features of each key, which all heads share and positions rotate alone", "queries",
        template="together")
    b_k_rope: Array | None = offset("ρ", "bias of the last features of each key", "ones", "queries",
        template="together")
    w_kv_latent_rope: Array | None = weight("x λ+ρ",
        "latent and rope key weights in one matrix; the latent has as many columns as w_kv has rows",
        parts=("w_kv_latent", "w_k_rope"), template="together")
    b_kv_latent_rope: Array | None = offset("λ+ρ", "latent and rope key bias in one list", "ones",
        parts=("b_kv_latent", "b_k_rope"), template="together")
    w_q_index: Array | None = weight("y ζ",
        "indexer's query weights, the heads side by side; with a query latent its rows are those of the latent",
        "queries", template="together")
    w_k_index: Array | None = weight("x η", "indexer's key weights: one key for all of its heads", "queries",
        template="together")
    w_h_index: Array | None = weight("y ι", "weights that say how much each head of the indexer counts for a query",
        "queries", template="together")
    k_index_norm: Operator | None = row("k_index_norm", PROJECTIONS, "normalizes the indexer's keys", "layer",
        used_by="queries", template="together")
    index_rope: str | None = word(PROJECTIONS,
        "which features of the indexer position's rope turns together: halves or neighbours; without it none",
        "halves", words=("halves", "pairs"), used_by="queries", template="together",
        word_meanings=("one feature in each half of the first features, as DeepSeek V3.2",
            "pairs of neighbours among the first features, as GLM 5"))
    w_g: Array | None = weight("y u",
        "gate weights: a gate, made of the sequence of the queries, multiplies the merged heads")
    b_g: Array | None = offset("u", "gate bias", "[0, 0, 0, 0]")
    w_qg: Array | None = weight("y d+u", "query and gate weights in one matrix: of each head the query, then the gate")
    b_qg: Array | None = offset("d+u",
        "query and gate bias in one list: of each head that of the query, then of the gate", "ones")
    gate: Operator = row("gate", PROJECTIONS, "the function of the projected gate", "silu",
        default=Operator(look_up("gate", "sigmoid")), used_by="output")
    packing: str = word(PROJECTIONS,
        "the order in packed projections: all queries, keys, values; or those of each head; or of each key head",
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
    heads: int | None = integer(PROJECTIONS, "query heads that attend side by side; without it one", "2", least=1,
        is_common=True)
    kv_heads: int | None = integer(PROJECTIONS, "key and value heads, each for several query heads", "1", least=1,
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
    scale: float | None = number(STAGES, "factor of the scores, in place of the default of the score", "1/sqrt(2)",
        used_by="weights")
    softcap: float | None = number(STAGES, "squeezes scores between -softcap and softcap, before bias and masks", "30",
        above=0, used_by="weights")
    position: Operator | None = row("position", STAGES, "the position scheme",
        "sinusoidal", is_common=True)
    position_norm: Operator | None = row("position_norm", STAGES,
        "normalizes the rows of the table that the position scheme multiplies queries by", "layer", used_by="scores",
        template="together")
    positions: Array | None = row("positions", STAGES,
        "positions of the rows of embeddings or key, for rope and added positions; masks count rows",
        "[0, 1, 5]", axes="[s b] m")
    positions_of_queries: Array | None = row("positions", STAGES,
        "positions of the rows of query_embeddings or query, where they differ from positions", "[0, 1, 5]",
        axes="[s b] n")
    normalize: Operator = row("normalize", STAGES, "makes weights of scores", "softmax",
        default=Operator(look_up("normalize", "softmax")), used_by="weights", is_common=True, template="active")
    context: Operator = row("context", STAGES, "makes the output of weights and values", "weighted_sum",
        default=Operator(look_up("context", "weighted_sum")), used_by="output", template="active")
    difference: Operator | None = row("difference", STAGES,
        "heads are pairs: the weights of the second, λ times, are subtracted from those of the first; λ, or its parts",
        "0.8", used_by="output", template="together")
    head_pairs: str = word(STAGES, "of a difference: which heads are a pair", "halves", words=("neighbours", "halves"),
        default="neighbours", used_by="output", template="together",
        word_meanings=(
            "heads 0 and 1, 2 and 3 …, as Differential Transformer's code has them",
            "of 2 h heads number i and number h + i, as DiffLlama has them",
        ))
    recurrence: Operator | None = row("recurrence", STAGES,
        "a state that every token writes and reads, in place of score, normalize and context", "linear",
        used_by="output", template="together")
    decay: Array | None = matrix(STAGES, "[b h] n [d]",
        "of a recurrence: logarithms of what each token keeps of the state, or each of its key features; broadcasts",
        "[-0.5, 0, -1]", neutral=0, used_by="output", template="together")
    beta: Array | None = matrix(STAGES, "[b h] n",
        "of a recurrence with a delta rule: the part of the difference that each token writes; broadcasts",
        "[1, 0.5, 0.5]", neutral=1, used_by="output", template="together")
    past_state: Array | None = matrix(CACHE, "[b h] d e", "the state of a recurrence before the first token",
        "[[1, 0], [0, 1]]", used_by="output", template="together")
    mask: Array | Operator | MaskExpression | None = row("boolean_matrix", MASKS,
        "1 where a query sees a key, or masks with ~, & and |",
        "[[1, 0, 1], [1, 1, 0], [1, 1, 1]]", axes="[b h] n m", neutral=1, used_by="weights", is_common=True)
    index_scores: Array | None = matrix(MASKS, "[b h] n m",
        "scores by which mask top chooses the keys that a query sees, in place of an indexer's",
        "[[1, 0, 2], [0, 3, 1], [2, 1, 4]]", decides_dtype=False, used_by="weights", template="together",
        completes_mask="mask")
    bias: Array | None = matrix(MASKS, "[b h] n m", "numbers added to the scores; broadcasts",
        "[[0, 0, -1], [0, 0, 0], [1/2, 0, 0]]", neutral=0, decides_dtype=False, used_by="weights")
    causal: bool = row("flag", MASKS, "no query sees a later key", "true", default=False,
        used_by="weights", is_common=True)
    window: tuple[float, float] | None = row("window", MASKS, "keys visible left and right of a query; inf or -1: all",
        "[1, 0]", used_by="weights", is_common=True)
    key_lengths: Array | None = row("counts", MASKS,
        "how many keys of each batch item are real, the rest is padding; or how many each query sees",
        "[2]", axes="b [n]", used_by="weights")
    key_mask: Array | None = row("booleans", MASKS, "1 for a real key, 0 for padding, as tokenizers give it",
        "[1, 1, 0]", axes="b m", neutral=1, used_by="weights")
    cu_seqlens: Array | None = row("sequence_bounds", MASKS,
        "sequences one after the other, in one array: i has the rows from number i to number i + 1",
        "[0, 1, 3]", axes="z", used_by="weights")
    cu_seqlens_k: Array | None = row("sequence_bounds", MASKS,
        "the same of the keys, where their sequences have other lengths", "[0, 1, 3]", axes="z", used_by="weights",
        template="together", completes_mask="cu_seqlens")
    grad_output: Array | None = matrix(GRADIENTS, "[b h] n v",
        "the gradient of a loss by the output, of which all others follow; broadcasts", "ones",
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
        "cached keys of the indexer, normalized and rotated as they were, before the new ones", "[[1, 0, 0, 1]]",
        used_by="queries", template="together")
    page_table: Array | None = row("page_numbers", CACHE,
        "the pages of each batch item, in order; key and value are pages (pages, page size, heads, features)",
        "[[0]]", axes="b l", template="together", says_how_given=True)
    page_size: int | None = integer(CACHE, "keys of a page, where pages are one after the other in key and value", "2",
        least=1, template="together", says_how_given=True)
    only: tuple[str, ...] | None = labels(QUERIES, "the queries to compute: labels, or positions from 0", "[cat]",
        axes="n")
    seed: int | None = integer(RANDOM, "the seed of the random numbers", "1", least=0, is_common=True)
    generator: str = word(RANDOM,
        "the stream of random numbers: pcg64, legacy (numpy.random.seed) or torch (torch.manual_seed)", "legacy",
        words=("pcg64", "legacy", "torch"), default="pcg64")
    init: Operator | None = row("generator", RANDOM, "draws every projection and embedding that is missing",
        "identity")
    token_count: int | None = integer(RANDOM, "how many embeddings to draw", "3", least=1, sizes="m [n]",
        is_common=True)
    dim: int | None = integer(RANDOM, "features of the embeddings to draw", "4", least=1, sizes="x [y]",
        is_common=True)
    d_k: int | None = integer(RANDOM,
        "columns of w_q and w_k that are drawn or packed; without it dim, or equal parts", "4", least=1, sizes="d c")
    d_v: int | None = integer(RANDOM, "columns of w_v that are drawn or packed; without it dim, or equal parts", "4",
        least=1, sizes="e [h·e u]")
    d_o: int | None = integer(RANDOM, "columns of w_o that are drawn; without it dim", "4", least=1, sizes="[o]")
    dtype: str | None = word(NUMBERS, "the type that is computed and stored; without it the inputs' own", "float32",
        words=NAMES)
    round: Mapping[str, int] | None = row("decimals_of_steps", NUMBERS,
        "steps that are rounded to so many decimals before others read them, as a publication did", "{weights: 2}")
    decimal_comma: bool = row("flag", NUMBERS, "numbers are written, and may be typed, with a comma: 0,5", "true",
        default=False)
    # fmt: on

    leading: Layout
    # The length of each axis letter, as one head has it.
    lengths: Mapping[str, int]
    # Where each field was given, by its name, or `score.w1` of an operator's array; nothing in Python.
    origins: Mapping[str, ArrayOrigin]
    # The generator of each array that was made, by the name of its field, or `score.w1` of an operator's.
    generators: Mapping[str, Operator]
    # Why nothing reads a key, for each key that was given and that nothing reads.
    unread: Mapping[str, str]
    # What a convention has made of the keys that were given; None where they were read as attn reads them.
    convention: ConventionUse | None = None

    def origin_of(self, name: str) -> ArrayOrigin | None:
        """Where the array of a field was given, embeddings that a vocabulary has with it; None in Python."""
        if name == "embeddings" and self.vocabulary is not None:
            vocabulary = self.origins.get("vocabulary")
            return None if vocabulary is None else ArrayOrigin(vocabulary.name)
        return self.origins.get(name)

    @property
    def reading(self) -> str:
        """How keys were read otherwise than usual, as a heading says it; "" where they were not."""
        if self.convention is not None:
            return str(self.convention)
        is_usual = self.layout is None or self.layout in OWN_LAYOUTS or not laid_out(vars(self))
        return "" if is_usual else f"layout {self.layout} {layout_text(str(self.layout))}"

    @property
    def drawn_sentence(self) -> tuple[str, ...]:
        """What is drawn for a sentence that comes alone, and how to draw something else; nothing where it is not."""
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
        names = [name for name in DEFAULT_SELECTION if name == self.given_table or name not in self.not_computed]
        if self.difference is not None and names[-1] == OUTPUT:
            names.insert(-1, DIFFERENCE)
        return tuple(names)

    def with_gradient(self) -> "ProblemSpec":
        """The problem with a gradient of the output: ones where none is given."""
        if self.grad_output is not None:
            return self
        return replace(self, grad_output=self.precision.round(np.ones((1, 1))))

    @cached_property
    def chooses_keys(self) -> bool:
        """Whether a mask that is read chooses keys by index scores."""
        return "weights" not in self.not_computed and reads_index_scores(self.mask)

    @property
    def has_indexer(self) -> bool:
        """Whether index scores are computed: projected queries and keys of an indexer, and a mask that reads them."""
        return self.chooses_keys and self.w_q_index is not None

    @property
    def scaled_features(self) -> int:
        """The number whose root divides scores by themselves: the features, times the scores that positions add up."""
        return self.lengths["d"] * (1 if self.position is None else self.position.scores_added)

    @property
    def has_length_per_query(self) -> bool:
        """Whether `key_lengths` has a length for each query [b n], and not one for each batch item [b]."""
        return self.key_lengths is not None and self.key_lengths.ndim > 1

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
        return self.leading.new_key_letter

    @property
    def key_feature_letter(self) -> str:
        """The letter that steps have for features of keys: that of queries where the score compares them one by one."""
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
        """The label of each query, also of those that `only` leaves out."""
        if self.query_tokens:
            return self.query_tokens
        count = self.query_count
        if self.is_self_attention or (self.query_embeddings is None and self.tokens and count == self.new_key_count):
            return self.key_labels[self.past_count :]
        return numbered_labels("query_", count)

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
        labels, selected = self.query_labels, list[int]()
        known = frozenset(labels)
        for entry, label in enumerate(self.only):
            if label.isdecimal() and label not in known and int(label) < len(labels):  # mostly, where there are many
                selected.append(int(label))
                continue
            try:
                selected += find_label(label, labels, where="only")
            except AttnError as error:
                error.entry = entry
                raise
        return selected


FIELDS: Mapping[str, Field] = {f.name: Field(name=f.name, **f.metadata) for f in fields(ProblemSpec) if f.metadata}
# A plan depends on neither labels nor how numbers are drawn; what is drawn counts by its shape.
_PLANNED_FIELDS = tuple(
    name
    for name, field in FIELDS.items()
    if field.kind not in ("labels", "text", "tokenizer", "vocabulary") and field.panel != RANDOM
)
# The key of the labels along an axis, by its letter.
LABEL_KEYS = {field.axes: name for name, field in FIELDS.items() if field.kind == "labels" and field.panel == INPUTS}
# The value of each field that is not given.
SENTENCE_GENERATOR = "normal"  # of the vectors and projections of a sentence that comes alone

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


def rotated_lengths(problem: ProblemSpec) -> Mapping[str, int]:
    """The lengths of axes as a scheme that rotates queries and keys has them: of their shared rope features alone."""
    width, position = problem.lengths.get("ρ"), problem.position
    if width is None or position is None or position.record.acts_on != "query_and_key":
        return problem.lengths
    return {**problem.lengths, "d": width, "c": width}


def rotated_features(problem: ProblemSpec) -> int:
    """How many features of a head rope turns: those that heads share, or all, unless it says how many."""
    from attncli.ops.rope import rotated_count  # noqa: PLC0415 - few problems rotate some features alone

    assert problem.position is not None
    return rotated_count(rotated_lengths(problem)["d"], problem.position.parameters)


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
