"""Operators by name, with parameters, and arrays that are quantized or can't be drawn."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import attncli
from attncli import Problem
from attncli.base.errors import AttnError, did_you_mean
from attncli.base.lazy_numpy import Array
from attncli.io.assemble import read_value
from attncli.io.problem_files import Origin, RawValue
from attncli.ops.decorators import mask
from attncli.ops.records import Operator, Range
from attncli.problem.operators import to_operator
from attncli.problem.spec import FIELDS
from tests.problems import write_file

Distance = Annotated[float, Range(least=0, allows_infinity=True)]


@pytest.fixture
def near(restored_registry: None) -> None:
    """A mask of one's own, with a parameter that may be infinite and one that may not."""

    @mask(
        formula="visible where |j − posᵢ| ≤ most, and j ≥ first",
        shapes="query_positions[n], key_positions[m] -> [n m]",
        source="none",
        example={"query_positions": [0], "key_positions": [0, 1], "gives": [[True, False]]},
    )
    def near(
        query_positions: Array,
        key_positions: Array,
        *,
        most: Distance = 0.0,
        first: Annotated[float, Range(least=0)] = 0.0,
    ) -> Array:
        """Keys near the query are visible."""
        distances = abs(key_positions - query_positions[..., :, None])
        return (distances <= most) & (key_positions >= first)


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("value", [float("inf"), np.float32("inf"), "inf", "Infinity", 10**400])
def test_a_parameter_may_be_infinite_where_its_range_says_so(value: Any) -> None:
    operator = to_operator("mask", {"near": {"most": value}}, ("mask",))
    assert operator.given == {"most": float("inf")}
    assert str(operator) == "near:most=inf"


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("most", float("-inf"), "-inf is out of range; expected ≥ 0"),
        ("most", -1, "-1 is out of range; expected ≥ 0"),
        ("most", float("nan"), "nan is not a finite number"),
        ("most", "-inf", "-inf is out of range; expected ≥ 0"),
        ("most", True, "True is not a finite number"),
        ("first", float("inf"), "inf is not a finite number"),
        ("first", "inf", "'inf' is not a finite number"),
    ],
)
def test_a_parameter_is_finite_elsewhere(name: str, value: Any, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        to_operator("mask", {"near": {name: value}}, ("mask",))
    assert str(caught.value) == f"mask, near, {name}: {message}"


@pytest.mark.parametrize("value", [float("inf"), "inf"])
def test_a_side_of_a_window_may_have_no_limit(value: Any) -> None:
    x = np.eye(3)
    by_name = attncli.attention(x, x, mask={"window": {"left": value, "right": 0}}).output
    np.testing.assert_array_equal(by_name, attncli.attention(x, x, window=(-1, 0)).output)
    np.testing.assert_array_equal(by_name, attncli.attention(x, x, mask=f"window:left={value},right=0").output)


@pytest.mark.parametrize(("kind", "name"), [("mask", "causal"), ("score", "dot")])
def test_an_operator_without_parameters_says_so(kind: str, name: str) -> None:
    with pytest.raises(AttnError) as caught:
        to_operator(kind, {name: {"x": 1}}, (kind,))
    assert str(caught.value) == f"{kind}: {name} has no parameters"
    assert isinstance(to_operator(kind, {name: {}}, (kind,)), Operator)


X = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]
# Eight inputs of 4 bits, 8 … 1, for each of eight outputs; zeros of 2 (stored as 1), scales of 1/2.
GPTQ = {"qweight": [[0x12345678] * 8], "qzeros": [[0x11111111]], "scales": [[0.5] * 8], "bits": 4}
COLUMN = [3, 2.5, 2, 1.5, 1, 0.5, 0, -0.5]


def test_a_quantized_matrix_stands_in_place_of_one() -> None:
    made = attncli.Problem(embeddings=X, w_q={"gptq": GPTQ}, weight_layout="out_in")
    np.testing.assert_array_equal(made.w_q, [COLUMN] * 8)
    np.testing.assert_allclose(made.compute("query").query, np.full((1, 8), np.dot(X[0], COLUMN)))


def test_arrays_of_a_quantized_matrix_are_read_from_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", **{name: np.array(GPTQ[name]) for name in ("qweight", "qzeros", "scales")})
    arrays = ", ".join(f"{name}: 'm.npz#{name}'" for name in ("qweight", "qzeros", "scales"))
    text = f"embeddings: {X}\nw_q: {{gptq: {{{arrays}, bits: 4}}}}\nweight_layout: out_in\n"
    np.testing.assert_array_equal(attncli.load(write_file(tmp_path, text)).w_q, [COLUMN] * 8)


def test_an_array_of_an_operator_may_be_quantized() -> None:
    score = {"general": {"w": {"fp8": {"weight": [[1, 2], [3, 4]], "scale": 2}}}}
    made = attncli.Problem(query=[[1, 0]], key=[[1, 0], [0, 1]], score=score)
    assert made.compute("scores").scores.tolist() == [[2, 4]]


