"""The glossary: terms that are not an entry, key or step, with their meaning, shapes, and sources."""

from dataclasses import dataclass

from attncli.base.axes import Letters, parse
from attncli.ops.rope_scaling_types import TYPES
from attncli.problem.spec import FIELDS


@dataclass(frozen=True)
class GlossaryTerm:
    """A term and its other names; `arrays` and `result` are a picture: symbols with the letters of their axes."""

    name: str
    text: str
    aliases: tuple[str, ...] = ()
    arrays: tuple[tuple[str, Letters], ...] = ()
    result: tuple[str, Letters] | None = None
    see: tuple[str, ...] = ()  # terms that `attn show` explains
    source: str = ""


# A paragraph for each term: its names on the first line, the text, and fields, each line after the field's name.
_TERMS = """
attention, attention mechanism, scaled dot-product attention, sdpa
    Each query is compared with every key; the scores are normalized to weights, and the output of the query is
    the sum of the values, each times its weight.
    shapes: Q[n d], K[m d], V[m e] -> O[n e]
    see: query, key, value, scores, weights, output
    source: Vaswani et al. 2017, 3.2.1

self-attention
    Queries, keys and values are made of one sequence, so that each token attends to the others and to itself.
    shapes: X[m x], W_Q[x d] -> Q[m d]
    see: embeddings, cross-attention
    source: Vaswani et al. 2017, 3.2.3

cross-attention, encoder-decoder attention
    Queries are made of one sequence, keys and values of another: a decoder reads what an encoder has made.
    shapes: Y[n y], X[m x] -> A[n m]
    see: query_embeddings, embeddings, self-attention
    source: Vaswani et al. 2017, 3.2.3; Bahdanau, Cho & Bengio 2015

head, multi-head attention, multihead attention, mha, attention head
    One of several attentions side by side, each with its own share of the features; their outputs are merged, and
    w_o mixes them.
    shapes: Qₕ[h n d], Kₕ[h m d], Vₕ[h m e] -> C[h n e]
    see: heads, kv_heads, w_o, merged
    source: Vaswani et al. 2017, 3.2.2

grouped-query attention, gqa
    Several query heads share one head of keys and values (kv_heads), so that the cache is smaller: query head h
    reads key head h // (heads / kv_heads).
    shapes: Qₕ[h n d], Kₕ[g m d] -> A[h n m]
    see: heads, kv_heads, repeated_key, multi-query attention
    source: Ainslie et al. 2023

multi-query attention, mqa
    All query heads share one head of keys and values: kv_heads is 1.
    shapes: Qₕ[h n d], K[m d] -> A[h n m]
    see: kv_heads, grouped-query attention
    source: Shazeer 2019

latent attention, mla, multi-head latent attention, latent, latents, kv compression
    Keys and values of all heads are made of one latent, a few features of each token, which is all that a cache
    needs besides the features of each key that all heads share: rope turns those alone. Queries may have a latent too.
    shapes: X[m x], W_Z[x λ] -> Z[m λ]
    see: w_kv_latent, w_q_latent, w_k_rope, kv_latent, absorbed form, scale_of_latent
    source: DeepSeek-AI 2024 (DeepSeek-V2), 2.1

differential attention, differential transformer, diff transformer, diffllama, two maps
    Heads come in pairs: the weights of the second, λ times, are subtracted from those of the first, so that what both
    have in common, as noise, cancels. λ is a number, or exp(λ_q1·λ_k1) − exp(λ_q2·λ_k2) + λ_init; the context of a
    pair is normalized, and multiplied by 1 − λ_init.
    shapes: P₁[h n m], P₂[h n m] -> D[h n m]
    see: difference, head_pairs, context_norm, weight_difference, no_lambda
    source: Ye et al. 2024 (Differential Transformer), eq. 1 to 3

relative attention, relative positions, xlnet, rel-pos attention
    The score of a pair has terms for its distance: the query with a vector of the distance, and a bias for the key
    and one for the vector. Transformer-XL makes the vectors of sines and cosines; Conformers have the same terms.
    shapes: Q[n d], R[r d] -> S[n m]
    see: transformer_xl, shaw, disentangled, relative_scores, relative_shift
    source: Dai et al. 2019 (Transformer-XL), 3.3

disentangled attention, deberta, content to position, c2p, p2c
    A token has a vector of its content and one of its position: a score adds content to content, content to position
    (c2p) and position to content (p2c), and is divided by √(3 d). Distances may share buckets.
    shapes: Q[n d], K[m d], table[r x] -> S[n m]
    see: disentangled, position_norm, relative_scores, p2c_reversed, scale_without_terms
    source: He et al. 2020 (DeBERTa), eq. 2 to 4

absorbed form, weight absorption, absorbed, absorption
    Latent attention without keys and values: the key weights of a head are multiplied into its query weights, the
    value weights into w_o, and all heads attend to the latent itself, as in multi-query attention. The output is the
    same; the scale still depends on the size of the keys, which are never computed.
    shapes: Qₕ[h n λ], Z[m λ] -> A[h n m]
    see: latent attention, multi-query attention, scale_of_latent
    source: DeepSeek-AI 2024 (DeepSeek-V2), 2.1.2

decoupled rope, shared rope key
    The last features of each key, one for all heads: rope turns them and as many features of each query, and leaves
    the others, which are made of latents, as they are.
    shapes: X[m x], W_R[x ρ] -> R[m ρ]
    see: w_k_rope, rope_key, latent attention, rope_on_wrong_part
    source: DeepSeek-AI 2024 (DeepSeek-V2), 2.1.3

lightning indexer, indexer, sparse selection, sparse attention, dsa, top-k attention, index scores
    A small attention without softmax that chooses the keys which a query sees: each of its heads multiplies its query
    with the one key that all heads share, what is positive counts, times a weight of the head; the mask top keeps the
    keys with the highest sums, of those that no other mask hides.
    shapes: Qᴵ[ι n η], Kᴵ[m η], ω[n ι] -> I[n m]
    see: top, w_q_index, index_scores, top_before_mask, latent attention
    source: DeepSeek-AI 2025 (DeepSeek-V3.2-Exp), eq. 1

logits, attention scores, energies, alignment scores
    The scores, before they are normalized. Attention logits are what softmax turns into weights.
    see: scores, masked_scores, softmax

attention weights, attention matrix, attention map, alignment, probabilities
    How much of each value a query takes: a row for each query. After softmax they are positive and add to 1.
    see: weights, softmax

context vector
    What a query gathers: the sum of the values, each times its weight.
    shapes: A[n m], V[m e] -> C[n e]
    see: context, output, weighted_sum
    source: Bahdanau, Cho & Bengio 2015, equation 5

dot products, dot product, QKᵀ, QKT, query key product
    Qᵢ·Kⱼ, the products of the features of a query and of a key, added: large where both point the same way.
    shapes: Q[n d], Kᵀ[d m] -> QKᵀ[n m]
    see: dot, scaled_dot, scores

√d, sqrt d, √dₖ, 1/√d, scaling factor
    The square root of the number of features of a query: products are divided by it, because a sum of d products
    grows like √d, and softmax of large scores has one weight of nearly 1.
    see: scaled_dot, scale
    source: Vaswani et al. 2017, 3.2.1

Σ, sum sign, row sum, sigma sign
    A sum: Σⱼ adds over the keys. The sum of a row's exponentials is what softmax divides by.
    see: exponentials, softmax

exp, exponential, exponential function
    e to the power of a number: always positive, and large for a large score. Softmax takes it of each score minus the
    largest of its row, so that none overflows.
    see: exponentials, softmax

logsumexp, lse, log-sum-exp
    ln Σⱼ exp(Sᵢⱼ), the logarithm of softmax's denominator. Kernels return it to merge blocks of keys, and for the
    backward pass. --select lse has it: natural, of the scores that the normalizer reads, with the sink; −∞ for a
    query that sees no key.
    see: softmax, exponentials, flash attention
    source: Dao et al. 2022, algorithm 1

−∞, minus infinity, negative infinity
    What a hidden score becomes before it is normalized: exp(−∞) = 0, so that its weight is 0.
    see: masked_scores, mask, bias

mask, attention mask, attn_mask, masking, masked
    Says which keys each query sees: 1 or true for visible, 0 or false for hidden.
    shapes: S[n m], M[n m] -> Sᵐ[n m]
    see: causal, window, key_mask, key_lengths, visible, masked_scores

convention
    How a framework reads the same options: whether 1 in a mask shows or hides a key, where causal counts from, what
    a query that sees no key gets. --as NAME reads a problem so; attn list conventions has the names.
    see: torch-sdpa, torch-mha, flash, align, empty_rows

empty row, row without keys, fully masked row
    A query that sees no key, because all are hidden: weights 0 and output 0, unless empty_rows says NaN or
    uniform.
    see: empty_rows, mask, visible

causal, causal mask, is_causal, autoregressive, look-ahead mask, triangular mask
    No query sees a later key, so that a model that writes from left to right can't look ahead.
    see: causal, align, mask
    source: Vaswani et al. 2017, 3.2.3

tril, triu, triangle, lower triangle, torch.tril, np.tril
    The lower triangle of a matrix of ones, a causal mask: query i sees the keys 0 to i. Give causal instead.
    see: causal, mask

masked_fill, masked_fill_, masked fill
    A function of PyTorch that writes −∞ into the scores where a mask is true. Give mask instead, which is the
    opposite: 1 where a query sees a key.
    see: mask, masked_scores, −∞, mask_inverted

padding, padding mask, pad
    Tokens that fill the shorter sequences of a batch and that no query sees. Give key_mask, as tokenizers do, or
    key_lengths.
    see: key_mask, key_lengths

valid_lens, valid_len, valid lengths, seq_lens, sequence lengths
    How many tokens of each sequence are real; the rest is padding. Give key_lengths instead.
    see: key_lengths, padding
    source: Zhang et al. 2023, Dive into Deep Learning, 11.3

sliding window, local attention, sliding window attention
    A query sees only keys near it. window LEFT,RIGHT counts the keys on each side of the query's own; Hugging Face's
    sliding_window of W includes that key: W − 1 to the left.
    see: window, causal
    source: Beltagy, Peters & Cohan 2020

KV cache, cache, past key values, key value cache
    The keys and values of earlier tokens, kept, so that a new token computes its own alone.
    shapes: Kₚ[p d], K[k d] -> K[m d]
    see: past_key, past_value, present_key, align
    source: Shazeer 2019

decoding, decode, prefill, incremental decoding, generation
    A model writes one token after the other: one new query, and the keys of all tokens so far.
    shapes: Q[1 d], K[m d] -> A[1 m]
    see: KV cache, causal

projection, projections, linear layer, weight matrix, weight matrices
    A matrix of learned weights that makes queries, keys or values of the embeddings, or the output of the heads.
    shapes: X[n x], W_Q[x d] -> Q[n d]
    see: w_q, w_k, w_v, w_o, weight_layout

embedding, word vector, token embedding, word embedding
    The vector of a token: a row of X.
    see: embeddings, vocabulary, sentence, token_table

transformer, transformer layer, transformer block
    A model of layers, each with attention and a feed-forward network. attn computes the attention of one layer;
    attn model writes its problem file from a checkpoint.
    see: head, feed-forward, residual stream, encoder, decoder
    source: Vaswani et al. 2017, 3.1

encoder
    The half of a transformer that reads all tokens at once: self-attention in which each token sees every other.
    Give embeddings without causal.
    see: self-attention, decoder, embeddings
    source: Vaswani et al. 2017, 3.1

decoder
    The half of a transformer that writes one token after the other: causal self-attention, then cross-attention to
    the encoder. Give causal for the first, query_embeddings for the second.
    see: causal, cross-attention, query_embeddings, encoder
    source: Vaswani et al. 2017, 3.1

feed-forward, feed-forward network, feed forward, ffn, mlp
    Two linear layers with a function between them, which follow attention and act on each token alone. attn computes
    attention and stops before them.
    see: transformer, output
    source: Vaswani et al. 2017, 3.3

layer norm, layernorm, layer normalization, nn.LayerNorm
    Subtracts the mean from each vector and divides by its standard deviation. Give residual_norm for the norm before
    attention, qk_norm for the norm of queries and keys.
    see: layer, rms, residual_norm, qk_norm
    source: Ba, Kiros & Hinton 2016

dropout, attention dropout
    Sets random weights to 0 during training, so that a model does not rely on a few keys. attn computes inference,
    which has no dropout.
    see: weights, training
    source: Srivastava et al. 2014

training, train, learning, learn, optimizer, adam, learning rate
    Changes weights step by step, each against its gradient, until a loss is small. attn fit learns weights and other
    numbers of one attention from a target, by Adam.
    see: loss, gradient, projection

loss, loss function, objective, mean squared error, mse
    One number: how far a result is from its target. Training makes it smaller. attn fit takes the mean of the
    squared differences, and adds those of several targets.
    see: training, gradient, grad_output

gradient, gradients, backward pass, backward, backpropagation, backprop
    How much a loss grows with each number. --gradient computes it for every step and array, from the output back;
    it begins with grad_output, the gradient of the loss by the output.
    see: grad_output, loss, training

residual stream, hidden state, hidden states, pre-norm, residual connection, skip connection
    The vectors that pass from layer to layer. Each layer reads them through its norm and adds its output.
    see: residual, residual_norm, embeddings
    source: Elhage et al. 2021

packed projections, fused projections, qkv, c_attn, in_proj_weight, query_key_value, qkv_proj, $packings
    The weights of queries, keys and values in one matrix: w_qkv or w_kv, in the order that packing says. A slice
    takes one of them out, in quotes: "model.safetensors#c_attn.weight[:, 0:768]".
    see: w_qkv, w_kv, packing, w_qg

quantized weights, quantized, quantization, fp8, bits, gptq, awq, dequantize
    Weights stored in few bits; in place of a matrix [out in] write {fp8: {weight: …, scale: …, block: [128,
    128]}}, {gptq: {qweight: …, qzeros: …, scales: …, g_idx: …, bits: 4}} or {awq: {qweight: …, qzeros: …, scales:
    …}}. For float8 stored as uint8 write {float8_e4m3fn: {bits: …, scale: …}} or {float8_e5m2: …}.
    see: w_q, weight_layout

rope scaling, rope_scaling, rope_parameters, mrope, $scalings
    Lets rope read sequences that are longer than those of training. position: {rope: {scaling: {rope_type: yarn,
    factor: 4, original_max_position_embeddings: 4096}}} takes the mapping as config.json has it in rope_scaling
    or rope_parameters. Types: $types.
    see: rope, positions, frequencies, attention_factor

token, word
    A word or a piece of one: a row of the sequence, with its label.
    see: tokens, embeddings

positional encoding, position encoding, positional embedding, positions
    Tells the model the positions of queries and keys; without one attention does not depend on their order.
    see: position, sinusoidal, rope, alibi, t5
    source: Vaswani et al. 2017, 3.5

rotary embedding, rotary, θ, rotary position embedding, rotary positional embedding
    Queries and keys are rotated by angles that grow with their position: rope.
    see: rope, rotated_query
    source: Su et al. 2021

alignment model, score function, scoring function, bahdanau, luong, bahdanau attention, luong attention
    A function that scores a query and a key; Bahdanau's is a small network, Luong's a product.
    see: additive, general, dot, location
    source: Bahdanau, Cho & Bengio 2015; Luong, Pham & Manning 2015

normalizer, normalization, normalizing
    Turns the scores of a row into weights.
    see: normalize, softmax, sparsemax, entmax

temperature, softmax temperature, T
    Scores are divided by it before softmax: above 1 the weights are more even, below 1 one of them wins.
    see: softmax, scale

saturation, saturated softmax, softmax saturation
    One weight is nearly 1 and the others nearly 0, because the scores are far apart.
    see: √d, softmax, temperature
    source: Vaswani et al. 2017, 3.2.1

attention sink, attention sinks, off-by-one attention
    An extra logit that joins the softmax and is then discarded, so that the weights of a row can add to less than 1;
    elsewhere also the first tokens, on which models rest unused weight.
    see: sink, scores_and_sink, softmax1
    source: Xiao et al. 2023

QK norm, query key normalization
    Queries and keys of each head are normalized before they are compared.
    see: qk_norm, l2, rms, layer
    source: Henry et al. 2020

batch, batch item, batch size
    Several sequences that are computed at once, independently of each other: the axis b.
    see: key_lengths, key_mask

flash attention, flashattention, online softmax, blockwise, tiles
    Attention in tiles of keys, with a running maximum and sum, so that the table of scores is never whole in
    memory; the answer is the same. attn computes large problems so.
    see: softmax, scores
    source: Dao et al. 2022; Milakov & Gimelshein 2018

check, expected, against, verdict
    Compares expected numbers, from the key expected or from --against, with the computed ones; names the first
    step that differs.
    see: slip, tolerance

slip, slips, mistake
    A mistake that people make: no scale, an inverted mask. If numbers differ, a check names the mistakes that
    give the expected ones.
    see: no_scale, mask_inverted, check

tolerance, rtol, atol
    How far an expected number may be from the reference: twice the error of the same formula computed step by
    step in the type of the numbers, or half a unit of the last digit given.
    see: unit in the last place, check
    source: Dao et al. 2022, the tests of its code

unit in the last place, ulp, units in the last place
    The distance from a number to the next one that its type has: errors in these units can be compared between
    types.
    see: tolerance, dtype
    source: Goldberg 1991

correlation, pearson correlation
    How much two tables rise and fall together, from −1 to 1: it is 1 where one is the other, scaled or shifted. A
    large error with a correlation near 1 hints at a factor or a constant.
    see: cosine, check

support, support size
    The keys that have a weight in the row of a query: those whose weight is not 0. Softmax gives one to every
    visible key, sparsemax and entmax to some.
    see: sparsemax, entmax, effective keys, weights
    source: Martins & Astudillo 2016, section 2

entropy, entropy of the weights, nats
    How evenly a row of weights is spread: −Σⱼ Aᵢⱼ ln Aᵢⱼ, in nats. It is 0 where one key has all the weight and
    ln m where m keys have equal weights; rows that are not a distribution have none.
    see: effective keys, support, temperature, saturation
    source: Shannon 1948, section 6

effective keys, effective number of keys, perplexity
    The exponential of a row's entropy: so many keys of equal weight have the same entropy. It is between 1 and
    the support.
    see: entropy, support
    source: Hill 1973

total variation, total variation distance
    How far two rows of weights are apart: ½ Σⱼ |Aᵢⱼ − Bᵢⱼ|, the weight that has to move to others; 0 where the
    rows are equal and 1 where no key has weight in both.
    see: KL divergence, weights
    source: Levin & Peres 2017, proposition 4.2

KL divergence, kullback-leibler divergence, relative entropy, kl
    How much a row of weights A differs from another, B: Σⱼ Aᵢⱼ ln(Aᵢⱼ / Bᵢⱼ), in nats. It is infinite where A has
    weight on a key to which B gives none; attn compare shows it from the first variant to the others.
    see: total variation, entropy
    source: Kullback & Leibler 1951

induction head, induction heads, induction, previous token head
    A head that looks at what followed an earlier occurrence of the word: after A B … A at B. A head of an earlier
    layer looks at the previous token, so that each key knows its own. attn heads --kind induction finds them: it
    counts the queries that have an earlier occurrence.
    see: weights, entropy, attention rollout
    source: Olsson et al. 2022 (In-context Learning and Induction Heads)

attention rollout, rollout
    The maps of the layers, each the mean of its heads and of the identity, multiplied: how much of a token's vector has
    arrived at each other one. It leaves out values, w_o and feed-forward layers. attn heads --rollout shows it.
    see: weights, induction head
    source: Abnar & Zuidema 2020, 3
"""

