"""Attention with the bugs of public projects, each written by hand in NumPy; nothing here is the program's code.

`KERNELS` has a function for each bug, by its source. It takes what a problem gives and returns the output, or the
results by their names where these are gradients.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Results = dict[str, np.ndarray]
Kernel = Callable[["Given"], np.ndarray | Results]
KERNELS: dict[str, Kernel] = {}


def bug(source: str) -> Callable[[Kernel], Kernel]:
    """A decorator: the function computes attention with the bug of a source, such as `owner/project#17`."""

    def register(kernel: Kernel) -> Kernel:
        assert source not in KERNELS, source
        KERNELS[source] = kernel
        return kernel

    return register


@dataclass(frozen=True)
class Given:
    """Queries [h n d], keys [h m d] and values [h m e], which each query head reads, and the keys of the problem."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    keys: Mapping[str, Any]

    @property
    def heads(self) -> int:
        return len(self.q)

    @property
    def d(self) -> int:
        return self.q.shape[-1]

    @property
    def n(self) -> int:
        return self.q.shape[-2]

    @property
    def m(self) -> int:
        return self.k.shape[-2]

    @property
    def groups(self) -> int:
        return self.keys.get("kv_heads", self.heads)


def given(keys: Mapping[str, Any]) -> Given:
    """What a problem gives, with the arrays that are drawn."""
    heads = keys.get("heads", 1)
    groups = keys.get("kv_heads", heads)
    if "query" not in keys:
        return Given(*(np.empty((0, 0, 0)) for _ in range(3)), keys)
    query, (key, value) = in_heads(keys["query"], heads), (rows(keys, name, groups) for name in ("key", "value"))
    read = [head * len(key) // len(query) for head in range(len(query))]
    return Given(query, key[read], value[read], keys)


def rows(keys: Mapping[str, Any], name: str, heads: int) -> np.ndarray:
    """The keys or values of so many heads, after those that are cached."""
    arrays = [keys[each] for each in (f"past_{name}", name) if each in keys]
    return np.concatenate([in_heads(x, heads) for x in arrays], axis=1)


def in_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """An array [n h·d], or one [1 h n d], as [h n d]."""
    return x[0] if x.ndim == 4 else x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def merged(x: np.ndarray) -> np.ndarray:
    """An array [h n e] as [n h·e]."""
    return x.transpose(1, 0, 2).reshape(x.shape[1], -1)


def products(g: Given, scale: float | None = None) -> np.ndarray:
    """The products of queries and keys [h n m], times 1/√d or another number."""
    return g.q @ g.k.transpose(0, 2, 1) * (1 / np.sqrt(g.d) if scale is None else scale)


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """Exponentials divided by their sum; NaN where all scores are −∞."""
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
        return powers / powers.sum(axis=axis, keepdims=True)


def attended(g: Given, scores: np.ndarray) -> np.ndarray:
    """The output of scores."""
    return merged(softmax(scores) @ g.v)


def hidden(scores: np.ndarray, visible: np.ndarray, fill: float = -np.inf) -> np.ndarray:
    """The scores, with a number where a key is not visible."""
    return np.where(visible, scores, fill)


def lower(g: Given, shift: int = 0) -> np.ndarray:
    """Which keys are no later than the queries, and so many more."""
    return np.tril(np.ones((g.n, g.m), dtype=bool), shift)


def is_real(g: Given) -> np.ndarray:
    """Which keys are not padding [m]."""
    return np.array(g.keys["key_mask"], dtype=bool).reshape(-1)


# Scales and factors


@bug("ggml-org/llama.cpp#14892")
@bug("mlc-ai/mlc-llm#3426")
def unscaled(g: Given) -> np.ndarray:
    return attended(g, products(g, 1.0))


@bug("AI-Hypercomputer/maxtext#1370")
def divided_by_the_scale(g: Given) -> np.ndarray:
    scale = g.d**-0.5
    return attended(g, products(g, 1.0) / scale)


@bug("AI-Hypercomputer/maxtext#3138")
def scaled_in_the_layer_and_in_the_kernel(g: Given) -> np.ndarray:
    scaled = replace(g, q=g.q * g.d**-0.5)
    return attended(g, products(scaled))


@bug("huggingface/transformers#38290")
def scaled_in_the_layer_and_by_default(g: Given) -> np.ndarray:
    scaled = replace(g, q=g.q * g.d**-0.5)
    return attended(g, hidden(products(scaled), lower(g)))


@bug("karpathy/ng-video-lecture#6")
def scaled_by_the_channels_of_the_input(g: Given) -> np.ndarray:
    channels = g.heads * g.d
    return attended(g, hidden(products(g, channels**-0.5), lower(g)))


@bug("ollama/ollama#13893")
def scaled_by_the_absorbed_dimension(g: Given) -> np.ndarray:
    return attended(g, products(g, 1 / np.sqrt(g.d * 576 / 256)))


@bug("onnxruntime/mobius#548")
def without_the_square_of_mscale(g: Given) -> np.ndarray:
    return attended(g, products(g))


@bug("huggingface/transformers#44397")
def without_the_number_of_the_layer(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), lower(g)))