@pytest.mark.parametrize(
    "matrix",
    ["m.npz#w", "{fp8: {weight: 'm.npz#half', scale: 2}}", "['m.npz#rows[0]', 'm.npz#rows[1]']"],
    ids=["an entry", "quantized", "its rows"],
)
def test_an_array_of_an_operator_is_read_from_files(matrix: str, tmp_path: Path) -> None:
    w = np.array([[2.0, 4.0], [6.0, 8.0]])
    np.savez(tmp_path / "m.npz", w=w, half=w / 2, rows=w)
    text = f"query: [[1, 0]]\nkey: [[1, 0], [0, 1]]\nscore: {{general: {{w: {matrix}}}}}\n"
    assert attncli.load(write_file(tmp_path, text)).compute("scores").scores.tolist() == [[2, 4]]


def test_the_type_of_the_scales_does_not_decide() -> None:
    halves = {**GPTQ, "scales": np.full((1, 8), 0.5, np.float16)}
    made = attncli.Problem(embeddings=np.array(X, np.float32), w_q={"gptq": halves}, weight_layout="out_in")
    assert made.dtype == "float32"


ERRORS: list[tuple[Any, str]] = [
    ({"gptq": {**GPTQ, "scales": None}}, "w_q, gptq: needs scales; give qweight, qzeros, scales, bits"),
    ({"gptq": {**GPTQ, "bits": 5}}, "w_q, gptq, bits: 5 bits are not supported; expected 2, 3, 4, 8"),
    ({"gptq": {**GPTQ, "scale": 1}}, "w_q, gptq: unknown key of gptq 'scale'; did you mean 'scales'?"),
    ({"gptq": {**GPTQ, "scales": [[1]]}}, "w_q, gptq: scales has the shape (1, 1)"),
    ({"gptq": {**GPTQ, "checkpoint_format": "marlin"}}, "w_q, gptq, checkpoint_format: unknown word 'marlin'"),
    ({"fp8": {"weight": [[1]], "scale": "w.npy"}}, "w_q, fp8, scale: 'w.npy' is neither an array nor"),
    ({"awq": {"qweight": [[1]], "qzeros": [[1]]}}, "w_q, awq: needs scales"),
]


@pytest.mark.parametrize(("value", "message"), ERRORS, ids=[message for _, message in ERRORS])
def test_what_does_not_fit_is_an_error(value: Any, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        attncli.Problem(embeddings=X, w_q=value)
    assert message in str(caught.value)


NOT_DRAWN = [
    name for name, field in FIELDS.items() if field.letters and field.kind != "labels" and not field.is_random_fill
]


@pytest.mark.parametrize("value", ["zeros", {"normal": {"std": 2}}], ids=str)
@pytest.mark.parametrize("name", NOT_DRAWN)
def test_a_generator_of_an_array_that_is_not_drawn_is_refused(name: str, value: object) -> None:
    with pytest.raises(AttnError, match=f"^{name}: can't be drawn; give "):
        Problem(embeddings=[[1, 2]], seed=1, **{name: value})


@pytest.mark.parametrize("name", ["vocabulary", *(name for name in NOT_DRAWN if name != "mask")])
def test_no_generator_is_proposed_where_none_may_stand(name: str, tmp_path: Path) -> None:
    with pytest.raises(AttnError) as caught:
        read_value(FIELDS[name], RawValue("nothing", Origin(folder=tmp_path)))
    numbers = "give numbers ('1 0; 0 1', '[[1, 0], [0, 1]]') or a file (words.csv, model.npz#w_q, -)"
    forms = {"vocabulary": "give small, which is built in, or a file with a vector for each word"}
    assert str(caught.value) == f"{name}: unknown file 'nothing'; {forms.get(name, numbers)}"


@pytest.mark.parametrize(
    ("name", "text", "nearest"),
    [("mask", "windw:left=2", "window"), ("w_q", "normall:std=2", "normal"), ("w_q", "NORMAL", "normal")],
)
def test_the_nearest_operator_is_proposed(name: str, text: str, nearest: str, tmp_path: Path) -> None:
    with pytest.raises(AttnError, match=f"did you mean '{nearest}'"):
        read_value(FIELDS[name], RawValue(text, Origin(folder=tmp_path)))


def test_capitals_do_not_make_a_name_another_one() -> None:
    assert did_you_mean("w_Q", ["w_v", "w_q", "w_k"]) == "did you mean 'w_q'?"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"w_q": {"normall": {"std": 2}}}, "w_q: unknown generator 'normall'; did you mean 'normal'?"),
        ({"mask": {"windo": {"left": 2}}}, "mask: unknown mask 'windo'; did you mean 'window'?"),
        ({"bias": {"normall": {"std": 2}}}, "bias: is not a matrix; expected lists of numbers"),
        (
            {"score": {"general": {"w": {"normall": {}}}}},
            "score, general, w: unknown generator 'normall'; did you mean 'normal'?",
        ),
    ],
)
def test_a_mistyped_operator_with_parameters_proposes_the_nearest(keys: dict[str, object], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        Problem(embeddings=[[1, 2]], seed=1, **keys)
    assert str(caught.value) == message
