"""Arrays of NumPy and of other libraries, and what is refused in place of an array."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.problem.arrays import to_array
from tests.problems import problem


class Tensor:
    """A tensor of a library whose types are not NumPy's; without axes it is one number."""

    dtype = object()

    def __init__(self, value: Any) -> None:
        self.value = value
        self.ndim = np.ndim(value)

    def tolist(self) -> Any:
        return self.value


class ArrayLike:
    """An array of a library that has no `tolist`."""

    ndim = 1

    def __init__(self, row: list[float]) -> None:
        self.row = row

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.row, dtype=dtype)


@pytest.mark.parametrize(
    "value",
    [
        [[Tensor(1.0), Tensor(2)]],
        [[1, Tensor(2.0)]],
        [Tensor([1.0, 2.0])],
        [[np.float32(1), np.array(2)]],
        [[np.longdouble(1), np.uint8(2)]],
        [ArrayLike([1.0, 2.0])],
        {"cat": ArrayLike([1.0, 2.0])},
        np.ma.array([[1.0, 2.0]]),
    ],
    ids=[
        "tensors without axes",
        "a tensor among numbers",
        "a tensor as a row",
        "numbers and arrays of NumPy",
        "other types of NumPy",
        "an array without tolist",
        "a labelled array without tolist",
        "a masked array without masked cells",
    ],
)
def test_numbers_of_every_library_are_numbers(value: Any) -> None:
    assert to_array(value, ("w_q",)).array.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    "cell",
    [Tensor(True), Tensor(1j), Tensor("x"), np.ma.masked, np.datetime64("2020-01-01", "ns"), np.complex64(1)],
    ids=["a boolean", "a complex number", "a word", "a masked cell", "a date", "a complex number of NumPy"],
)
def test_what_is_no_number_in_another_library_is_none_here(cell: Any) -> None:
    with pytest.raises(AttnError, match=r"^w_q, row 1, number 2: .* is not a number"):
        to_array([[1.0, cell]], ("w_q",))


@pytest.mark.parametrize("name", ["value", "bias", "sink", "mask"])
def test_masked_cells_are_refused(name: str) -> None:
    value = np.ma.array([[1e6]], mask=[[True]])
    with pytest.raises(AttnError) as caught:
        problem(query=[[1.0]], key=[[1.0]], **{name: value})
    hint = "fill them with .filled(), and give mask or key_lengths for keys that are not there"
    assert str(caught.value) == f"{name}: has masked cells; {hint}"


WRONG = {
    "a path": (Path("x.csv"), "; give an array; attncli.load reads a problem from files"),
    "an array of objects": (np.array([[1, None]], dtype=object), "; make numbers of its objects with .astype(float)"),
    "an array of words": (np.array(["a"]), ""),
    "a complex array": (np.array([1j]), ""),
    "no array": ({1}, ""),
}
NOUNS = {"key_lengths": "list of numbers", "sink": "list of numbers", "b_q": "list of numbers", "w_q": "matrix"}


@pytest.mark.parametrize(("value", "hint"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize(("name", "noun"), NOUNS.items(), ids=NOUNS)
def test_an_error_says_what_the_field_takes(name: str, noun: str, value: Any, hint: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(query=[[1.0]], key=[[1.0]], **{name: value})
    assert str(caught.value).startswith(f"{name}: ")
    assert str(caught.value).endswith(f" is not a {noun}{hint}")


def test_a_parameter_of_one_axis_is_a_list_of_numbers() -> None:
    for name, noun in {"v": "list of numbers", "w1": "matrix"}.items():
        with pytest.raises(AttnError, match=rf"^score, additive, {name}: .* is not a {noun}$"):
            problem(query=[[1.0]], key=[[1.0]], score={"additive": {name: {1}}})


def test_a_mapping_is_no_list_of_numbers() -> None:
    with pytest.raises(AttnError) as caught:
        problem(query=[[1.0]], key=[[1.0]], b_q={"a": 1})
    assert str(caught.value) == "b_q: is not a list of numbers; expected one row of numbers"


@pytest.mark.parametrize("size", [2, 99])
@pytest.mark.parametrize("name", ["sentence", "heads", "softcap", "causal", "window", "dtype", "only", "score"])
def test_an_error_prints_no_whole_array(name: str, size: int) -> None:
    array = np.zeros((size, size))
    for value in (array, [array], {"gaussian": array}, {(1, 2): array}):
        with pytest.raises(AttnError) as caught:
            attncli.Problem(query=[[1.0]], key=[[1.0]], **{name: value})
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 160