_WORDS = {
    "$packings": FIELDS["packing"].words,
    "$scalings": [name for name in TYPES if name != "default"],
    "$types": list(TYPES),
}


def _term(paragraph: str) -> GlossaryTerm:
    names, *lines = map(str.strip, paragraph.splitlines())
    name, *aliases = names.split(", ")
    fields = dict.fromkeys(("shapes", "see", "source"), "")
    text = []
    for line in lines:
        field, colon, value = line.partition(": ")
        if colon and field in fields:
            fields[field] = value
        else:
            text.append(line)
    inputs, _, result = fields["shapes"].partition(" -> ")
    symbol, _, axes = result.partition("[")
    shapes = parse(f"{inputs} -> [{axes}")
    return GlossaryTerm(
        name,
        " ".join(text),
        tuple(aliases),
        tuple(shapes.arrays.items()),
        (symbol, shapes.result) if result else None,
        tuple(fields["see"].split(", ")) if fields["see"] else (),
        fields["source"],
    )


def _glossary() -> tuple[GlossaryTerm, ...]:
    """The terms, with the words from other lists filled in."""
    terms = _TERMS.strip()
    for place, words in _WORDS.items():
        terms = terms.replace(place, ", ".join(words))
    return tuple(map(_term, terms.split("\n\n")))


GLOSSARY = _glossary()
