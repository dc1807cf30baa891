"""Values of fields converted by the kind of the field: vectors, windows, masks, counts, booleans."""

from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.assemble import assemble, read_value
from attncli.io.problem_files import Origin, RawValue
from attncli.problem.convert import to_field
from attncli.problem.numbers import to_booleans, to_counts
from attncli.problem.spec import FIELDS
from tests.problems import problem, raw_values

INFINITE = float("inf")


def converted(name: str, value: Any) -> Any:
    """The value of a key as a problem holds it."""
    return to_field(FIELDS[name], read_value(FIELDS[name], RawValue(value, Origin())))


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (3, [3]),
        (0.5, [0.5]),
        ("3,5", [3, 5]),
        ("-1.5", [-1.5]),
        ("inf,-.Inf", [float("inf"), -float("inf")]),
        ([1, 2], [1, 2]),
    ],
)
def test_a_number_alone_is_a_list_of_one(value: Any, read: Any) -> None:
    assert converted("b_q", value).array.tolist() == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x.csv", "x.csv: there is no such file"),
        ("x,1", "b_q: unknown file or generator 'x,1'"),
        ("1,x", "b_q, number 2: 'x' is not a number"),
        ("1, 0x1F", "b_q, number 2: '0x1F' is not a number; write it in decimal digits: 31"),
        ("1,1e999", "b_q, number 2: 1e999 is too large for a floating-point number"),
    ],
)
def test_a_text_that_is_no_list_of_numbers_is_an_error(text: str, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        converted("b_q", text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("2,0", (2, 0)),
        ([2, 0], (2, 0)),
        ("-1, 3", (INFINITE, 3)),
        (["inf", 1], (INFINITE, 1)),
        ((INFINITE, -1), (INFINITE, INFINITE)),
        ("inf,inf", (INFINITE, INFINITE)),
    ],
)
def test_a_window_has_two_sides_and_a_side_may_have_no_limit(value: Any, read: tuple[float, float]) -> None:
    assert converted("window", value) == read


@pytest.mark.parametrize("value", ["2", "1,2,3", "a,b", "1.5,2", "-2,0", 5, [True, 1], ["1", None], "nan,1", ",", {}])
def test_an_invalid_window_is_an_error(value: Any) -> None:
    with pytest.raises(AttnError, match=r"^window: "):
        converted("window", value)


def test_booleans_may_be_ones_and_zeros() -> None:
    assert converted("mask", np.array([[1.0, 0]])).array.tolist() == [[True, False]]
    assert converted("mask", np.array([True])).array.tolist() == [True]
    for wrong in (2.0, -1.0, 0.5, float("nan"), INFINITE):
        with pytest.raises(AttnError, match=r"^mask: .* is neither 0 nor 1"):
            to_booleans(np.array([1.0, wrong]), ("mask",), None, "")


def test_counts_are_integers_from_0() -> None:
    assert converted("key_lengths", np.array([0.0, 3])).array.tolist() == [0, 3]
    for wrong in (-1.0, 0.5, float("nan"), INFINITE, 1e300):
        with pytest.raises(AttnError, match=r"^key_lengths: .* is not a whole number from 0"):
            to_counts(np.array([wrong]), ("key_lengths",), None)


@pytest.mark.parametrize(
    "value",
    [
        "[[1, 0], [1, 1]]",
        "[[true, false], [true, true]]",
        [[True, False], [True, True]],
        np.tri(2),
        np.tri(2, dtype=bool),
    ],
)
def test_a_mask_may_be_text_lists_or_an_array(value: Any) -> None:
    keys = {"query": [[1.0], [2.0]], "key": [[1.0], [2.0]], "mask": value}
    mask: Any = problem(**keys).mask
    assert mask.tolist() == [[True, False], [True, True]]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.dtype("float32"), "float32"),
        (np.dtype(">f4"), "float32"),
        (np.float16, "float16"),
        (np.dtype(np.longdouble), "longdouble"),
        (np.longdouble, "longdouble"),
        ("float64", "float64"),
    ],
    ids=str,
)
def test_a_type_of_numpys_is_its_name(value: Any, name: str) -> None:
    assert converted("dtype", value) == name


@pytest.mark.parametrize(
    ("value", "name"), [(np.int8, "'int8'"), (np.dtype("int8"), "'int8'"), (3, "'3'"), (int, "\"<class 'int'>\"")]
)
def test_other_types_are_unknown_words(value: Any, name: str) -> None:
    with pytest.raises(AttnError, match=rf"^dtype: unknown word {name}; expected one of float16"):
        converted("dtype", value)


@pytest.mark.parametrize("key", ["bias", "w_q", "embeddings"])
def test_booleans_are_not_numbers(key: str) -> None:
    keys = {"embeddings": [[1.0, 2]], "tokens": ["a"], key: [[True, False]]}
    with pytest.raises(AttnError, match=f"{key}: true and false are not numbers; write 1 and 0"):
        problem(**keys)


@pytest.mark.parametrize("value", ["yes", 1, 0, None, "true"])
def test_a_flag_is_true_or_false(value: Any) -> None:
    keys = {"query": [[1.0]], "key": [[1.0]], "causal": value}
    document = raw_values(**keys)
    if value is None:
        assert not assemble(document).causal
        return
    with pytest.raises(AttnError, match=r"causal: .* is neither true nor false"):
        assemble(document)
