"""`attn try` on PyTorch's scaled_dot_product_attention, forward and backward, in every type."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.running import run_in_process

KERNELS = """
import torch
import torch.nn.functional as F


def right(query, key, value, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    more = {"attn_mask": attn_mask, "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    return F.scaled_dot_product_attention(query, key, value, **more)


def tokens_first(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v))).transpose(1, 2)


class WithoutScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / x.shape[-1] ** 0.5

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def wrong_gradient(q, k, v):
    return F.scaled_dot_product_attention(WithoutScale.apply(q), k, v, scale=1.0)
"""


def tried(folder: Path, name: str, *words: str) -> dict[str, Any]:
    (folder / "kernels.py").write_text(KERNELS, encoding="utf-8")
    return json.loads(run_in_process("try", f"kernels.py:{name}", *words, "--json", folder=folder).stdout)


@pytest.mark.parametrize("words", [(), ("--scale", "0.3"), ("--kv-heads", "2"), ("--causal", "--backward")])
def test_it_passes(words: tuple[str, ...], tmp_path: Path) -> None:
    found = tried(tmp_path, "right", *words, "--inputs", "80")
    assert found["passes"], found["smallest"]
    assert found["tried"] > 80
    assert (found["arrays"], found["layout"]) == ("torch", "bhnd")
    assert found["dtypes"] == ["float64", "float32", "float16", "bfloat16"]
    assert ("grad_key" in found["compared"]) == ("--backward" in words)


@pytest.mark.parametrize("words", [(), ("--causal", "--kv-heads", "2"), ("--scale", "0.3")])
def test_a_builtin_is_given_what_the_first_line_of_its_docstring_takes(words: tuple[str, ...], tmp_path: Path) -> None:
    words = ("try", "torch.nn.functional:scaled_dot_product_attention", *words, "--inputs", "20", "--json")
    found = json.loads(run_in_process(*words, folder=tmp_path).stdout)
    assert found["passes"], found["smallest"]
    assert "is_causal, scale, enable_gqa)" in found["called"][0]


LAZY = """
def calls(q, k, v):
    import torch
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def has_methods(q, k, v):
    return (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1) @ v
"""


@pytest.mark.parametrize("name", ["calls", "has_methods"])
def test_tensors_are_tried_where_arrays_are_none(name: str, tmp_path: Path) -> None:
    (tmp_path / "lazy.py").write_text(LAZY, encoding="utf-8")
    found = json.loads(run_in_process("try", f"lazy.py:{name}", "--inputs", "5", "--json", folder=tmp_path).stdout)
    assert (found["passes"], found["arrays"]) == (True, "torch")


@pytest.mark.parametrize("more", [{}, {"grad_output": np.ones((1, 2, 3, 4))}])
def test_gradients_are_tried_on_the_arrays_of_a_file(more: dict[str, np.ndarray], tmp_path: Path) -> None:
    arrays = dict(zip(("query", "key", "value"), np.random.default_rng(0).normal(size=(3, 1, 2, 3, 4)), strict=True))
    np.savez(tmp_path / "in.npz", **arrays, **more)
    found = tried(tmp_path, "right", "in.npz", "--backward", "--inputs", "0")
    assert found["passes"], found["smallest"]


LIBRARIES = {
    "xformers.ops:memory_efficient_attention": "PyTorch tensors in any layout: it raises NotImplementedError",
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_function_of_a_library_that_takes_other_arrays_has_no_verdict(name: str, tmp_path: Path) -> None:
    pytest.importorskip(name.partition(":")[0])
    ran = run_in_process("try", name, folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {name.partition(':')[2]}: can't be called with {LIBRARIES[name]}")


@pytest.mark.parametrize(
    ("words", "arrays"),
    [
        ("mlx.core.fast:scaled_dot_product_attention --as mlx", "MLX arrays"),
        ("jax.nn:dot_product_attention --as jax --dim 4 --lengths 24 --square --dtype float32", "JAX arrays"),
    ],
)
def test_functions_of_other_libraries_are_given_their_arrays(words: str, arrays: str, tmp_path: Path) -> None:
    ran = run_in_process("try", *words.split(), "--inputs", "0", folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert arrays in ran.stdout.splitlines()[1]


def test_tokens_before_heads_are_found_by_trying(tmp_path: Path) -> None:
    found = tried(tmp_path, "tokens_first", "--inputs", "10")
    assert (found["passes"], found["layout"]) == (True, "bnhd")


def test_a_gradient_that_is_wrong_alone_is_found(tmp_path: Path) -> None:
    found = tried(tmp_path, "wrong_gradient", "--backward", "--inputs", "0")
    assert found["smallest"]["sentence"] == "returns wrong numbers in grad_query"
    assert found["smallest"]["numbers"] <= 24
    assert tried(tmp_path, "wrong_gradient", "--inputs", "0")["passes"]
