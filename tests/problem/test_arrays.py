"""Arrays from arrays and tensors of any library, and from data frames."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import attncli
from attncli import Problem, attention
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
    hint = "fill them with .filled(), and give mask or key_lengths for missing keys"
    assert str(caught.value) == f"{name}: has masked cells; {hint}"


WRONG = {
    "a path": (Path("x.csv"), "; give an array; attncli.load reads a problem from files"),
    "an array of objects": (np.array([[1, None]], dtype=object), "; convert its objects with .astype(float)"),
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


ROWS = [[1.0, -2.5], [3.0, 0.125]]


class GpuTensor:
    """A tensor on a GPU with gradients: only what `detach` and then `cpu` return can be read."""

    def __init__(self, array: np.ndarray, *, has_gradients: bool = True, is_on_gpu: bool = True) -> None:
        self.array, self.has_gradients, self.is_on_gpu = array, has_gradients, is_on_gpu
        self.dtype, self.ndim = f"torch.{array.dtype}", array.ndim

    def detach(self) -> "GpuTensor":
        return GpuTensor(self.array, has_gradients=False, is_on_gpu=self.is_on_gpu)

    def cpu(self) -> "GpuTensor":
        return GpuTensor(self.array, has_gradients=self.has_gradients, is_on_gpu=False)

    def tolist(self) -> Any:
        return self.array.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.has_gradients:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.is_on_gpu:
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        return np.asarray(self.array, dtype=dtype)


class GpuArray:
    """An array on a GPU as CuPy has it, which is copied when it is asked for, and never by itself."""

    __cuda_array_interface__: ClassVar[dict[str, Any]] = {}

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.dtype, self.ndim = array, array.dtype, array.ndim

    def get(self) -> np.ndarray:
        return self.array

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


class DlpackArray:
    """An array that can be read by DLPack alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


LIBRARIES: dict[str, Callable[[np.ndarray], Any]] = {"PyTorch": GpuTensor, "CuPy": GpuArray, "DLPack": DlpackArray}
library = pytest.mark.parametrize("convert", LIBRARIES.values(), ids=LIBRARIES)


@library
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_and_their_type_are_taken_as_they_are(convert: Callable[..., Any], dtype: str) -> None:
    labelled = to_array(convert(np.array(ROWS, dtype)), ("query",))
    assert labelled.array.tolist() == ROWS
    assert labelled.array.dtype == labelled.dtype == dtype


@library
def test_numbers_in_memory_are_not_copied(convert: Callable[..., Any]) -> None:
    array = np.array(ROWS)
    assert np.shares_memory(to_array(convert(array), ("query",)).array, array)


@library
def test_attention_takes_them_in_every_key(convert: Callable[..., Any]) -> None:
    x, mask = np.array(ROWS), np.array([[True, False], [True, True]])
    keys = {"score": {"general": {"w": x}}, "bias": x, "mask": mask}
    converted = {"score": {"general": {"w": convert(x)}}, "bias": convert(x), "mask": convert(mask)}
    ours, theirs = attention(x, x, x, **keys), attention(convert(x), convert(x), convert(x), **converted)
    np.testing.assert_array_equal(ours.output, theirs.output)


@pytest.mark.parametrize("convert", [GpuTensor, GpuArray, np.asarray])
def test_an_array_without_axes_is_a_number(convert: Callable[..., Any]) -> None:
    heads, scale, temperature = (convert(np.array(number)) for number in (2, 0.25, 3.0))
    keys = {"heads": heads, "scale": scale, "normalize": {"softmax": {"temperature": temperature}}}
    problem = Problem(query=[ROWS], key=[ROWS], window=(convert(np.array(1)), 0), **keys)
    assert (problem.heads, problem.scale, problem.window) == (2, 0.25, (1, 0))
    assert problem.normalize.given == {"temperature": 3.0}


@pytest.mark.parametrize("name", ["heads", "scale", "window"])
def test_an_array_with_axes_is_no_number(name: str) -> None:
    with pytest.raises(AttnError, match=f"^{name}: .* is (not a|no) "):
        Problem(query=[ROWS], key=[ROWS], **{name: GpuTensor(np.array([1.0]))})


def test_what_its_library_refuses_is_an_error_that_names_the_key() -> None:
    class Unreadable:
        dtype, ndim = "torch.float8_e4m3fn", 2

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
            raise TypeError("Got unsupported ScalarType")

    class OnGpu(DlpackArray):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("it is on a GPU")

    for value, words in ((Unreadable(), "Got unsupported ScalarType"), (OnGpu(np.array(ROWS)), "it is on a GPU")):
        with pytest.raises(AttnError) as caught:
            attention(ROWS, value)
        assert str(caught.value) == f"key: can't be read ({words})"


