"""Norms of vectors, with gain and bias, and the keys that take them."""

import math
import pickle
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops import look_up, operators, taken_kinds
from attncli.ops.norms import l2, layer, rms
from attncli.ops.records import OperatorUse
from attncli.ops.registry import kind_of
from tests.ops.recorded import lines_of

X = np.array([[3.0, 4, 12], [1, -2, 2]])
every_norm = pytest.mark.parametrize("norm", [l2, rms, layer])


def test_every_norm_is_tested_here() -> None:
    assert set(operators("norm")) == {"l2", "rms", "layer"}


def test_l2_brings_every_vector_to_length_one() -> None:
    np.testing.assert_allclose(l2(X), [[3 / 13, 4 / 13, 12 / 13], [1 / 3, -2 / 3, 2 / 3]], rtol=1e-15)
    np.testing.assert_allclose(l2(X, eps=7.0)[1], np.array([1, -2, 2]) / 4, rtol=1e-15)


def test_rms_brings_the_mean_square_to_one() -> None:
    np.testing.assert_allclose(rms(X)[1], np.array([1, -2, 2]) / math.sqrt(3), rtol=1e-15)
    np.testing.assert_allclose(rms(X, eps=1.0)[1], np.array([1, -2, 2]) / 2, rtol=1e-15)


def test_layer_brings_the_mean_to_zero_and_the_variance_to_one() -> None:
    np.testing.assert_allclose(layer(np.array([[1.0, 2, 6]])), np.array([[-2, -1, 3]]) / math.sqrt(14 / 3), rtol=1e-15)
    np.testing.assert_allclose(
        layer(np.array([[1.0, 5, 3]]), eps=1 / 3), np.array([[-2, 2, 0]]) / math.sqrt(3), rtol=1e-15
    )


@every_norm
def test_a_gain_multiplies_the_divided_vector_and_a_bias_is_added(norm: Any) -> None:
    plain, gain, bias = norm(X), np.array([2.0, 0, -1]), np.array([0.5, 1, 0])
    expected = [[2 * row[0] + 0.5, 1, -row[2]] for row in plain]
    np.testing.assert_allclose(norm(X, gain=gain, bias=bias), expected, rtol=1e-15)
    np.testing.assert_allclose(norm(X, gain=gain - 1, bias=bias, gain_plus_one=True), expected, rtol=1e-15)


@every_norm
def test_each_head_has_the_gain_and_the_bias_of_its_row(norm: Any) -> None:
    heads, gain, bias = np.stack([X, 2 * X]), np.array([[1.0, 2, 3], [4, 5, 6]]), np.array([[0.0, 1, 0], [1, 0, 0]])
    together = norm(heads, gain=gain, bias=bias)
    for head in range(2):
        np.testing.assert_allclose(together[head], norm(heads[head], gain=gain[head], bias=bias[head]), rtol=1e-15)


@every_norm
def test_a_zero_vector_stays_zero(norm: Any) -> None:
    assert norm(np.zeros((2, 3))).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert norm(np.zeros((1, 3)), gain=np.ones(3), bias=np.arange(3.0)).tolist() == [[0, 1, 2]]


@every_norm
def test_a_zero_vector_is_worked_out(norm: Any) -> None:
    """Of `layer` a vector of equal numbers, which is one without its mean."""
    x, write = np.full((1, 2), 3.0 if norm is layer else 0.0), ArithmeticWriter(4, "q", ["k"], 0, 0)
    *before, last = lines_of(norm, write, {"x": x}, 0)
    assert before[-1] in ("size = √0 = 0", "size = √(0² + 0²) = 0")
    assert last == "[0 0]"
    *_, with_bias = lines_of(norm, write, {"x": x, "bias": np.array([1.0, 2.0])}, 0)
    assert with_bias == "[1 2]"
    gradient = lines_of(norm.record.derivatives["x"], write, {"grad": np.ones((1, 2)), "x": x}, 0)
    assert gradient[-2:] == [before[-1], "[0 0]"]


