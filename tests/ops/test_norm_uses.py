"""Norms as keys take them."""

import pickle

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.ops import look_up, operators, taken_kinds
from attncli.ops.norms import l2
from attncli.ops.records import OperatorUse
from attncli.ops.registry import kind_of


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
