"""The calculator from Python."""

import subprocess
import sys

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


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import attncli, sys; print([m for m in ('numpy', 'yaml', 'typer', 'rich') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_there_is_no_public_name_that_is_not_there() -> None:
    for name in attncli.__all__:
        assert getattr(attncli, name) is not None
    with pytest.raises(AttributeError):
        _ = attncli.no_such_name