class Column:
    """A column of a data frame."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.array = np.array(values, dtype=None if all(isinstance(value, float) for value in values) else object)

    def to_numpy(self) -> np.ndarray:
        return self.array

    def to_list(self) -> list[Any]:
        return list(self.array.tolist())


class Frame:
    """A data frame of named columns; its `index`, where it has one, names the rows."""

    def __init__(self, columns: dict[Any, Sequence[Any]], index: Sequence[Any] | None = None) -> None:
        self.data = {name: Column(values) for name, values in columns.items()}
        self.columns = list(columns)
        if index is not None:
            self.index = np.array(index)

    def __getitem__(self, name: Any) -> Column:
        return self.data[name]

    def to_numpy(self) -> np.ndarray:
        return np.stack([column.to_numpy() for column in self.data.values()], axis=1)


NUMBERS = {"x1": [1.0, 3.0], "x2": [2.0, 4.0]}
WORDS = {"token": ["cat", "sat"]}


@pytest.mark.parametrize(
    ("frame", "labels"),
    [
        (Frame(NUMBERS, ["cat", "sat"]), ("cat", "sat")),
        (Frame(WORDS | NUMBERS), ("cat", "sat")),
        (Frame(NUMBERS | WORDS, [0, 1]), ("cat", "sat")),
        (Frame(NUMBERS, [0, 1]), ("token_1", "token_2")),
        (Frame(NUMBERS, [7592, 101]), ("token_1", "token_2")),
        (Frame(NUMBERS), ("token_1", "token_2")),
        (Frame(NUMBERS, np.array(["cat", 1], object)), ("token_1", "token_2")),
    ],
    ids=["an index", "a first column", "a last column", "positions", "numbers", "nothing", "words and numbers"],
)
def test_the_words_of_a_frame_are_the_tokens(frame: Frame, labels: tuple[str, ...]) -> None:
    problem = attncli.Problem(embeddings=frame)
    assert problem.key_labels == labels
    assert problem.embeddings.tolist() == [[1, 2], [3, 4]]


def test_queries_and_keys_have_labels_of_their_own() -> None:
    queries = Frame({"word": ["who"], "x1": [1.0], "x2": [2.0]})
    result = attncli.attention(queries, Frame(WORDS | NUMBERS))
    assert (result.query_tokens, result.key_tokens) == (("who",), ("cat", "sat"))


def test_the_columns_of_scores_are_keys_and_their_rows_queries() -> None:
    scores = {"cat": [1.0, 3.0], "sat": [2.0, 4.0]}
    for frame in (Frame(scores, ["who", "what"]), Frame({"query": ["who", "what"]} | scores)):
        problem = attncli.Problem(scores=frame)
        assert (problem.query_labels, problem.key_labels) == (("who", "what"), ("cat", "sat"))


def test_the_names_that_polars_makes_up_are_no_labels() -> None:
    frame = Frame({"column_0": [1.0, 3.0], "column_1": [2.0, 4.0]})
    assert attncli.Problem(scores=frame).key_labels == ("key_1", "key_2")
    partly = Frame({"cat": [1.0, 3.0], 7: [2.0, 4.0]})
    assert attncli.Problem(scores=partly).key_labels == ("key_1", "key_2")


def test_a_column_of_words_may_be_a_vocabulary_or_tokens() -> None:
    frame = Frame(WORDS | NUMBERS)
    assert attncli.Problem(sentence="sat cat", vocabulary=frame).embeddings.tolist() == [[3, 4], [1, 2]]
    assert attncli.Problem(embeddings=[[1.0], [2.0]], tokens=frame["token"].to_numpy()).tokens == ("cat", "sat")


@pytest.mark.parametrize(
    ("frame", "columns"),
    [
        (Frame(WORDS | {"other": ["a", "b"]} | NUMBERS), "token, other"),
        (Frame(WORDS), "token"),
        (Frame(WORDS | NUMBERS, ["a", "b"]), "token"),
    ],
    ids=["two columns of words", "words alone", "words in the index too"],
)
def test_other_columns_of_words_are_no_numbers(frame: Frame, columns: str) -> None:
    with pytest.raises(
        attncli.AttnError, match=rf"^embeddings: .* is not a matrix; leave out its columns of words: {columns}$"
    ):
        attncli.Problem(embeddings=frame)


def test_the_labels_of_a_frame_win_over_the_tokens_of_what_it_replaces() -> None:
    problem = attncli.Problem(embeddings=[[1.0, 2.0], [3.0, 4.0]], tokens=["a", "b"])
    assert problem.replace(embeddings=Frame(WORDS | NUMBERS)).tokens == ("cat", "sat")
    assert problem.replace(embeddings=Frame(WORDS | NUMBERS), tokens=["c", "d"]).tokens == ("c", "d")
    assert problem.replace(embeddings=np.eye(2)).tokens == ("a", "b")
