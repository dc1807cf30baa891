"""PyTorch's kernels agree in every type at the tolerance that is derived, each of them and however it is written."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

import attncli
from tests.peers.kernel_cases import TYPES, KernelCase, kernel_case

torch = pytest.importorskip("torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402 - only where PyTorch is there
from torch.nn.functional import scaled_dot_product_attention as sdpa  # noqa: E402 - the same

SEEDS = range(12)
every_type = pytest.mark.parametrize("dtype", TYPES)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small kernels are slower with several threads."""
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


def with_backend(backend: Any) -> Callable[[KernelCase], Any]:
    """A kernel of scaled_dot_product_attention; None where it does not take a problem."""

    def kernel(case: KernelCase) -> Any:
        with sdpa_kernel(backend), warnings.catch_warnings(action="ignore"):
            try:
                return sdpa(case.query, case.key, case.value, **case.options)
            except RuntimeError as error:
                assert "No available kernel" in str(error)  # noqa: PT017 - any other error is one
                return None

    return kernel


def flex_attention(case: KernelCase) -> Any:
    from torch.nn.attention.flex_attention import flex_attention as flex

    def score(scores: Any, _b: Any, _h: Any, i: Any, j: Any) -> Any:
        if case.kind == "bias":
            return scores + case.table[i, j]
        visible = i >= j if case.kind == "causal" else case.table[i, j] if case.kind == "mask" else i >= 0
        return torch.where(visible, scores, -torch.inf)

    with warnings.catch_warnings(action="ignore"):  # that it is not compiled
        return flex(case.query, case.key, case.value, score_mod=score, enable_gqa=case.options["enable_gqa"])


def by_hand(scores: Callable[[Any, Any, float], Any]) -> Callable[[KernelCase], Any]:
    """Softmax by hand, its scores scaled in one of several places."""

    def kernel(case: KernelCase) -> Any:
        key, value = case.repeated
        return torch.softmax(case.masked(scores(case.query, key.mT, case.scale)), dim=-1) @ value

    return kernel


def by_exponentials(case: KernelCase) -> Any:
    """Exponentials, sums and quotients, each rounded to the type."""
    key, value = case.repeated
    scores = case.masked((case.query @ key.mT) * case.scale)
    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (exponentials / exponentials.sum(-1, keepdim=True)) @ value


def as_flash_attention_does(case: KernelCase) -> Any:
    """Exponentials rounded to the type before they multiply the values, and the quotient last."""
    key, value = case.repeated
    wide = torch.promote_types(case.query.dtype, torch.float32)
    scores = case.masked(case.query.to(wide) @ key.to(wide).mT * case.scale)
    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True))
    weighted = exponentials.to(value.dtype).to(wide) @ value.to(wide)
    return (weighted / exponentials.sum(-1, keepdim=True)).to(value.dtype)


KERNELS: Mapping[str, Callable[[KernelCase], Any]] = {
    "math": with_backend(SDPBackend.MATH),
    "flash": with_backend(SDPBackend.FLASH_ATTENTION),
    "the one that PyTorch chooses": lambda case: sdpa(case.query, case.key, case.value, **case.options),
    "flex": flex_attention,
    "products scaled": by_hand(lambda q, k, scale: (q @ k) * scale),
    "products divided": by_hand(lambda q, k, scale: (q @ k) / (1 / scale)),
    "queries scaled": by_hand(lambda q, k, scale: (q * scale) @ k),
    "keys scaled": by_hand(lambda q, k, scale: q @ (k * scale)),
    "both scaled": by_hand(lambda q, k, scale: (q * scale**0.5) @ (k * scale**0.5)),
    "exponentials": by_exponentials,
    "as FlashAttention": as_flash_attention_does,
}


# Every second problem, of neighbouring kernels the others; not compiled, flex_attention is slow.
IN_TURN = {name: SEEDS[:4] if name == "flex" else SEEDS[at % 2 :: 2] for at, name in enumerate(KERNELS)}


@every_type
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_agrees(name: str, dtype: str) -> None:
    kernel = KERNELS[name]
    for seed in IN_TURN[name]:
        case = kernel_case(dtype, seed)
        output = kernel(case)
        if output is not None:
            attncli.check(**case.keys, against={"output": output}).raise_for_difference()