# Of [3 4], with these parameters: the lines of the norm, and those of the gradient [1 2].
GAIN, BIAS = np.array([2.0, 1.0]), np.array([1.0, 0.0])
WORKED_OUT: list[tuple[Any, dict[str, Any], list[str], list[str]]] = [
    (
        l2,
        {"gain": GAIN},
        ["size = √(3² + 4²) = 5", "[3 4]/5·[2 1] = [1.2 0.8]"],
        ["g = [1 2]·[2 1] = [2 2]", "size = √(3² + 4²) = 5", "y = [3 4]/5 = [0.6 0.8]", "fit = 0.6·2 + 0.8·2 = 2.8",
         "([2 2] − 2.8·[0.6 0.8])/5 = [0.064 −0.048]"],
    ),
    (
        l2,
        {"eps": 11.0, "bias": BIAS},
        ["size = √(3² + 4² + 11) = 6", "[3 4]/6 + [1 0] = [1.5 0.6667]"],
        ["size = √(3² + 4² + 11) = 6", "y = [3 4]/6 = [0.5 0.6667]", "fit = 0.5·1 + 0.66667·2 = 1.8333",
         "([1 2] − 1.8333·[0.5 0.6667])/6 = [0.0139 0.1296]"],
    ),
    (
        rms,
        {"eps": 3.5, "gain": GAIN, "gain_plus_one": True},
        ["mean_square = (3² + 4²)/2 = 12.5", "size = √(12.5 + 3.5) = 4", "[3 4]/4·([2 1] + 1) = [2.25 2]"],
        ["g = [1 2]·([2 1] + 1) = [3 4]", "mean_square = (3² + 4²)/2 = 12.5", "size = √(12.5 + 3.5) = 4",
         "y = [3 4]/4 = [0.75 1]", "fit = (0.75·3 + 1·4)/2 = 3.125", "([3 4] − 3.125·[0.75 1])/4 = [0.1641 0.2188]"],
    ),
    (
        layer,
        {"eps": 2.0},
        ["mean = (3 + 4)/2 = 3.5", "centred = [3 4] − 3.5 = [−0.5 0.5]", "variance = ((−0.5)² + 0.5²)/2 = 0.25",
         "size = √(0.25 + 2) = 1.5", "[−0.5 0.5]/1.5 = [−0.3333 0.3333]"],
        ["mean = (3 + 4)/2 = 3.5", "centred = [3 4] − 3.5 = [−0.5 0.5]", "variance = ((−0.5)² + 0.5²)/2 = 0.25",
         "size = √(0.25 + 2) = 1.5", "y = [−0.5 0.5]/1.5 = [−0.3333 0.3333]", "fit = (−0.3333·1 + 0.3333·2)/2 = 0.1667",
         "mean_of_g = (1 + 2)/2 = 1.5", "([1 2] − 0.1667·[−0.3333 0.3333] − 1.5)/1.5 = [−0.2963 0.2963]"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("norm", "given", "lines", "gradient_lines"), WORKED_OUT)
def test_a_vector_and_its_gradient_are_worked_out(
    norm: Any, given: dict[str, Any], lines: list[str], gradient_lines: list[str]
) -> None:
    x, write = np.array([[3.0, 4.0]]), ArithmeticWriter(4, "q", ["k"], 0, 0)
    assert lines_of(norm, write, {"x": x, **given}, 0) == lines
    read = {name: value for name, value in given.items() if name != "bias"}
    grad = np.array([[1.0, 2.0]])
    assert lines_of(norm.record.derivatives["x"], write, {"grad": grad, "x": x, **read}, 0) == gradient_lines


@every_norm
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-3, 1e3, 1e200, 1e300])
def test_the_size_of_a_vector_does_not_matter(norm: Any, size: float) -> None:
    np.testing.assert_allclose(norm(X * size), norm(X), rtol=1e-14)


@every_norm
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_the_size_of_a_vector_does_not_matter_in_float32(norm: Any, size: float) -> None:
    small = norm((X * size).astype(np.float32))
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, norm(X), rtol=1e-6)


