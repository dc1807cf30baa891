"""The calculator from Python."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import attncli


def test_nested_lists_and_arrays_are_the_same() -> None:
    query, key, value = [[1, 2]], [[3, 4], [5, 6]], [[1], [2]]
    from_lists = attncli.attention(query, key, value, score="cosine", select=("weights",)).weights
    from_arrays = attncli.attention(*map(np.array, (query, key, value)), score="cosine", select=("weights",)).weights
    np.testing.assert_array_equal(from_lists, from_arrays)


def test_stages_may_be_written_in_both_forms() -> None:
    query, key = np.eye(3), np.eye(3)
    as_text = attncli.attention(query, key, score="gaussian:sigma=2").output
    as_mapping = attncli.attention(query, key, score={"gaussian": {"sigma": 2}}).output
    np.testing.assert_array_equal(as_text, as_mapping)


def test_an_unknown_key_suggests_the_nearest() -> None:
    with pytest.raises(attncli.AttnError, match="unknown key 'normalise'; did you mean 'normalize'"):
        attncli.attention([[1.0]], [[1.0]], normalise="softmax")


def test_the_inputs_are_left_as_they_were() -> None:
    query, key = np.ones((2, 3)), np.ones((2, 3))
    attncli.attention(query, key, score="cosine", normalize="sparsemax")
    np.testing.assert_array_equal(query, np.ones((2, 3)))
    np.testing.assert_array_equal(key, np.ones((2, 3)))


LARGE = 2**62


@pytest.mark.parametrize(
    ("numbers", "score"),
    [
        ([[LARGE, 2]], 2.0**124),
        (np.array([[LARGE, 2]]), 2.0**124),
        (np.array([[2**63, 0]], dtype=np.uint64), 2.0**126),
        (np.array([[100, 100]], dtype=np.int8), 20000.0),
    ],
    ids=["a list", "int64", "uint64", "int8"],
)
def test_a_product_of_large_integers_never_wraps(numbers: Any, score: float) -> None:
    assert attncli.attention(numbers, numbers, score="dot", select=["scores"]).scores.tolist() == [[score]]


def test_rows_may_be_arrays() -> None:
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    np.testing.assert_array_equal(
        attncli.attention(rows, rows).output, attncli.attention(np.stack(rows), np.stack(rows)).output
    )


@pytest.mark.parametrize(
    ("numpys", "pythons"),
    [
        ({"heads": np.int64(2)}, {"heads": 2}),
        ({"scale": np.float32(0.5)}, {"scale": 0.5}),
        ({"score": {"gaussian": {"sigma": np.float32(0.5)}}}, {"score": "gaussian:sigma=0.5"}),
        ({"only": np.array([1])}, {"only": [1]}),
        ({"tokens": np.array(["a", "b"]), "only": "b"}, {"tokens": ["a", "b"], "only": "b"}),
    ],
    ids=["heads", "a scale", "a parameter", "positions", "labels"],
)
def test_numpys_numbers_and_words_are_numbers_and_words(numpys: dict[str, Any], pythons: dict[str, Any]) -> None:
    query = [[1.0, 2.0], [3.0, -4.0]]
    np.testing.assert_array_equal(
        attncli.attention(query, query, **numpys).output, attncli.attention(query, query, **pythons).output
    )


@pytest.mark.parametrize("wrong", [[[True, False]], np.array([[True, False]]), [[1, None]], [["1", 2]], [[1j, 2]], "x"])
def test_what_is_no_number_is_refused(wrong: Any) -> None:
    with pytest.raises(attncli.AttnError, match=r"^query"):
        attncli.attention(wrong, [[1.0, 2.0]])


def test_the_selected_results_are_there_and_no_others() -> None:
    result = attncli.attention([[1.0, 2.0]], [[1.0, 2.0]], select=("weights", "scores"))
    assert result.weights.tolist() == [[1]]
    with pytest.raises(AttributeError):
        _ = result.output


def test_one_name_may_be_selected_without_a_list() -> None:
    assert attncli.attention([[1.0, 2.0]], [[1.0, 2.0]], select="weights").weights.tolist() == [[1]]


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import attncli, sys; print([m for m in ('numpy', 'yaml', 'typer', 'rich') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_there_is_no_public_name_that_is_not_there() -> None:
    for name in attncli.__all__:
        assert getattr(attncli, name) is not None
    with pytest.raises(AttributeError):
        _ = attncli.no_such_name
