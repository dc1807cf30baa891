"""The scaling of rope: frequencies and attention factors by hand, and what a mapping may say."""

import math
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.io.problem_text import problem_yaml
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.rope import attention_factor_by_hand, frequencies_by_hand, scaled_attention_factor, scaled_frequencies
from attncli.ops.rope_scaling_types import TYPES, read_scaling
from tests.arrays import normal
from tests.equations import assert_equations_hold
from tests.problems import problem

# Of 8 features and the base 10000 the plain frequencies are 1, 1/10, 1/100 and 1/1000: in so long a sequence of
# training the pairs turn 100, 10, 1 and 1/10 times.
LENGTH = 200 * math.pi
WRITE = ArithmeticWriter(8, "query", ["key"], 0, 0, max_terms=None)
LLAMA3 = {"type": "llama3", "factor": 4, "low_freq_factor": 0.5, "high_freq_factor": 1.5}
YARN = {"type": "yarn", "factor": 4, "beta_fast": 10, "beta_slow": 0.1}
LONGROPE = {"type": "longrope", "short_factor": [1, 1, 2, 2], "long_factor": [1, 2, 4, 5], "factor": 2}

FREQUENCIES: dict[str, tuple[dict[str, Any], list[float]]] = {
    "default": ({"type": "default"}, [1, 0.1, 0.01, 0.001]),
    "linear": ({"type": "linear", "factor": 4}, [0.25, 0.025, 0.0025, 0.00025]),
    "dynamic, no longer than the model": (
        {"type": "dynamic", "factor": 3, "max_position_embeddings": 20},
        [1, 0.1, 0.01, 0.001],
    ),
    "dynamic, twice as long: (3·2 − 2)^(8/6) times the base": (
        {"type": "dynamic", "factor": 3, "max_position_embeddings": 8},
        [(10000 * 4 ** (4 / 3)) ** (-pair / 4) for pair in range(4)],
    ),
    "dynamic with alpha": (
        {"type": "dynamic", "alpha": 8},
        [(10000 * 8 ** (4 / 3)) ** (-pair / 4) for pair in range(4)],
    ),
    # slow pairs by 4, the third by half of that
    "llama3": ({**LLAMA3, "original_max_position_embeddings": LENGTH}, [1, 0.1, 0.00625, 0.00025]),
    # from the second pair to the fourth
    "yarn": ({**YARN, "max_position_embeddings": LENGTH}, [1, 0.1, 0.00625, 0.00025]),
    "longrope, short": ({**LONGROPE, "original_max_position_embeddings": 16}, [1, 0.1, 0.005, 0.0005]),
    "longrope, long": ({**LONGROPE, "original_max_position_embeddings": 15}, [1, 0.05, 0.0025, 0.0002]),
    "su, its old name": ({**LONGROPE, "type": "su", "original_max_position_embeddings": 15}, [1, 0.05, 0.0025, 0.0002]),
    "proportional": ({"type": "proportional", "partial_rotary_factor": 0.5, "factor": 2}, [0.5, 0.05, 0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", FREQUENCIES)
def test_frequencies_are_those_worked_out_by_hand(name: str) -> None:
    scaling, expected = FREQUENCIES[name]
    given = read_scaling(scaling)
    computed = scaled_frequencies(np.array(16), shape=(4,), scaling=given, base=10000.0)
    np.testing.assert_allclose(computed, expected, rtol=1e-14)
    assert TYPES[given.type].reads_position_count == ("long" in name or name[:2] in ("dy", "su"))


@pytest.mark.parametrize("name", FREQUENCIES)
def test_the_lines_of_frequencies_hold(name: str) -> None:
    scaling, expected = FREQUENCIES[name]
    given = {"shape": (4,), "scaling": read_scaling(scaling), "base": 10000.0, "position_count": np.array(16)}
    lines = frequencies_by_hand(WRITE, np.array(expected), **given)
    assert len(lines) >= 4
    assert_equations_hold(lines, 8)


FACTORS: list[tuple[dict[str, Any], float, str]] = [
    (YARN, 1 + 0.1 * math.log(4), "attention factor = 0.1·ln(4) + 1 = 1.13862944"),
    ({**YARN, "factor": 0.5}, 1, "attention factor = 1"),
    (
        {**YARN, "mscale": 2, "mscale_all_dim": 0.5},
        (1 + 0.2 * math.log(4)) / (1 + 0.05 * math.log(4)),
        "attention factor = (0.1·2·ln(4) + 1)/(0.1·0.5·ln(4) + 1) = 1.19446488",
    ),
    (
        {**LONGROPE, "original_max_position_embeddings": 16},
        math.sqrt(1.25),  # ln 2 / ln 16 = 1/4
        "attention factor = √(1 + ln(2)/ln(16)) = 1.11803399",
    ),
    (
        {**LONGROPE, "original_max_position_embeddings": 15, "short_mscale": 2, "long_mscale": 3},
        3,
        "the attention factor is 3",
    ),
    ({**LONGROPE, "original_max_position_embeddings": 15, "long_mscale": 3}, 3, "the attention factor is 3"),
    (
        {**LONGROPE, "original_max_position_embeddings": 16, "short_mscale": 2, "long_mscale": 3},
        2,
        "the attention factor is 2",
    ),
    ({**LONGROPE, "original_max_position_embeddings": 16, "factor": 1}, 1, "the attention factor is 1"),
    (LLAMA3, 1, ""),
]


@pytest.mark.parametrize(("scaling", "expected", "line"), FACTORS)
def test_attention_factors_are_those_worked_out_by_hand(scaling: dict[str, Any], expected: float, line: str) -> None:
    computed = scaled_attention_factor(np.array(16), scaling=read_scaling(scaling))
    assert math.isclose(computed.item(), expected, rel_tol=1e-15)
    given = {"shape": (), "scaling": read_scaling(scaling), "position_count": np.array(16)}
    assert attention_factor_by_hand(WRITE, computed, **given) == ([line] if line else [])


X = normal(6, 8)


def rotated(**parameters: Any) -> np.ndarray:
    result = attncli.attention(X, X, position={"rope": parameters}, select=("rotated_query",))
    return np.asarray(result.trace["rotated_query"].value)


def test_the_attention_factor_multiplies_rotated_features_and_no_others() -> None:
    plain, stretched = rotated(dims=4), rotated(dims=4, attention_factor=3)
    np.testing.assert_allclose(stretched[:, :4], 3 * plain[:, :4], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(stretched[:, 4:], X[:, 4:])


@pytest.mark.parametrize(
    ("scaling", "frequencies", "attention_factor"),
    [
        ({**YARN, "max_position_embeddings": LENGTH}, [1, 0.1, 0.00625, 0.00025], 1 + 0.1 * math.log(4)),
        ({**LONGROPE, "original_max_position_embeddings": 4}, [1, 0.05, 0.0025, 0.0002], math.sqrt(1.5)),
        ({**LLAMA3, "original_max_position_embeddings": LENGTH}, [1, 0.1, 0.00625, 0.00025], None),
    ],
    ids=["yarn", "longrope", "llama3"],
)
def test_a_scaling_is_its_frequencies_and_its_attention_factor(
    scaling: dict[str, Any], frequencies: list[float], attention_factor: float | None
) -> None:
    """ln 2 / ln 4 = 1/2; a type without a factor has no step for one."""
    given = {"frequencies": frequencies} | ({"attention_factor": attention_factor} if attention_factor else {})
    np.testing.assert_allclose(rotated(scaling=scaling), rotated(**given), rtol=1e-12, atol=1e-13)
    steps = attncli.Problem(query=X, key=X, position={"rope": {"scaling": scaling}}).compute().trace.by_name
    assert any("attention_factor" in name for name in steps) == (attention_factor is not None)


def test_the_other_way_is_the_way_back() -> None:
    there = rotated()
    back = attncli.attention(there, X, position="rope:reverse=true", select=("rotated_query",))
    np.testing.assert_allclose(back.trace["rotated_query"].value, X, rtol=0, atol=1e-15)


def test_what_stands_in_the_mapping_and_is_a_parameter_of_rope_is_that_parameter() -> None:
    mapping = {"rope_type": "default", "rope_theta": 500, "partial_rotary_factor": 0.5}
    np.testing.assert_array_equal(rotated(scaling=mapping), rotated(base=500, dims=4))
    yarn = {**YARN, "max_position_embeddings": 100, "attention_factor": 1.5}
    np.testing.assert_array_equal(rotated(scaling={**yarn, "factor": 1}), rotated(attention_factor=1.5))


def test_a_default_mapping_has_the_plan_of_plain_rope() -> None:
    position = problem(query=X, key=X, position={"rope": {"scaling": {"type": "mrope", "rope_theta": 500}}}).position
    assert position is not None
    assert str(position) == "rope:base=500"


def test_a_scaling_is_written_into_a_problem_file_and_read_back(tmp_path: Any) -> None:
    longrope = {**LONGROPE, "rope_theta": 500, "original_max_position_embeddings": 3}
    spec = problem(query=X, key=X, position={"rope": {"scaling": longrope}})
    file = tmp_path / "p.yaml"
    file.write_text("".join(problem_yaml(spec)), encoding="utf-8")
    again = attncli.load(file).spec
    assert again.position is not None
    assert again.position.given == spec.position.given  # it has one


ERRORS: list[tuple[Any, str]] = [
    ("yarn", "scaling: 'yarn' is not a finite number; expected a number, or a mapping such as {rope_type: linear"),
    (
        {"full_attention": {"rope_type": "default"}, "sliding_attention": {"rope_type": "default"}},
        "scaling: has a mapping for each kind of layer: full_attention, sliding_attention; give the one of this layer",
    ),
    ({"type": "lnear"}, "scaling, rope_type: unknown type 'lnear'; did you mean 'linear'?"),
    ({"type": "linear", "rope_type": "yarn"}, "scaling: rope_type and type differ: linear and yarn"),
    ({"factor": 4}, "scaling: has no rope_type; expected one of default, linear"),
    ({"type": "linear", "beta_fast": 3}, "scaling: unknown parameter of linear 'beta_fast'"),
    ({"type": "linear"}, "scaling: linear needs factor"),
    ({"type": "linear", "factor": 0}, "scaling, factor: 0 is out of range; expected > 0"),
    ({"type": "linear", "factor": "four"}, "scaling, factor: four is not a number"),
    ({"type": "linear", "factor": 2, "partial_rotary_factor": 1.5}, "partial_rotary_factor: 1.5 is out of range"),
    ({"type": "yarn", "factor": 2}, "scaling: yarn needs original_max_position_embeddings"),
    ({"type": "yarn", "factor": 2, "truncate": 1}, "scaling, truncate: is neither true nor false"),
    ({"type": "yarn", "factor": 2, "rope_theta": 1, "max_position_embeddings": 8}, "base: yarn needs a base greater"),
    ({"type": "dynamic", "factor": 2}, "scaling: dynamic needs max_position_embeddings"),
    ({**LLAMA3, "high_freq_factor": 0.5, "max_position_embeddings": 8}, "expected a greater high_freq_factor"),
    ({**LONGROPE, "long_factor": [1], "max_position_embeddings": 3}, "long_factor has 1 number, and 4 pairs turn"),
    ({**LONGROPE, "max_position_embeddings": 1}, "scaling: longrope needs original_max_position_embeddings greater"),
    ({"type": "default", "axis_of_pair": []}, "scaling, axis_of_pair: has no numbers"),
    ({"type": "proportional"}, "dims: proportional gives the number of rotated features"),
    ({"rope_theta": 600}, "scaling: base is 500, and rope_theta in scaling is 600; leave out one of them"),
    ({"type": "linear", "factor": 2, "partial_rotary_factor": 1}, "dims: is 4, and partial_rotary_factor 1 of 8"),
]


@pytest.mark.parametrize(("scaling", "message"), ERRORS)
def test_a_mapping_that_can_not_be_is_an_error_that_names_the_place(scaling: Any, message: str) -> None:
    beside = {"dims": 4} if message.startswith("dims") else {"base": 500} if "is 500" in message else {}
    with pytest.raises(AttnError) as error:
        rotated(scaling=scaling, **beside)
    assert message in str(error.value)


def test_frequencies_contradict_a_mapping() -> None:
    with pytest.raises(AttnError, match="frequencies and a mapping both give the frequencies of the pairs"):
        rotated(scaling=LLAMA3 | {"max_position_embeddings": 8}, frequencies=[1, 0.5])