@bug("NVIDIA/Megatron-LM#1501")
def scaled_by_the_hidden_size_over_the_heads(g: Given) -> np.ndarray:
    return attended(g, products(g, 1 / np.sqrt(g.d * (5120 // 128) / (128 + 64))))


@bug("ggml-org/llama.cpp#8444")
def scaled_by_224_for_256(g: Given) -> np.ndarray:
    return attended(g, products(g, 1 / np.sqrt(g.d * 224 / 256)))


@bug("sgl-project/sglang#18396")
def key_scale_without_quantized_keys(g: Given) -> np.ndarray:
    return attended(g, products(g) * 0.06)


@bug("sgl-project/sglang#34765")
def value_scale_left_out(g: Given) -> np.ndarray:
    stored = g.v / 0.0625
    return attended(replace(g, v=stored), products(g))


@bug("FrancescoSaverioZuppichini/ViT#2")
def scaled_after_the_softmax(g: Given) -> np.ndarray:
    return merged(softmax(products(g, 1.0)) / np.sqrt(g.d) @ g.v)


@bug("sgl-project/sgl-kernel-xpu#252")
def value_scale_of_the_first_head(g: Given) -> np.ndarray:
    scales = np.array([0.5, 0.25, 2.0, 1.5])[:, None, None]
    stored = g.v / scales
    return merged(softmax(products(g)) @ stored * scales[0])


def in_tf32(x: np.ndarray) -> np.ndarray:
    """Numbers of float32 with the 10 bits that tensor cores read."""
    bits = np.asarray(x, dtype=np.float32).view(np.uint32)
    return ((bits + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)


@bug("triton-lang/triton#1671")
def products_in_tf32(g: Given) -> np.ndarray:
    scores = in_tf32(g.q) @ in_tf32(g.k).transpose(0, 2, 1) / np.float32(np.sqrt(g.d))
    return merged(in_tf32(softmax(scores)) @ in_tf32(g.v))


# The axis of the softmax


@bug("PetrochukM/PyTorch-NLP#2")
def softmax_over_the_first_axis(g: Given) -> np.ndarray:
    return softmax(products(g, 1.0)[0], axis=0) @ g.v[0]


@bug("labmlai/annotated_deep_learning_paper_implementations#146")
def softmax_over_the_first_of_the_two(g: Given) -> np.ndarray:
    weights = np.einsum("ihd,jhd->ijh", g.q.transpose(1, 0, 2), g.k.transpose(1, 0, 2)) / np.sqrt(g.d)
    return np.einsum("ijh,jhd->ihd", softmax(weights, axis=0), g.v.transpose(1, 0, 2)).reshape(g.n, -1)


@bug("FudanNLP/fastNLP#254")
def softmax_over_axis_2_of_four(g: Given) -> np.ndarray:
    return merged(softmax(products(g)[None], axis=2)[0] @ g.v)


@bug("heykeetae/Self-Attention-GAN#11")
def weights_of_the_keys(g: Given) -> np.ndarray:
    return (g.v[0].T @ softmax(products(g, 1.0)[0])).T


# Masks


@bug("lucidrains/x-transformers#160")
def true_for_hidden(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), ~g.keys["mask"]))


@bug("InseeFrLab/torchTextClassifiers#92")
def padding_alone(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), ~is_real(g)))


@bug("rasbt/LLMs-from-scratch#1062")
def the_future_alone(g: Given) -> np.ndarray:
    scores = hidden(products(g), np.triu(np.ones((g.n, g.m), dtype=bool), 1))
    return np.nan_to_num(attended(g, scores))


@bug("hyunwoongko/transformer#10")
def filled_with_a_small_number(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), g.keys["mask"], fill=-1e-12))


