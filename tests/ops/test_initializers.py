"""Generators: NumPy's streams called directly, and the variances of distributions."""

import math

import numpy as np
import pytest

from attncli.ops import operators
from attncli.ops.initializers import stream

GENERATORS = operators("generator")


def draw(name: str, shape: tuple[int, ...], *, seed: int = 42, kind: str = "pcg64", **parameters: float) -> np.ndarray:
    result: np.ndarray = GENERATORS[name].function(stream(kind, seed), shape, **parameters)
    return result


def test_the_legacy_stream_is_the_tutorials() -> None:
    np.random.seed(42)
    expected = np.random.randint(3, size=(3, 3))
    np.testing.assert_array_equal(draw("randint", (3, 3), kind="legacy", low=0, high=3), expected)
    assert expected.tolist() == [[2, 0, 2], [2, 0, 0], [2, 1, 2]]


def test_each_distribution_is_the_streams_own() -> None:
    shape = (3, 5)
    np.testing.assert_array_equal(
        draw("randint", shape, low=-2, high=9), np.random.default_rng(42).integers(-2, 9, size=shape)
    )
    np.testing.assert_array_equal(
        draw("uniform", shape, low=-1, high=4), np.random.default_rng(42).uniform(-1, 4, size=shape)
    )
    np.testing.assert_array_equal(
        draw("normal", shape, mean=3, std=0.5), np.random.default_rng(42).normal(3, 0.5, size=shape)
    )
    np.testing.assert_array_equal(
        draw("normal", shape, kind="legacy"), np.random.RandomState(42).normal(0, 1, size=shape)
    )


@pytest.mark.parametrize("gain", [1.0, 2.5])
def test_xavier_numbers_have_the_spread_of_glorot_and_bengio(gain: float) -> None:
    shape = (300, 700)
    variance = gain**2 * 2 / (300 + 700)
    assert draw("xavier_normal", shape, gain=gain).var() == pytest.approx(variance, rel=0.02)
    uniform = draw("xavier_uniform", shape, gain=gain)
    assert uniform.var() == pytest.approx(variance, rel=0.02)
    limit = gain * math.sqrt(6 / 1000)
    assert 0.999 * limit < abs(uniform).max() <= limit


def test_constants_and_the_identity_need_no_stream() -> None:
    assert GENERATORS["identity"].function(None, (2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert GENERATORS["zeros"].function(None, (1, 2)).tolist() == [[0, 0]]
    assert GENERATORS["ones"].function(None, (2,)).tolist() == [1, 1]


SEVENTEEN = [
    *(-0.82013452, -0.32456663, 1.92636812, -0.33001173, 0.19844505, 0.78207266, 1.03910768, -0.72451073),
    *(-0.84890860, -0.21534152, -1.81572866, -0.34524196, -2.06147790, 0.67410070, -1.32334578, -1.35976899),
    -0.86670160,
]


@pytest.mark.parametrize(
    ("call", "name", "parameters", "seed", "expected"),
    [
        # PyTorch 2.13: torch.manual_seed(seed), and the call
        ("rand", "uniform", {}, 123, [[0.29611194, 0.5165623, 0.25167072], [0.6885568, 0.07397246, 0.86652195]]),
        ("rand", "uniform", {}, 2**32 + 5, [0.83025187, 0.12611091]),
        ("uniform_", "uniform", {"low": -2, "high": 5}, 7, [1.74445772, -0.60837770, 2.61448193]),
        ("randint", "randint", {"low": 0, "high": 3}, 123, [1, 1, 0, 0, 1, 2]),
        ("randint", "randint", {"low": 5, "high": 9}, 7, [8, 5, 6, 7, 8, 8]),
        ("randint", "randint", {"low": 0, "high": 2**28 - 1}, 7, [59306160, 171107527, 128500261]),
        ("randint", "randint", {"low": 0, "high": 2**28}, 7, [171107524, 27798006, 174903507]),
        ("randint", "randint", {"low": -(2**40), "high": 2**40}, 7, [-346915937084, -990767470090, -807547383597]),
        ("randn", "normal", {}, 123, [-0.11146712, 0.12036294, -0.3696345, -0.24041797, -1.1969243]),
        ("randn", "normal", {}, 7, SEVENTEEN),
        ("normal_", "normal", {"mean": 2, "std": 3}, 7, [1.55961466, 4.35842371, 4.84046459, -1.34303212]),
        ("Linear", "linear", {}, 123, [[-0.2354, 0.0191, -0.2867], [0.2177, -0.4919, 0.4232]]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_numbers_of_pytorch(
    call: str, name: str, parameters: dict[str, float], seed: int, expected: list[float]
) -> None:
    found = draw(name, np.shape(expected), seed=seed, kind="torch", **parameters)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 if call == "Linear" else 5e-7)


def test_seventeen_normal_numbers_begin_otherwise_than_fifteen() -> None:
    """PyTorch makes 16 or more in blocks; a spare number of an odd count stays for the next array."""
    few, many = draw("normal", (15,), kind="torch"), draw("normal", (17,), kind="torch")
    assert not np.isclose(few, many[:15]).any()
    numbers = stream("torch", 42)
    pairs = np.concatenate([GENERATORS["normal"].function(numbers, (count,)) for count in (3, 1, 5)])
    np.testing.assert_array_equal(pairs, draw("normal", (9,), kind="torch"))
