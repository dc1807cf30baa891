"""Tensors of PyTorch are taken as they are: parameters of a model, with gradients, in every type, on every device."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from attncli import Problem, attention
from attncli.base.dtypes import float8_numbers, to_float8

torch = pytest.importorskip("torch")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else []), *(["mps"] if torch.mps.is_available() else [])]
TYPES = ["float16", "bfloat16", "float32", "float64"]
EIGHT_BITS = ["float8_e4m3fn", "float8_e5m2"]


def tensor(*shape: int, seed: int = 0, **options: Any) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(**options)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", TYPES)
def test_a_tensor_with_gradients_has_the_numbers_of_one_without(name: str, device: str) -> None:
    x = tensor(3, 4, dtype=getattr(torch, name))
    plain = attention(x, x)
    result = attention(x.clone().to(device).requires_grad_(), x.to(device))
    np.testing.assert_array_equal(result.output, plain.output)
    assert result.trace.problem.precision.name == plain.trace.problem.precision.name == name


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_the_256_numbers_of_8_bits_and_rounding_to_them_are_those_of_pytorch(name: str) -> None:
    codes = torch.arange(256, dtype=torch.uint8).view(getattr(torch, name))
    np.testing.assert_array_equal(float8_numbers(name), codes.float().numpy())
    x = torch.cat([tensor(20_000, dtype=torch.float32) * size for size in (1e-3, 0.1, 1, 50)])
    np.testing.assert_array_equal(to_float8(x.numpy(), name), x.to(getattr(torch, name)).float().numpy())


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_a_tensor_of_8_bits_is_computed_in_its_type(name: str) -> None:
    x = tensor(3, 4, dtype=torch.float32).to(getattr(torch, name))
    result = attention(x, x)
    assert result.trace.problem.precision.name == name
    np.testing.assert_array_equal(result.output, attention(x.float(), x.float(), dtype=name).output)


def test_the_layers_of_a_model_are_arrays_of_a_problem() -> None:
    projection, sink = torch.nn.Linear(4, 4), torch.nn.Parameter(torch.zeros(2))
    x = projection(tensor(3, 4, dtype=torch.float32))  # the result of a layer, with gradients
    keys = {"w_q": projection.weight, "b_q": projection.bias, "weight_layout": "out_in", "heads": 2, "sink": sink}
    problem = Problem(embeddings=x, **keys)
    detached = {name: value.detach().numpy() if torch.is_tensor(value) else value for name, value in keys.items()}
    expected = Problem(embeddings=x.detach().numpy(), **detached)
    np.testing.assert_array_equal(problem.compute().output, expected.compute().output)


X = tensor(3, 4).requires_grad_()
KEYS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "a list of rows": lambda: {"query": list(X), "key": X},
    "an array of an operator": lambda: {"query": X, "key": X, "score": {"general": {"w": torch.nn.Parameter(X.T @ X)}}},
    "a number": lambda: {"query": X, "key": X, "scale": torch.nn.Parameter(torch.tensor(0.5))},
    "a type": lambda: {"query": X, "key": X, "dtype": torch.bfloat16},
    "labelled rows": lambda: {"embeddings": dict(zip("abc", X, strict=True))},
    "a negative view": lambda: {"query": torch.complex(X, X).conj().imag, "key": X},
    "a transposed view": lambda: {"query": X.T, "key": X.T},
    "an expanded view": lambda: {"query": X[:1].expand(5, 4), "key": X},
    "a mask of integers": lambda: {"query": X, "key": X, "mask": torch.ones(3, 3, dtype=torch.int64).tril()},
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_tensors_may_stand_where_arrays_do(keys: Callable[[], Mapping[str, Any]]) -> None:
    assert np.isfinite(Problem(**keys()).compute().output).all()


def test_a_tensor_is_not_changed() -> None:
    x = tensor(3, 4).requires_grad_()
    before = x.detach().clone()
    attention(x, x)
    assert x.requires_grad
    assert torch.equal(x.detach(), before)