@every_norm
def test_a_tiny_vector_beside_eps_is_divided_by_its_root(norm: Any) -> None:
    centred = X - X.mean(axis=-1, keepdims=True) if norm is layer else X
    np.testing.assert_allclose(norm(X * 1e-200, eps=0.25), centred * 2e-200, rtol=1e-14)


@every_norm
def test_vectors_and_eps_of_any_size_are_divided_by_their_root(norm: Any) -> None:
    centred = X - X.mean(axis=-1, keepdims=True) if norm is layer else X
    np.testing.assert_allclose(norm(X * 1e-200, eps=1e-300), centred * 1e-50, rtol=1e-14)
    np.testing.assert_allclose(norm(X, eps=1e300), centred * 1e-150, rtol=1e-14)
    np.testing.assert_allclose(norm(X * 1e160, eps=1e300), norm(X), rtol=1e-14)


@every_norm
def test_nan_and_infinity_stay_in_their_row(norm: Any) -> None:
    with np.errstate(invalid="ignore"):
        result = norm(np.array([[np.nan, 1, 2], [np.inf, 1, 2], [3, 4, 12]]))
    assert np.isnan(result[0]).all()
    assert np.isnan(result[1]).any()
    np.testing.assert_array_equal(result[2], norm(X)[0])


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("norm", ["gain", "bias", "eps", "gain_plus_one"]),
        (
            "qk_norm",
            ["query_gain", "key_gain", "query_bias", "key_bias", "eps", "gain_plus_one", "over", "when"],
        ),
        ("value_norm", ["gain", "bias", "eps", "gain_plus_one", "over"]),
        ("context_norm", ["gain", "bias", "eps", "gain_plus_one", "over"]),
    ],
)
def test_a_key_takes_the_parameters_of_each_role_and_its_own(key: str, names: list[str]) -> None:
    assert [parameter.name for parameter in look_up(key, "rms").parameters] == names
    assert key in taken_kinds()
    assert kind_of(key) == "norm"


def test_a_record_of_a_use_is_always_the_same_one() -> None:
    record = look_up("qk_norm", "rms")
    assert record is look_up("qk_norm", "rms") is operators("qk_norm")["rms"]
    assert pickle.loads(pickle.dumps(record)) is record
    assert record.function is look_up("norm", "rms").function


def check_gain(use: OperatorUse) -> None:
    if min(use.parameters["weights"]) < 0:
        raise AttnError("is negative", where="weights")


@pytest.mark.usefixtures("restored_registry")
def test_a_norm_of_another_package_has_arrays_and_a_check_for_each_role() -> None:
    @attncli.norm(
        formula="u w",
        shapes="x[n d], weights[d] -> [n d]",
        source="an example",
        example={"x": [[1, 2]], "weights": [2, 3], "gives": [[2, 6]]},
        check=check_gain,
    )
    def weighted(x: Array, *, weights: Array) -> Array:
        """Each feature times its weight."""
        return x * weights

    keys = {"query": [[1, 2]], "key": [[3, 4]], "score": "dot"}
    given = {"weighted": {"query_weights": [1, 10], "key_weights": [2, 0]}}
    assert attncli.attention(**keys, qk_norm=given, select="scores").scores.tolist() == [[6]]
    values = {weighted.record.name: {"weights": [5, 6]}}
    assert attncli.attention(**keys, value_norm=values).output.tolist() == [[15, 24]]
    with pytest.raises(AttnError, match=r"^qk_norm, weights: is negative$"):
        attncli.attention(**keys, qk_norm={"weighted": {"query_weights": [1, 1], "key_weights": [1, -1]}})
    with pytest.raises(AttnError, match=r"^qk_norm: weighted needs key_weights"):
        attncli.attention(**keys, qk_norm={"weighted": {"query_weights": [1, 1]}})


def test_a_function_that_is_a_norm_is_taken_by_every_key() -> None:
    for key in ("qk_norm", "value_norm", "context_norm"):
        result = attncli.attention(np.eye(2), np.eye(2) * 3, **{key: l2})
        assert str(getattr(result.trace.problem, key)) == "l2"
