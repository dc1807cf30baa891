"""Errors: one line with the place, what is wrong and what to do."""

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.base.errors import AttnError, UnknownNameError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (AttnError("is empty"), "is empty"),
        (AttnError("is empty", where="p.yaml"), "p.yaml: is empty"),
        (AttnError("is empty", hint="write something"), "is empty; write something"),
        (AttnError("is empty", where="p.yaml", hint="write something"), "p.yaml: is empty; write something"),
    ],
    ids=["what alone", "where and what", "what and what to do", "all three"],
)
def test_an_error_is_one_line(error: AttnError, line: str) -> None:
    assert str(error) == line


def test_at_prepends_to_the_path_of_an_error() -> None:
    error = AttnError("is empty", where="row 2", hint="write something")
    assert str(error.at("w_q").at("p.yaml")) == "p.yaml, w_q, row 2: is empty; write something"
    assert str(AttnError("is empty").at("p.yaml")) == "p.yaml: is empty"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("hedas", "p.yaml: unknown key 'hedas'; did you mean 'heads'?"),
        ("xyz", "p.yaml: unknown key 'xyz'; expected one of heads, seed"),
        ("", "p.yaml: unknown key ''; expected one of heads, seed"),
    ],
    ids=["near a name", "near none", "empty"],
)
def test_an_unknown_name_suggests_the_nearest_or_lists_them_all(name: str, line: str) -> None:
    assert str(UnknownNameError("key", name, ["heads", "seed"], where="p.yaml")) == line


def test_names_that_can_be_read_once_are_listed_all_the_same() -> None:
    assert str(UnknownNameError("key", "xyz", iter(["a", "b"]))).endswith("expected one of a, b")


@pytest.mark.parametrize(("count", "listed"), [(100, 100), (101, 4), (50_000, 4)])
def test_of_many_names_the_first_and_the_last_are_listed(count: int, listed: int) -> None:
    """The tokens of a long text would be pages."""
    hint = UnknownNameError("token", "the", [f"query_{number}" for number in range(count)]).hint
    assert hint is not None
    assert hint.count("query_") == listed
    assert f"query_{count - 1}" in hint
    assert hint.endswith(f" ({count} in all)") is (count > listed)


def test_an_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        raise UnknownNameError("key", "xyz", ["a"])


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize(
    "error",
    [
        AttnError("is empty", where=("w_q", "row 2"), hint="write something", subject=[1, 2]),
        UnknownNameError("key", "hedas", ["heads", "seed"], where=("p.yaml", "line 2"), subject={"hedas": 1}),
    ],
    ids=["AttnError", "UnknownNameError"],
)
def test_an_error_is_copied_and_pickled_with_its_fields(error: AttnError, again: Any) -> None:
    copied = again(error)
    assert type(copied) is type(error)
    assert str(copied) == str(error)
    assert copied.args == error.args
    assert vars(copied) == vars(error)


def test_the_path_of_an_error_is_data() -> None:
    error = AttnError("is empty", where=("w_q", "row 2"))
    assert error.at("p.yaml", "line 3").path == ("p.yaml", "line 3", "w_q", "row 2")
    assert error.where == "p.yaml, line 3, w_q, row 2"
    assert AttnError("is empty").where is None


PLACES = {
    "a nested list": ("\nbias: [[1, 2],\n  [3]]", ("line 5", "bias", "row 2")),
    "a number": ("heads: 0", ("heads",)),
    "a mapping": ("\nscore:\n  gausian: {sigma: 1}", ("line 5", "score")),
    "a parameter": ("score: gaussian:sigma=0", ("score", "gaussian", "sigma")),
    "a list in a parameter": (
        "score:\n  general:\n    w: [[1, 2],\n      [3, x]]",
        ("line 6", "score", "general", "w"),
    ),
    "a list for a number": ("\n\nheads: [1]", ("line 5", "heads")),
    "a contradiction": ("w_q: [[1, 2]]", ("w_q",)),
    "a name in a comma": ("score: 'general:w=a, b'", ("score",)),
}


@pytest.mark.parametrize(("text", "path"), PLACES.values(), ids=PLACES)
def test_an_error_has_the_file_the_line_and_the_key(text: str, path: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "p, q.yaml").write_text(f"query: [[1, 2]]\nkey: [[1, 2]]\n{text}\n")
    with pytest.raises(AttnError) as caught:
        attncli.load(tmp_path / "p, q.yaml")
    assert caught.value.path[0] == str(tmp_path / "p, q.yaml")
    assert caught.value.path[1 : 1 + len(path)] == path


def test_a_name_among_no_names_at_all_says_that_there_are_none() -> None:
    assert str(UnknownNameError("entry", "w_q", [], where="w.npz")) == "w.npz: unknown entry 'w_q'; there are none"