@every_type
def test_the_steps_of_attention_by_hand_agree(dtype: str) -> None:
    for seed in SEEDS[TYPES.index(dtype) % 2 :: 2]:
        case = kernel_case(dtype, seed)
        scores = (case.query @ case.repeated[0].mT) * case.scale
        weights = torch.softmax(case.masked(scores), dim=-1)
        attncli.check(**case.keys, against={"scores": scores, "weights": weights}).raise_for_difference()


@every_type
@pytest.mark.parametrize("is_causal", [False, True])
def test_multihead_attention_agrees(dtype: str, is_causal: bool) -> None:
    """The layer with its parameters as they are, with gradients."""
    torch.manual_seed(1)
    layer = torch.nn.MultiheadAttention(24, 3, batch_first=True, dtype=getattr(torch, dtype))
    torch.nn.init.normal_(layer.in_proj_bias)
    x = torch.randn(2, 7, 24, dtype=getattr(torch, dtype))
    hidden = ~torch.ones(7, 7, dtype=torch.bool).tril() if is_causal else None
    output, weights = layer(x, x, x, attn_mask=hidden, average_attn_weights=False)
    w_q, w_k, w_v = layer.in_proj_weight.chunk(3)
    b_q, b_k, b_v = layer.in_proj_bias.chunk(3)
    attncli.check(
        embeddings=x,
        **{"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": layer.out_proj.weight},
        **{"b_q": b_q, "b_k": b_k, "b_v": b_v, "b_o": layer.out_proj.bias},
        weight_layout="out_in",
        heads=3,
        causal=is_causal,
        against={"weights": weights, "output": output},
    ).raise_for_difference()


@every_type
def test_softcap_alibi_and_a_window_agree(dtype: str) -> None:
    from torch.nn.attention.flex_attention import flex_attention as flex

    cap, slopes = 2.0, torch.tensor([2.0**-4, 2.0**-8])

    def score(scores: Any, _b: Any, h: Any, i: Any, j: Any) -> Any:
        biased = cap * torch.tanh(scores / cap) - slopes[h] * (i - j).abs()
        return torch.where((j <= i) & (j >= i - 3), biased, -torch.inf)

    query, key, value = (torch.randn(1, 2, 11, 8, dtype=getattr(torch, dtype)) * 3 for _ in range(3))
    with warnings.catch_warnings(action="ignore"):
        output = flex(query, key, value, score_mod=score)
    keys = {"query": query, "key": key, "value": value, "softcap": cap, "position": "alibi", "window": (3, 0)}
    attncli.check(**keys, against={"output": output}).raise_for_difference()


def turned(x: Any, cosine: Any, sine: Any) -> Any:
    """Rope in halves, as transformers has it: each product and the sum rounded to the type."""
    one, other = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-other, one), dim=-1) * sine


@every_type
@pytest.mark.parametrize("queries", [7, 300])
def test_rope_agrees_whose_angles_are_computed_in_single_precision(dtype: str, queries: int) -> None:
    """In float32, as models have it, in double precision for float64: far positions multiply the angles' error."""
    wide, d = torch.promote_types(getattr(torch, dtype), torch.float32), 32
    frequencies = 1 / (10000 ** (torch.arange(0, d, 2, dtype=wide) / d))
    angles = torch.outer(torch.arange(queries, dtype=wide), frequencies).repeat(1, 2)
    cosine, sine = (x.to(getattr(torch, dtype)) for x in (angles.cos(), angles.sin()))
    for seed in range(4):
        stream = torch.Generator().manual_seed(seed)
        shape = (1, 2, queries, d)
        query, key, value = (torch.randn(shape, generator=stream, dtype=wide).to(cosine.dtype) for _ in range(3))
        output = sdpa(turned(query, cosine, sine), turned(key, cosine, sine), value, is_causal=True)
        keys = {"query": query, "key": key, "value": value, "position": "rope", "causal": True}
        attncli.check(**keys, against={"output": output}).raise_for_difference()