@bug("georg-wolflein/good-features#1")
def multiplied_by_the_mask(g: Given) -> np.ndarray:
    return attended(g, products(g) * is_real(g))


@bug("huggingface/pytorch-image-models#2236")
def masked_after_the_softmax(g: Given) -> np.ndarray:
    return merged(np.where(g.keys["mask"], softmax(products(g)), 0) @ g.v)


@bug("onnx/onnx#7865")
@bug("emmtrix/emx-onnx-cgen#731")
def capped_after_the_mask(g: Given) -> np.ndarray:
    cap = g.keys["softcap"]
    scores = hidden(products(g), g.keys["mask"]) if "mask" in g.keys else hidden(products(g), lower(g))
    return attended(g, cap * np.tanh(scores / cap))


@bug("sgl-project/sgl-kernel-xpu#491")
def not_capped(g: Given) -> np.ndarray:
    return attended(g, products(g))


@bug("tenstorrent/tt-metal#42891")
def bias_scaled_too(g: Given) -> np.ndarray:
    return attended(g, (products(g, 1.0) + g.keys["bias"]) / np.sqrt(g.d))


@bug("microsoft/onnxruntime#28958")
@bug("gittensor-ai-lab/sparkinfer#3")
def causal_from_the_first_key(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), lower(g)))


@bug("huggingface/transformers#48821")
@bug("lablup/mlxcel#998")
def not_causal(g: Given) -> np.ndarray:
    return attended(g, products(g))


@bug("huggingface/transformers#42820")
def causal_encoder(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), lower(g)))


@bug("NVIDIA-NeMo/Megatron-Bridge#2656")
@bug("huggingface/transformers#39408")
@bug("zml/zml#763")
def one_more_key_to_the_left(g: Given) -> np.ndarray:
    window = int(g.keys["window"][0]) + 1  # keys, with the query's own
    distance = np.arange(g.n)[:, None] - np.arange(g.m)
    return attended(g, hidden(products(g), (distance >= 0) & (distance <= window)))


@bug("huggingface/transformers#47010")
def one_key_fewer_to_the_right(g: Given) -> np.ndarray:
    left, right = g.keys["window"]
    distance = np.arange(g.n)[:, None] - np.arange(g.m)
    return attended(g, hidden(products(g), (distance <= left) & (-distance < right)))


@bug("vllm-project/vllm-metal#282")
def no_window(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), lower(g)))


@bug("yg211/bert_nli#3")
def padding_seen(g: Given) -> np.ndarray:
    return attended(g, products(g))


@bug("ai-glimpse/toynlp#52")
def padding_as_queries(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), g.keys["mask"].T, fill=-1e4))


@bug("robertknight/rten#1321")
@bug("pytorch/pytorch#103963")
def nothing_divided_by_nothing(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), g.keys["mask"]))


@bug("NVIDIA/apex#1390")
def average_of_hidden_keys(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), g.keys["mask"], fill=-1e4))


@bug("axolotl-ai-cloud/axolotl#3796")
def documents_that_see_each_other(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), lower(g)))


@bug("Gen-Verse/MMaDA#19")
def the_bias_not_handed_on(g: Given) -> np.ndarray:
    return attended(g, products(g))


@bug("vllm-project/vllm-metal#665")
def capped_by_0(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), lower(g)))


@bug("facebookresearch/xformers#1185")
def sequences_that_see_ahead(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), np.kron(np.eye(2), np.ones((3, 3))) > 0))


@bug("huggingface/transformers#41443")
def boolean_mask_added(g: Given) -> np.ndarray:
    return attended(g, products(g) + g.keys["mask"])


@bug("TransformerLensOrg/TransformerLens#318")
def hidden_by_100_000(g: Given) -> np.ndarray:
    return attended(g, hidden(products(g), lower(g), fill=-1e5))


@bug("NVIDIA/TransformerEngine#3391")
def capped_after_the_bias(g: Given) -> np.ndarray:
    cap, distance = g.keys["softcap"], abs(np.arange(g.n)[:, None] - np.arange(g.m))
    return attended(g, cap * np.tanh((products(g) - slopes(g.heads) * distance) / cap))


