"""The glossary: words of the field that are no entry, key or step, with their meaning, shapes, and sources."""

from attncli.base.axes import parse
from attncli.base.dataclasses import dataclass
from attncli.ops.rope_scaling_types import TYPES
from attncli.problem.spec import FIELDS


@dataclass(frozen=True)
class GlossaryTerm:
    """A word and its other names; `shapes` is a picture in the notation of records, its result named `gives`."""

    name: str
    text: str
    aliases: tuple[str, ...] = ()
    shapes: str = ""
    gives: str = ""
    see: tuple[str, ...] = ()  # words that `attn show` explains
    source: str = ""

    @property
    def arrays(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The names and the letters of the arrays of its picture."""
        return tuple(parse(self.shapes).arrays.items())

    @property
    def result(self) -> tuple[str, tuple[str, ...]] | None:
        """The name and the letters of what they give; None without a picture."""
        return (self.gives, parse(self.shapes).result) if self.shapes else None


VASWANI = "Vaswani et al. 2017"

GLOSSARY = (
    GlossaryTerm(
        "attention",
        "Each query is compared with every key; the scores are normalized to weights, and the output of the query is "
        "the sum of the values, each times its weight.",
        ("attention mechanism", "scaled dot-product attention", "sdpa"),
        "Q[n d], K[m d], V[m e] -> [n e]",
        "O",
        ("query", "key", "value", "scores", "weights", "output"),
        f"{VASWANI}, 3.2.1",
    ),
    GlossaryTerm(
        "self-attention",
        "Queries, keys and values are made of one sequence, so that each token attends to the others and to itself.",
        (),
        "X[m x], W_Q[x d] -> [m d]",
        "Q",
        ("embeddings", "cross-attention"),
        f"{VASWANI}, 3.2.3",
    ),
    GlossaryTerm(
        "cross-attention",
        "Queries are made of one sequence, keys and values of another: a decoder reads what an encoder has made.",
        ("encoder-decoder attention",),
        "Y[n y], X[m x] -> [n m]",
        "A",
        ("query_embeddings", "embeddings", "self-attention"),
        f"{VASWANI}, 3.2.3; Bahdanau, Cho & Bengio 2015",
    ),
    GlossaryTerm(
        "head",
        "One of several attentions side by side, each with its own share of the features; their outputs are merged, "
        "and w_o mixes them.",
        ("multi-head attention", "multihead attention", "mha", "attention head"),
        "Qₕ[h n d], Kₕ[h m d], Vₕ[h m e] -> [h n e]",
        "C",
        ("heads", "kv_heads", "w_o", "merged"),
        f"{VASWANI}, 3.2.2",
    ),
    GlossaryTerm(
        "grouped-query attention",
        "Several query heads share one head of keys and values (kv_heads), so that the cache is smaller: query head h "
        "reads key head h // (heads / kv_heads).",
        ("gqa",),
        "Qₕ[h n d], Kₕ[g m d] -> [h n m]",
        "A",
        ("heads", "kv_heads", "repeated_key", "multi-query attention"),
        "Ainslie et al. 2023",
    ),
    GlossaryTerm(
        "multi-query attention",
        "All query heads share one head of keys and values: kv_heads is 1.",
        ("mqa",),
        "Qₕ[h n d], K[m d] -> [h n m]",
        "A",
        ("kv_heads", "grouped-query attention"),
        "Shazeer 2019",
    ),
    GlossaryTerm(
        "logits",
        "The scores, before they are normalized. Attention logits are what softmax turns into weights.",
        ("attention scores", "energies", "alignment scores"),
        see=("scores", "masked_scores", "softmax"),
    ),
    GlossaryTerm(
        "attention weights",
        "How much of each value a query takes: a row for each query. After softmax they are positive and add to 1.",
        ("attention matrix", "attention map", "alignment", "probabilities"),
        see=("weights", "softmax"),
    ),
    GlossaryTerm(
        "context vector",
        "What a query gathers: the sum of the values, each times its weight.",
        (),
        "A[n m], V[m e] -> [n e]",
        "C",
        ("context", "output", "weighted_sum"),
        "Bahdanau, Cho & Bengio 2015, equation 5",
    ),
    GlossaryTerm(
        "dot products",
        "Qᵢ·Kⱼ, the products of the features of a query and of a key, added: large where both point the same way.",
        ("dot product", "QKᵀ", "QKT", "query key product"),
        "Q[n d], Kᵀ[d m] -> [n m]",
        "QKᵀ",
        ("dot", "scaled_dot", "scores"),
    ),
    GlossaryTerm(
        "√d",
        "The square root of the number of features of a query: products are divided by it, because a sum of d products "
        "grows like √d, and softmax of large scores has one weight of nearly 1.",
        ("sqrt d", "√dₖ", "1/√d", "scaling factor"),
        see=("scaled_dot", "scale"),
        source=f"{VASWANI}, 3.2.1",
    ),
    GlossaryTerm(
        "Σ",
        "A sum: Σⱼ adds over the keys. The sum of a row's exponentials is what softmax divides by.",
        ("sum sign", "row sum", "sigma sign"),
        see=("exponentials", "softmax"),
    ),
    GlossaryTerm(
        "−∞",
        "What a hidden score becomes before it is normalized: exp(−∞) = 0, so that its weight is 0.",
        ("minus infinity", "negative infinity"),
        see=("masked_scores", "mask", "bias"),
    ),
    GlossaryTerm(
        "mask",
        "Says which keys each query may attend to: 1 or true where it may, 0 or false where it may not.",
        ("attention mask", "attn_mask", "masking", "masked"),
        "S[n m], M[n m] -> [n m]",
        "Sᵐ",
        ("causal", "window", "key_mask", "key_lengths", "visible", "masked_scores"),
    ),
    GlossaryTerm(
        "convention",
        "What a framework makes of the same words: whether 1 in a mask attends or hides, where causal counts from, "
        "what a query without keys gets. --as NAME reads a problem so; attn list conventions has the names.",
        see=("torch-sdpa", "torch-mha", "flash", "align", "empty_rows"),
    ),
    GlossaryTerm(
        "empty row",
        "A query that may attend to nothing, because every key is hidden: weights 0 and output 0, unless empty_rows "
        "says NaN or uniform.",
        ("row without keys", "fully masked row"),
        see=("empty_rows", "mask", "visible"),
    ),
    GlossaryTerm(
        "causal",
        "No query sees a key that stands after it, so that a model that writes from left to right can't look ahead.",
        ("causal mask", "is_causal", "autoregressive", "look-ahead mask", "triangular mask"),
        see=("causal", "align", "mask"),
        source=f"{VASWANI}, 3.2.3",
    ),
    GlossaryTerm(
        "padding",
        "Tokens that fill the shorter sequences of a batch: no query may attend to them.",
        ("padding mask", "pad"),
        see=("key_mask", "key_lengths"),
    ),
    GlossaryTerm(
        "sliding window",
        "A query sees only keys near it. window LEFT,RIGHT counts the keys beside the query's own; Hugging Face's "
        "sliding_window of W counts the own one too: W − 1 to the left.",
        ("local attention", "sliding window attention"),
        see=("window", "causal"),
        source="Beltagy, Peters & Cohan 2020",
    ),
    GlossaryTerm(
        "KV cache",
        "The keys and values of earlier tokens, kept, so that a new token computes its own alone.",
        ("cache", "past key values", "key value cache"),
        "Kₚ[p d], K[k d] -> [m d]",
        "K",
        ("past_key", "past_value", "present_key", "align"),
        "Shazeer 2019",
    ),
    GlossaryTerm(
        "decoding",
        "A model writes one token after the other: one new query, and the keys of all tokens so far.",
        ("decode", "prefill", "incremental decoding", "generation"),
        "Q[1 d], K[m d] -> [1 m]",
        "A",
        ("KV cache", "causal"),
    ),
    GlossaryTerm(
        "projection",
        "A matrix of learned weights that makes queries, keys or values of the embeddings, or the output of the heads.",
        ("projections", "linear layer", "weight matrix", "weight matrices"),
        "X[n x], W_Q[x d] -> [n d]",
        "Q",
        ("w_q", "w_k", "w_v", "w_o", "weight_layout"),
    ),
    GlossaryTerm(
        "embedding",
        "The vector of a token: a row of X.",
        ("word vector", "token embedding", "word embedding"),
        see=("embeddings", "vocabulary", "sentence", "token_table"),
    ),
    GlossaryTerm(
        "residual stream",
        "What goes from layer to layer, each of which adds its output to it; a layer's norm makes its input of it.",
        ("hidden state", "hidden states", "pre-norm"),
        see=("residual", "residual_norm", "embeddings"),
        source="Elhage et al. 2021",
    ),
    GlossaryTerm(
        "packed projections",
        "The weights of queries, keys and values in one matrix: w_qkv or w_kv, in the order that packing says. A slice "
        'takes one of them out, in quotes: "model.safetensors#c_attn.weight[:, 0:768]".',
        (
            "fused projections",
            "qkv",
            "c_attn",
            "in_proj_weight",
            "query_key_value",
            "qkv_proj",
            *FIELDS["packing"].words,
        ),
        see=("w_qkv", "w_kv", "packing", "w_qg"),
    ),
    GlossaryTerm(
        "quantized weights",
        "Weights stored in few bits; in place of a matrix [out in] write {fp8: {weight: …, scale: …, block: [128, "
        "128]}}, {gptq: {qweight: …, qzeros: …, scales: …, g_idx: …, bits: 4}} or {awq: {qweight: …, qzeros: …, "
        "scales: …}}.",
        ("quantized", "quantization", "fp8", "gptq", "awq", "dequantize"),
        see=("w_q", "weight_layout"),
    ),
    GlossaryTerm(
        "rope scaling",
        "Lets rope read sequences that are longer than those of training. position: {rope: {scaling: {rope_type: yarn, "
        "factor: 4, original_max_position_embeddings: 4096}}} takes the mapping as config.json has it in rope_scaling "
        f"or rope_parameters. Types: {', '.join(TYPES)}.",
        ("rope_scaling", "rope_parameters", "mrope", *(name for name in TYPES if name != "default")),
        see=("rope", "positions", "frequencies", "attention_factor"),
    ),
    GlossaryTerm(
        "token",
        "A word or a piece of one: a row of the sequence, with its label.",
        ("word",),
        see=("tokens", "embeddings"),
    ),
    GlossaryTerm(
        "positional encoding",
        "Tells the model where queries and keys stand; without one attention does not depend on their order.",
        ("position encoding", "positional embedding", "positions"),
        see=("position", "sinusoidal", "rope", "alibi", "t5"),
        source=f"{VASWANI}, 3.5",
    ),
    GlossaryTerm(
        "rotary embedding",
        "Queries and keys are rotated by angles that grow with their position: rope.",
        ("rotary", "θ", "rotary position embedding", "rotary positional embedding"),
        see=("rope", "rotated_query"),
        source="Su et al. 2021",
    ),
    GlossaryTerm(
        "alignment model",
        "What scores a query and a key; Bahdanau's is a small network, Luong's a product.",
        ("score function", "scoring function", "bahdanau", "luong", "bahdanau attention", "luong attention"),
        see=("additive", "general", "dot", "location"),
        source="Bahdanau, Cho & Bengio 2015; Luong, Pham & Manning 2015",
    ),
    GlossaryTerm(
        "normalizer",
        "Turns the scores of a row into weights.",
        ("normalization", "normalizing"),
        see=("normalize", "softmax", "sparsemax", "entmax"),
    ),
    GlossaryTerm(
        "temperature",
        "What scores are divided by before softmax: above 1 the weights are more even, below 1 one of them wins.",
        ("softmax temperature", "T"),
        see=("softmax", "scale"),
    ),
    GlossaryTerm(
        "saturation",
        "One weight is nearly 1 and the others nearly 0, because the scores are far apart.",
        ("saturated softmax", "softmax saturation"),
        see=("√d", "softmax", "temperature"),
        source=f"{VASWANI}, 3.2.1",
    ),
    GlossaryTerm(
        "attention sink",
        "A logit that takes part in the softmax and is dropped, so that the weights of a row can add to less than 1; "
        "elsewhere also the first tokens, on which models rest unused weight.",
        ("attention sinks", "off-by-one attention"),
        see=("sink", "scores_and_sink", "softmax1"),
        source="Xiao et al. 2023",
    ),
    GlossaryTerm(
        "QK norm",
        "Queries and keys of each head are brought to one size before they are compared.",
        ("query key normalization",),
        see=("qk_norm", "l2", "rms", "layer"),
        source="Henry et al. 2020",
    ),
    GlossaryTerm(
        "batch",
        "Several sequences that are computed at once, independently of each other: the axis b.",
        ("batch item", "batch size"),
        see=("key_lengths", "key_mask"),
    ),
    GlossaryTerm(
        "flash attention",
        "Attention in tiles of keys, with a running maximum and sum, so that the table of scores is never whole in "
        "memory; the answer is the same. attn computes large problems so.",
        ("flashattention", "online softmax", "blockwise", "tiles"),
        see=("softmax", "scores"),
        source="Dao et al. 2022; Milakov & Gimelshein 2018",
    ),
    GlossaryTerm(
        "check",
        "Whether expected numbers, under the key expected of a file or behind the option --against, agree with those "
        "that are computed, and which step differs first.",
        ("expected", "against", "verdict"),
        see=("slip", "tolerance"),
    ),
    GlossaryTerm(
        "slip",
        "A mistake that people make: no scale, an inverted mask. A check tries them where numbers differ, and names "
        "those that give the expected ones.",
        ("slips", "mistake"),
        see=("no_scale", "mask_inverted", "check"),
    ),
    GlossaryTerm(
        "tolerance",
        "How far an expected number may be from ours: twice the error of the same formula computed step by step in the "
        "type of the numbers, or half a unit of the last digit that was typed.",
        ("rtol", "atol"),
        see=("unit in the last place", "check"),
        source="Dao et al. 2022, the tests of its code",
    ),
    GlossaryTerm(
        "unit in the last place",
        "The distance from a number to the next one that its type has: errors in these units can be compared between "
        "types.",
        ("ulp", "units in the last place"),
        see=("tolerance", "dtype"),
        source="Goldberg 1991",
    ),
    GlossaryTerm(
        "correlation",
        "How much two tables rise and fall together, from −1 to 1: it is 1 where one is the other, scaled or shifted. "
        "A large error with a correlation near 1 hints at a factor or a constant.",
        ("pearson correlation",),
        see=("cosine", "check"),
    ),
    GlossaryTerm(
        "support",
        "The keys that have a weight in the row of a query: those whose weight is not 0. Softmax gives one to every "
        "visible key, sparsemax and entmax to some.",
        ("support size",),
        see=("sparsemax", "entmax", "effective keys", "weights"),
        source="Martins & Astudillo 2016, section 2",
    ),
    GlossaryTerm(
        "entropy",
        "How evenly a row of weights is spread: −Σⱼ Aᵢⱼ ln Aᵢⱼ, in nats. It is 0 where one key has all the weight and "
        "ln m where m keys have equal weights; rows that are no distribution have none.",
        ("entropy of the weights", "nats"),
        see=("effective keys", "support", "temperature", "saturation"),
        source="Shannon 1948, section 6",
    ),
    GlossaryTerm(
        "effective keys",
        "The exponential of a row's entropy: so many keys of equal weight have the same entropy. It is between 1 and "
        "the support.",
        ("effective number of keys", "perplexity"),
        see=("entropy", "support"),
        source="Hill 1973",
    ),
    GlossaryTerm(
        "total variation",
        "How far two rows of weights are apart: ½ Σⱼ |Aᵢⱼ − Bᵢⱼ|, the weight that has to move to others; "
        "0 where the rows are equal and 1 where no key has weight in both.",
        ("total variation distance",),
        see=("KL divergence", "weights"),
        source="Levin & Peres 2017, proposition 4.2",
    ),
    GlossaryTerm(
        "KL divergence",
        "How much a row of weights A differs from another, B: Σⱼ Aᵢⱼ ln(Aᵢⱼ / Bᵢⱼ), in nats. It is infinite where A "
        "has weight on a key to which B gives none; attn compare shows that of the first variant from the others.",
        ("kullback-leibler divergence", "relative entropy", "kl"),
        see=("total variation", "entropy"),
        source="Kullback & Leibler 1951",
    ),
)
