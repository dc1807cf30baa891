"""What is expected of results: the key of a file, the options, archives, and what `attn compute` has written."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.expected import read_against, read_expected
from attncli.io.inputs import Inputs
from attncli.io.origin import Origin, RawValue
from attncli.io.problem_files import parse_document

NAMES = ("query", "scores", "weights", "output")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with files of results."""
    monkeypatch.chdir(tmp_path)
    np.savez("results.npz", weights=np.eye(2), output=np.ones((2, 3)), lse=np.zeros(2))
    np.savez("misspelt.npz", weights=np.eye(2), ouput=np.ones((2, 3)))
    np.savez("none.npz", lse=np.zeros(2))
    np.save("one.npy", np.eye(2))
    (tmp_path / "one.csv").write_text("cat,1,0\ndog,0,1\n")
    (tmp_path / "results.yaml").write_text("weights: [[0.50]]\n")
    steps = [{"name": "query", "value": [[2]]}]
    result = {"format": "attn.result/1", "problem": {"heads": 1}, "query_tokens": ["a"], "weights": [[1.0]]}
    (tmp_path / "result.json").write_text(json.dumps(result | {"steps": steps}))
    return tmp_path


def expected_of(text: str, folder: Path) -> RawValue:
    """The key `expected` of a YAML text in a file of the folder."""
    return RawValue(parse_document(text, "p.yaml")["expected"].value, Origin("p.yaml", folder))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("expected: {weights: [[1]], output: [[2]]}", ["weights", "output"]),
        ("expected: {weights: one.npy}", ["weights"]),
        ("expected: results.npz", ["weights", "output"]),
        ("expected: results.yaml", ["weights"]),
        ("expected:", []),
    ],
)
def test_a_file_says_it_by_names_or_names_a_file(text: str, names: list[str], folder: Path) -> None:
    assert list(read_expected(expected_of(text, folder), NAMES).by_name) == names


@pytest.mark.parametrize(
    ("options", "names", "left_out"),
    [
        (["output=one.npy", "weights=1 0; 0 1"], ["output", "weights"], []),
        ([" output =one.npy"], ["output"], []),
        (["results.npz"], ["weights", "output"], ["results.npz#lse"]),
        (["results.yaml"], ["weights"], []),
        (["result.json"], ["weights", "query"], []),
        (["result.json", "output=one.npy"], ["weights", "query", "output"], []),
    ],
)
def test_options_say_it_by_names_or_name_a_file(
    options: list[str], names: list[str], left_out: list[str], folder: Path
) -> None:
    found = read_against(options, Inputs(), NAMES)
    assert (list(found.by_name), list(found.left_out)) == (names, left_out)


@pytest.mark.parametrize("option", ["result.json", "query=result.json", "query=result.json#query"])
def test_numbers_that_attn_has_written_have_every_digit(option: str, folder: Path) -> None:
    value = read_against([option], Inputs(), NAMES).by_name["query"].value
    assert value.array.tolist() == [[2]]


@pytest.mark.parametrize("steps", ["3", "[1]", "[{}]", '[{"name": [1], "value": [1]}]', '[{"name": "query"}]'])
def test_steps_that_somebody_has_changed_to_what_is_none_are_left_out(steps: str, folder: Path) -> None:
    (folder / "changed.json").write_text(f'{{"format": "attn.result/1", "output": [[1]], "steps": {steps}}}')
    assert list(read_against(["changed.json"], Inputs(), NAMES).by_name) == ["output"]


def test_a_file_whose_name_has_an_equals_sign_is_a_file(folder: Path) -> None:
    (folder / "weights=1.yaml").write_text("output: [[1]]\n")
    assert list(read_against(["weights=1.yaml"], Inputs(), NAMES).by_name) == ["output"]


def test_an_empty_stream_is_an_error(folder: Path) -> None:
    (folder / "empty.yaml").write_text("")
    with pytest.raises(AttnError, match=r"^empty\.yaml: is empty$"):
        read_against(["weights=empty.yaml"], Inputs(), NAMES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["weigths=one.npy"], "--against: unknown result 'weigths'"),
        (["one.npy"], "--against: one.npy is one array without a name; say which result it is, such as --against ou"),
        (["one.csv"], "--against: one.csv is one array without a name"),
        (["results.npz#output"], "--against: results.npz#output is one array without a name"),
        (["misspelt.npz"], "misspelt.npz: unknown result 'ouput'; did you mean 'output'?"),
        (["none.npz"], "none.npz: unknown result 'lse'; expected one of query, scores, weights, output"),
        (["results.npz", "weights=1"], "--against, weights: is given twice; give it once"),
        (["weights"], "--against, weights: has no numbers; write weights='.6 .4' or weights=FILE"),
        (["weights="], "--against, weights: '' names no file; give a file, or numbers"),
        (["weights=1 x"], "--against, weights, number 2: 'x' is not a number"),
    ],
)
def test_an_error_of_an_option_names_it_or_the_file(options: list[str], message: str, folder: Path) -> None:
    with pytest.raises(AttnError) as raised:
        read_against(options, Inputs(), NAMES)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expected: 3", "p.yaml, expected: has no names; write NAME: its numbers"),
        ("expected: []", "p.yaml, expected: has no names; write NAME: its numbers"),
        ("expected: {weigths: [[1]]}", "p.yaml, expected: unknown result 'weigths'"),
        (
            "expected: one.npy",
            "p.yaml, expected: one.npy is one array without a name; say which result it is, such as ",
        ),
    ],
)
def test_an_error_of_a_key_names_the_file(text: str, message: str, folder: Path) -> None:
    with pytest.raises(AttnError) as raised:
        read_expected(expected_of(text, folder), NAMES)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("raised_at", "shown"),
    [
        (("expected", "weights"), "p.yaml, expected, weights"),
        (("expected", "weights", "row 2"), "p.yaml, expected, weig"),
    ],
)
def test_an_error_of_the_check_gets_the_place_of_the_numbers(raised_at: Any, shown: str, folder: Path) -> None:
    expectation = read_expected(expected_of("expected: {weights: [[1]]}", folder), NAMES).by_name["weights"]
    assert str(expectation.locate(AttnError("is wrong", where=raised_at))).startswith(shown)