@bug("huggingface/transformers#40324")
def chunks_counted_with_the_padding(g: Given) -> np.ndarray:
    chunk = np.arange(g.m) // 3
    visible = (chunk[:, None] == chunk) & lower(g) & is_real(g)
    return np.nan_to_num(attended(g, hidden(products(g), visible)))


@bug("line/lighthouse#77")
def masks_of_other_items(g: Given) -> np.ndarray:
    items, heads = len(g.keys["query"]), g.keys["heads"]
    masks = np.tile(g.keys["mask"][:, 0], (heads, 1, 1))  # M0 M1 M0 M1, not M0 M0 M1 M1
    outputs = []
    for item, own in enumerate(np.split(masks, items)):
        one = given({"heads": heads, **{name: g.keys[name][item] for name in ("query", "key", "value")}})
        outputs.append(attended(one, hidden(products(one), own)))
    return np.stack(outputs)


# ALiBi and rope


def slopes(heads: int) -> np.ndarray:
    """ALiBi's slopes of a number of heads that is a power of two [h 1 1]."""
    return (2.0 ** (-8 * np.arange(1, heads + 1) / heads))[:, None, None]


def with_alibi(g: Given, of_heads: np.ndarray) -> np.ndarray:
    """The output with a penalty for distant keys."""
    distance = abs(np.arange(g.n)[:, None] - np.arange(g.m))
    return attended(g, products(g) - of_heads * distance)


@bug("ml-explore/mlx#3071")
def slopes_of_a_geometric_sequence(g: Given) -> np.ndarray:
    return with_alibi(g, ((2**8) ** (1 / g.heads)) ** -np.arange(1, g.heads + 1)[:, None, None].astype(float))


@bug("paiml/aprender#2143")
def slopes_from_1(g: Given) -> np.ndarray:
    return with_alibi(g, (2.0 ** (-8 * np.arange(g.heads) / g.heads))[:, None, None])


@bug("meta-pytorch/attention-gym#86")
def distance_rewarded(g: Given) -> np.ndarray:
    bias = slopes(g.heads) * (np.arange(g.n)[:, None] - np.arange(g.m))
    return attended(g, hidden(products(g) + bias, lower(g)))


