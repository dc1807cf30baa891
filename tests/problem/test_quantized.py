"""Matrices that are given quantized, in a problem of Python and in a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from tests.problems import write_file

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


def test_the_type_of_the_scales_does_not_decide() -> None:
    halves = {**GPTQ, "scales": np.full((1, 8), 0.5, np.float16)}
    made = attncli.Problem(embeddings=np.array(X, np.float32), w_q={"gptq": halves}, weight_layout="out_in")
    assert made.dtype == "float32"


ERRORS: list[tuple[Any, str]] = [
    ({"gptq": {**GPTQ, "scales": None}}, "w_q, gptq: needs scales; give qweight, qzeros, scales, bits"),
    ({"gptq": {**GPTQ, "bits": 5}}, "w_q, gptq, bits: 5 bits are not read; expected 2, 3, 4, 8"),
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
