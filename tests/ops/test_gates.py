"""Gates: their functions by hand, and merged heads times them."""

import numpy as np
import pytest

from attncli.ops import look_up
from attncli.ops.gates import apply_gate

LN_2 = 0.6931471805599453


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("sigmoid", [0.25, 0.5, 0.75, 1, 0]),
        ("silu", [-np.log(3) / 4, 0, 3 * np.log(3) / 4, 800, 0]),
        ("softplus", [np.log(4 / 3), LN_2, 2 * LN_2, 800, 0]),
    ],
)
def test_a_gate_is_its_function_of_each_number_also_of_large_ones(word: str, expected: list[float]) -> None:
    logits = np.array([[-np.log(3), 0, np.log(3), 800, -800]])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(look_up("gate", word).function(logits), [expected], rtol=1e-14, atol=1e-300)


def test_every_number_has_its_gate_or_that_of_its_head() -> None:
    merged = np.array([[1.0, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]])
    heads = np.array([[1, 0.5], [0, 2]])
    np.testing.assert_array_equal(apply_gate(merged, heads), [[1, 2, 3, 2, 2.5, 3], [0, 0, 0, 20, 22, 24]])
    each = np.array([[1, 0, 2, 1, 0, 2.0]])
    np.testing.assert_array_equal(apply_gate(merged, each), [[1, 0, 6, 4, 0, 12], [7, 0, 18, 10, 0, 24]])
