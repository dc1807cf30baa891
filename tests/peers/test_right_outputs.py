"""A right output agrees, of attn and of PyTorch, in every type and at every size: no bound is one of luck."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checks.check import check
from attncli.checks.report import CheckOptions
from tests.problems import problem

torch = pytest.importorskip("torch")

FEATURES = 64
DRAWS = {64: 10, 1024: 2, 4096: 1}  # 200 of each, and 16,384 tokens, were tried by hand


def drawn(tokens: int, dtype: str, seed: int) -> "list[Any]":
    """Queries, keys and values; every second draw has scores three times as large, so that rows are peaked."""
    stream = np.random.default_rng([seed, tokens])
    sizes = (1 + seed % 2 * 2, 1, 1)
    return [
        torch.tensor(stream.standard_normal((1, 1, tokens, FEATURES)) * size).to(getattr(torch, dtype))
        for size in sizes
    ]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("tokens", DRAWS)
def test_a_right_output_agrees(tokens: int, dtype: str) -> None:
    for seed in range(DRAWS[tokens]):
        query, key, value = drawn(tokens, dtype, seed)
        outputs = {
            "attn": attncli.attention(query, key, value).output,
            "sdpa": torch.nn.functional.scaled_dot_product_attention(query, key, value),
        }
        if tokens < max(DRAWS):  # half types are slow
            outputs["formula"] = torch.softmax(query @ key.mT / FEATURES**0.5, dim=-1) @ value
        for name, output in outputs.items():
            spec = problem(query=query, key=key, value=value)
            (result,) = check(spec, {"output": output}, CheckOptions(tries_slips=False)).results
            assert result.agrees, (name, seed, result.worst)
            assert not result.looser or name == "formula"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_every_step_in_half_precision_gives_is_said_to_be_so(dtype: str) -> None:
    query, key, value = drawn(37, dtype, 1)
    plain = torch.softmax(query @ key.mT / 8, dim=-1) @ value
    report = attncli.check(query=query, key=key, value=value, against={"output": plain})
    assert report.agrees
    assert f"within what every step in {dtype} would give, but " in str(report)
    fused = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    assert "within what" not in str(attncli.check(query=query, key=key, value=value, against={"output": fused}))