def frequencies(dims: int, base: float = 10_000.0) -> np.ndarray:
    """The angle of one position for each pair."""
    return base ** (-np.arange(dims // 2) * 2 / dims)


def halves(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Feature f of the first half and of the second, turned by angles [n d/2]; more features stay."""
    pairs = angles.shape[-1]
    first, second, rest = x[..., :pairs], x[..., pairs : 2 * pairs], x[..., 2 * pairs :]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin, rest], axis=-1)


def neighbours(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Features 2f and 2f + 1 turned by angles [n d/2]."""
    result = np.empty_like(x)
    cos, sin = np.cos(angles), np.sin(angles)
    result[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    result[..., 1::2] = x[..., 1::2] * cos + x[..., 0::2] * sin
    return result


def places(g: Given) -> np.ndarray:
    """The positions of all keys."""
    return np.asarray(g.keys.get("positions", np.arange(g.m)), dtype=float)


def with_rope(
    g: Given, angles: np.ndarray, turn: Callable[[np.ndarray, np.ndarray], np.ndarray] = halves, factor: float = 1.0
) -> np.ndarray:
    """The scores of queries and keys that are turned, and multiplied by a factor each."""
    turned = replace(g, q=factor * turn(g.q, angles[-g.n :]), k=factor * turn(g.k, angles))
    return products(turned)


@bug("Avarok-Cybersecurity/atlas#276")
def base_of_the_compressed_layers(g: Given) -> np.ndarray:
    return attended(g, with_rope(g, places(g)[:, None] * frequencies(g.d, 160_000.0)))


@bug("huggingface/candle#2891")
def base_of_the_global_layers(g: Given) -> np.ndarray:
    return attended(g, with_rope(g, places(g)[:, None] * frequencies(g.d, 1e6)))


@bug("ggml-org/llama.cpp#13260")
@bug("ikawrakow/ik_llama.cpp#2290")
def neighbours_for_halves(g: Given) -> np.ndarray:
    return attended(g, with_rope(g, places(g)[:, None] * frequencies(g.d), neighbours))


@bug("paiml/aprender#2084")
def halves_for_neighbours(g: Given) -> np.ndarray:
    return attended(g, with_rope(g, places(g)[:, None] * frequencies(g.d)))


@bug("vllm-project/vllm#43770")
def every_feature_turned(g: Given) -> np.ndarray:
    return attended(g, with_rope(g, places(g)[:, None] * frequencies(g.d)))


@bug("ggml-org/llama.cpp#8676")
@bug("Blaizzy/mlx-vlm#1709")
def unstretched(g: Given) -> np.ndarray:
    base = next(iter(g.keys["position"].values())).get("base", 10_000.0)
    return attended(g, with_rope(g, places(g)[:, None] * frequencies(g.d, base)))


@bug("sgl-project/sglang#33558")
def attention_factor_squared(g: Given) -> np.ndarray:
    return attended(g, with_rope(g, places(g)[:, None] * frequencies(g.d), factor=1.4852**2))


@bug("turboderp-org/exllamav3#259")
def attention_factor_of_1(g: Given) -> np.ndarray:
    return attended(g, with_rope(g, places(g)[:, None] * frequencies(g.d)))


@bug("kvcache-ai/sglang#66")
def keys_not_turned(g: Given) -> np.ndarray:
    turned = halves(g.q, places(g)[:, None] * frequencies(g.d))
    return attended(g, products(replace(g, q=turned)))


def after_cache(g: Given, of_queries: np.ndarray, of_new_keys: np.ndarray, again: int = 0) -> np.ndarray:
    """The output where cached keys are turned already, and queries and new keys are at these positions."""
    past, step = g.m - g.n, frequencies(g.d)
    cached = g.k[:, :past]
    if again:
        cached = halves(cached, np.arange(past)[:, None] * step)
    keys = np.concatenate([cached, halves(g.k[:, past:], of_new_keys[:, None] * step)], axis=1)
    scores = products(replace(g, q=halves(g.q, of_queries[:, None] * step), k=keys))
    return attended(g, hidden(scores, lower(g, past)))


@bug("NeuraLegion/shainet#110")
def cached_keys_turned_again(g: Given) -> np.ndarray:
    own = np.arange(g.m - g.n, g.m)
    return after_cache(g, own, own, again=1)


@bug("ndif-team/nnsight#673")
def positions_counted_with_the_padding(g: Given) -> np.ndarray:
    x = g.keys["embeddings"]
    x = x + np.array(g.keys["position"]["learned"]["table"])[: len(x)]
    scores = hidden(x @ x.T / np.sqrt(x.shape[1]), is_real(g))
    return softmax(scores) @ x


@bug("bigscience-workshop/Megatron-DeepSpeed#227")
def slopes_of_the_first_rank(g: Given) -> np.ndarray:
    ranks = 2
    return with_alibi(g, np.concatenate([slopes(g.heads)[: g.heads // ranks]] * ranks))


@bug("pie-project/pie#603")
def partners_by_the_width_of_the_head(g: Given) -> np.ndarray:
    pairs = g.keys["position"]["rope"]["dims"] // 2
    angles = places(g)[:, None] * frequencies(g.d)
    angles[:, pairs:] = 0
    return attended(g, with_rope(g, angles))


@bug("ollama/ollama#12348")
def stretched_by_8(g: Given) -> np.ndarray:
    return attended(g, with_rope(g, places(g)[:, None] / 8 * frequencies(g.d)))


@bug("skyzh/tiny-llm#46")
def cache_counted_twice(g: Given) -> np.ndarray:
    past = g.m - g.n
    later = np.arange(past, g.m) + past
    return after_cache(g, later, later)


@bug("EleutherAI/gpt-neox#1003")
def angles_in_half_precision(g: Given) -> np.ndarray:
    step = frequencies(g.d).astype(np.float16)
    angles = places(g)[:, None].astype(np.float16) * step
    return attended(g, with_rope(g, angles.astype(np.float64)))


@bug("Modalities/modalities#462")
def frequencies_in_bfloat16(g: Given) -> np.ndarray:
    bits = frequencies(g.d).astype(np.float32).view(np.uint32)
    step = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)
    return attended(g, with_rope(g, places(g)[:, None] * step.astype(np.float64)))


# Norms


def rms(x: np.ndarray, eps: float) -> np.ndarray:
    """Vectors divided by the root of their mean square."""
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)


@bug("ml-explore/mlx-lm#1624")
def eps_on_the_mean_for_the_sum(g: Given) -> np.ndarray:
    return attended(g, products(replace(g, q=rms(g.q, 1e-6), k=rms(g.k, 1e-6))))


@bug("Wenyueh/MinivLLM#82")
def eps_of_another_norm(g: Given) -> np.ndarray:
    return attended(g, products(replace(g, q=rms(g.q, 1e-5), k=rms(g.k, 1e-5))))


@bug("Blaizzy/mlx-vlm#2111")
def one_more_than_the_gain(g: Given) -> np.ndarray:
    gain = 1 + np.array([0.5, 1.5, 1.25, 0.75])
    return attended(g, products(replace(g, q=gain * rms(g.q, 1e-6), k=gain * rms(g.k, 1e-6))))


@bug("Integral2u/SharpMind#39")
def rotated_without_a_norm(g: Given) -> np.ndarray:
    return attended(g, with_rope(g, places(g)[:, None] * frequencies(g.d)))


@bug("vllm-project/vllm#16311")
def normalized_over_all_heads(g: Given) -> np.ndarray:
    q, k = (in_heads(rms(merged(x), 1e-5), g.heads) for x in (g.q, g.k))
    return attended(g, products(replace(g, q=q, k=k)))


@bug("lucidrains/x-transformers#352")
def normalized_without_the_gain(g: Given) -> np.ndarray:
    return attended(g, products(replace(g, q=rms(g.q, 0), k=rms(g.k, 0))))


@bug("vllm-project/vllm-metal#664")
def normalized_and_then_rotated(g: Given) -> np.ndarray:
    q = np.array([0.5, 1.5, 1.25, 0.75]) * rms(g.q, 1e-5)
    k = np.array([2, 0.5, 1, 1.5]) * rms(g.k, 1e-5)
    return attended(g, with_rope(replace(g, q=q, k=k), places(g)[:, None] * frequencies(g.d)))


# Heads and layouts


@bug("ekzhang/jax-js#180")
@bug("apple/axlearn#842")
def key_heads_tiled(g: Given) -> np.ndarray:
    own = [g.keys["heads"] // g.groups * (head % g.groups) for head in range(g.heads)]
    read = replace(g, k=g.k[own], v=g.v[own])
    return attended(read, products(read))


@bug("FlashML-org/FreeToken#177")
def tiles_of_heads_over_the_edge(g: Given) -> np.ndarray:
    tile, per_group = 2, g.heads // g.groups
    own = [head // tile * tile // per_group * per_group for head in range(g.heads)]
    read = replace(g, k=g.k[own], v=g.v[own])
    return attended(read, products(read))


@bug("jsbaan/transformer-from-scratch#6")
@bug("zhouhaoyi/Informer2020#100")
def merged_without_a_transpose(g: Given) -> np.ndarray:
    return (softmax(products(g)) @ g.v).reshape(g.n, -1)


@bug("kyegomez/FlashMHA#1")
def heads_for_tokens(g: Given) -> np.ndarray:
    q, k, v = (x.transpose(1, 0, 2) for x in (g.q, g.k, g.v))
    return (softmax(q @ k.transpose(0, 2, 1) / np.sqrt(g.d)) @ v).transpose(1, 0, 2)[None]


@bug("awslabs/slapo#46")
def columns_in_another_order(g: Given) -> np.ndarray:
    query, key, value = np.split(g.keys["embeddings"] @ g.keys["w_qkv"], 3, axis=1)
    read = given({"query": query, "key": key, "value": value, "heads": g.keys["heads"]})
    return attended(read, products(read))


@bug("meta-pytorch/torchtune#21")
def keys_for_values(g: Given) -> np.ndarray:
    return attended(replace(g, v=g.k), products(g))


@bug("sbryngelson/ANEForge#253")
def projected_without_biases(g: Given) -> np.ndarray:
    q, k, v = (g.keys["embeddings"] @ g.keys[name] for name in ("w_q", "w_k", "w_v"))
    return softmax(q @ k.T / np.sqrt(k.shape[1])) @ v


@bug("lucidrains/alphafold2#84")
def gate_without_its_function(g: Given) -> np.ndarray:
    x = g.keys["embeddings"]
    q, k, v = (x @ g.keys[name] for name in ("w_q", "w_k", "w_v"))
    return softmax(q @ k.T / np.sqrt(k.shape[1])) @ v * (x @ g.keys["w_g"])


@bug("facebookresearch/Motionformer#6")
def values_not_projected(g: Given) -> np.ndarray:
    x = g.keys["embeddings"]
    query, key = x @ g.keys["w_q"], x @ g.keys["w_k"]
    return softmax(query @ key.T / np.sqrt(query.shape[1])) @ x


@bug("shenweichen/DeepCTR#494")
def values_of_projected_keys(g: Given) -> np.ndarray:
    x = g.keys["embeddings"]
    query, key = x @ g.keys["w_q"], x @ g.keys["w_k"]
    return softmax(query @ key.T / np.sqrt(query.shape[1])) @ (key @ g.keys["w_v"])


# Sinks


def with_sink(g: Given, sink: np.ndarray, count: int = 1) -> np.ndarray:
    """The output where so many logits more take part in the softmax."""
    scores = products(g)
    column = np.broadcast_to(sink, scores.shape[:-1])[..., None]
    return merged(softmax(np.concatenate([scores, *[column] * count], axis=-1))[..., : g.m] @ g.v)


@bug("modular/modular#6198")
def sink_left_out(g: Given) -> np.ndarray:
    return attended(g, products(g))


@bug("ROCm/rocm-libraries#12227")
def sink_of_two_splits(g: Given) -> np.ndarray:
    return with_sink(g, np.asarray(g.keys["sink"])[:, None], count=2)


@bug("modular/modular#6591")
def sink_by_the_row(g: Given) -> np.ndarray:
    return with_sink(g, np.asarray(g.keys["sink"])[np.arange(g.n) % g.heads])


# Tiles, splits and caches


@bug("tenstorrent/tt-metal#6832")
def padding_of_a_tile_of_32(g: Given) -> np.ndarray:
    zeros = np.zeros((g.heads, -g.m % 32, g.d))
    padded = replace(g, k=np.concatenate([g.k, zeros], axis=1), v=np.concatenate([g.v, zeros], axis=1))
    return attended(padded, products(padded))


@bug("flashinfer-ai/flashinfer#5090")
def padding_of_a_block_of_64(g: Given) -> np.ndarray:
    powers = np.exp(products(g))
    return merged(powers @ g.v / (powers.sum(axis=-1, keepdims=True) + -g.m % 64))


@bug("ROCm/rocm-libraries#6498")
def small_changes_of_the_maximum_not_applied(g: Given) -> np.ndarray:
    scores, tile, threshold = products(g), 4, 8 * np.log(2)
    largest = np.full((g.heads, g.n, 1), -np.inf)
    total, summed = np.zeros_like(largest), np.zeros((g.heads, g.n, g.v.shape[-1]))
    for first in range(0, g.m, tile):
        part = scores[..., first : first + tile]
        new = np.maximum(largest, part.max(axis=-1, keepdims=True))
        powers = np.exp(part - new)
        skipped = new - largest <= threshold
        kept = np.where(skipped, 1, np.exp(largest - new))
        total = total * kept + powers.sum(axis=-1, keepdims=True)
        summed = summed * kept + powers @ g.v[:, first : first + tile]
        largest = np.where(skipped, largest, new)
    return merged(summed / total)


@bug("harvard-edge/cs249r_book#1953")
def without_the_current_token(g: Given) -> np.ndarray:
    past = g.m - g.n
    return attended(replace(g, k=g.k[:, :past], v=g.v[:, :past]), products(g)[..., :past])


@bug("UChi-JCL/CacheGen#8")
def last_row_of_the_cache_cut_off(g: Given) -> np.ndarray:
    return attended(replace(g, k=g.k[:, :-1], v=g.v[:, :-1]), products(g)[..., :-1])


@bug("Dao-AILab/flash-attention#2082")
def maximum_of_0_after_hidden_keys(g: Given) -> np.ndarray:
    scores, tile = hidden(products(g), lower(g)).astype(np.float32), 2
    largest = np.full((g.heads, g.n, 1), -np.inf, np.float32)
    for first in reversed(range(0, g.m, tile)):
        largest = np.maximum(largest, scores[..., first : first + tile].max(axis=-1, keepdims=True))
        largest = np.where(np.isneginf(largest), np.float32(0), largest)
    powers = np.exp(scores - largest)
    total = powers.sum(axis=-1, keepdims=True)
    return merged(powers @ g.v / np.where(total > 0, total, 1))


@bug("flashinfer-ai/flashinfer#4267")
def maximum_from_minus_50_000(g: Given) -> np.ndarray:
    unscaled = products(g, 1.0)
    largest = np.maximum(unscaled.max(axis=-1, keepdims=True), -5e4)
    powers = np.exp((unscaled - largest) / np.sqrt(g.d))
    total = powers.sum(axis=-1, keepdims=True)
    return merged(powers @ g.v / np.where(total > 0, total, 1))


@bug("vllm-project/vllm#28840")
@bug("lightseekorg/tokenspeed#571")
def sums_in_base_2_merged_in_base_e(g: Given) -> np.ndarray:
    scores, half = products(g), -(-g.m // 2)
    parts = [slice(0, half), slice(half, g.m)]
    outputs = [softmax(scores[..., part]) @ g.v[:, part] for part in parts]
    sums = [np.log2(np.exp(scores[..., part]).sum(axis=-1, keepdims=True)) for part in parts]
    shares = softmax(np.stack(sums), axis=0)
    return merged((shares * np.stack(outputs)).sum(axis=0))


@bug("tenstorrent/tt-metal#54413")
def rows_of_the_cache_left_empty(g: Given) -> np.ndarray:
    key, value = g.k.copy(), g.v.copy()
    key[:, 2:4], value[:, 2:4] = 0, 0
    read = replace(g, k=key, v=value)
    return attended(read, products(read))


# The backward pass


def backward(g: Given, visible: np.ndarray, again: np.ndarray, of_sink: bool = False) -> Results:
    """The output and its gradients, of one head; `again` are the weights [n m] that the backward pass makes."""
    scores, grad = hidden(products(g), visible)[0], g.keys["grad_output"]
    sink = np.exp(g.keys["sink"]) if "sink" in g.keys else 0.0
    output = np.exp(scores) @ g.v[0] / (np.exp(scores).sum(axis=-1, keepdims=True) + sink)
    of_scores = again * (grad @ g.v[0].T - (grad * output).sum(axis=-1, keepdims=True))
    scale = g.d**-0.5
    found = {"output": output, "grad_query": of_scores @ g.k[0] * scale, "grad_key": of_scores.T @ g.q[0] * scale}
    return found | {"grad_value": again.T @ grad} | ({"grad_sink": np.zeros(1)} if of_sink else {})


def weights_of(g: Given, visible: np.ndarray, seen_backwards: np.ndarray) -> np.ndarray:
    """The weights [n m] of the keys that are seen backwards, by the log-sum-exp of those that are visible."""
    scores = products(g)[0]
    total = np.exp(hidden(scores, visible)).sum(axis=-1, keepdims=True)
    return np.exp(hidden(scores, seen_backwards)) / total


@bug("triton-lang/triton#4541")
def always_causal_backwards(g: Given) -> Results:
    every = np.ones((g.n, g.m), dtype=bool)
    return backward(g, every, weights_of(g, every, lower(g)))


@bug("xlite-dev/ffpa-attn#300")
def causal_as_in_a_square_backwards(g: Given) -> Results:
    visible = lower(g, g.m - g.n)
    return backward(g, visible, weights_of(g, visible, lower(g)))


@bug("NVIDIA/cudnn-frontend#421")
def sink_not_in_the_denominator_backwards(g: Given) -> Results:
    return backward(g, np.ones((g.n, g.m), dtype=bool), softmax(products(g)[0]), of_sink=True)


@bug("meta-pytorch/MSLK#263")
def neither_window_nor_causal_backwards(g: Given) -> Results:
    """The backward pass is that of another attention, with its own weights and output."""
    every = np.ones((g.n, g.m), dtype=bool)
    left, _ = g.keys["window"]
    output = backward(g, lower(g) & ~lower(g, -left - 1), every)["output"]
    return backward(g, every, weights_of(g, every, every)) | {"output": output}
