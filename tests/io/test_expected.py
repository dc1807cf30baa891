"""What is expected of results: the key of a file, the options, archives, and what `attn compute` has written."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.expected import read_against, read_expected, read_expected_value
from attncli.io.inputs import Inputs
from attncli.io.problem_files import Origin, RawValue, parse_document
from attncli.numbers.parsing import TypedNumber
from attncli.problem.arrays import GivenArray

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


def test_names_of_others_are_read_as_results_and_said(folder: Path) -> None:
    np.savez(folder / "kernel.npz", out=np.ones((2, 3)), weights=np.eye(2), lse=np.zeros(2))
    found = read_against(["kernel.npz"], Inputs(), NAMES)
    assert (list(found.by_name), list(found.left_out)) == (["output", "weights"], ["kernel.npz#lse"])
    assert list(found.notes) == ["kernel.npz: out is read as output"]


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
        (["weights="], "--against, weights: '' does not name a file; give a file, or numbers"),
        (["weights=1 x"], "--against, weights, number 2: 'x' is not a number"),
    ],
)
def test_an_error_of_an_option_names_it_or_the_file(options: list[str], message: str, folder: Path) -> None:
    with pytest.raises(AttnError) as raised:
        read_against(options, Inputs(), NAMES)
    assert raised.value.typed.startswith(message)


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
    assert raised.value.typed.startswith(message)


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


YAML = "weights: [[0.10, 1e-3]]\nother: [[3]]\nnamed: {cat: [0.10, 2.0]}\n"
JSON = '{"format": "mine", "weights": [[0.10, 1e-3]]}'


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of files that hold the same numbers in different ways."""
    texts = {"w.yaml": YAML, "w.json": JSON, "w.csv": "0.10,1e-3\n", "named.csv": "cat,0.10,1e-3\ndog,2,3.0\n"}
    texts |= {"w.tsv": "0.10\t1e-3\n", "twice.csv": "cat,0.10,1e-3\ncat,2,3.0\n", "list.yaml": "[[0.10, 1e-3]]"}
    texts["labels.yaml"] = "cat: {dog: 0.10}\n"
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "w.npy", np.float32([[0.25, 0.75]]))
    np.savez(tmp_path / "one.npz", any_name=np.float32([[0.25, 0.75]]))
    np.savez(tmp_path / "two.npz", weights=np.float32([[0.25, 0.75]]), output=np.eye(2))
    return tmp_path


def read(value: Any, files: Path, name: str = "weights") -> Any:
    """What is read, its numbers with the digits typed as text."""
    return digits(read_expected_value(value, name, "expected", Origin("p.yaml", files, inputs=Inputs())))


def digits(value: Any) -> Any:
    """The same lists and mappings, with the text of each number that has one."""
    if isinstance(value, dict):
        return {label: digits(part) for label, part in value.items()}
    if isinstance(value, list):
        return [digits(part) for part in value]
    return value.text if isinstance(value, TypedNumber) else value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (".59 .130 28", [[".59", ".130", "28"]]),
        ("1 0.50; 2e-3 -4", [["1", "0.50"], ["2e-3", "-4"]]),
        ("0.70", [["0.70"]]),
        ("1/2, sqrt(3)", [["1/2", "sqrt(3)"]]),
        ("[[0.10, 1e-3]]", [["0.10", "1e-3"]]),
        ("{cat: {dog: 0.10}}", {"cat": {"dog": "0.10"}}),
        ("w.yaml", [["0.10", "1e-3"]]),
        ("w.yaml#other", [["3"]]),
        ("w.yaml#weights[0, 0:1]", ["0.10"]),
        ("w.yaml#named", {"cat": ["0.10", "2.0"]}),
        ("labels.yaml", {"cat": {"dog": "0.10"}}),
        ("list.yaml", [["0.10", "1e-3"]]),
        ("w.json", [["0.10", "1e-3"]]),
        ("w.csv", [["0.10", "1e-3"]]),
        ("w.tsv", [["0.10", "1e-3"]]),
        ("named.csv", {"cat": ["0.10", "1e-3"], "dog": ["2", "3.0"]}),
        ("named.csv[1:]", [["2", "3.0"]]),
        ("twice.csv", [["0.10", "1e-3"], ["2", "3.0"]]),
        ([[TypedNumber("0.50"), "1/2"]], [["0.50", "1/2"]]),
    ],
)
def test_the_digits_that_were_typed_are_kept(value: Any, expected: Any, files: Path) -> None:
    assert read(value, files) == expected


@pytest.mark.parametrize("value", ["w.npy", "one.npz", "two.npz", "two.npz#weights", "w.npy[0:1]"])
def test_arrays_keep_their_type(value: str, files: Path) -> None:
    found = read(value, files)
    assert isinstance(found, GivenArray)
    assert (found.array.tolist(), found.dtype) == ([[0.25, 0.75]], "float32")


def test_a_list_without_words_is_the_same_object_by_which_its_line_is_found(files: Path) -> None:
    rows = [[TypedNumber("0.50")], [TypedNumber("1")]]
    assert read_expected_value(rows, "weights", "expected", Origin("p.yaml", files)) is rows


def test_words_for_numbers_are_numbers(files: Path) -> None:
    ((nan, infinity),) = read_expected_value([["NaN", "-Infinity"]], "weights", "expected", Origin("p.yaml", files))
    assert np.isnan(nan)
    assert infinity == -np.inf


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "p.yaml, expected, weights: '' does not name a file"),
        ("1 2; 3 x", "p.yaml, expected, weights, row 2, number 2: 'x' is not a number"),
        ("[1, 2", "p.yaml, expected, weights: `[` is not closed"),
        ([["1/0"]], "p.yaml, expected, weights: 1/0 is not a finite number"),
        ("no.npy", "no.npy: there is no such file"),
        ("weigths", "p.yaml, expected, weights: unknown file 'weigths'"),
        ("two.npz#wieghts", "two.npz: unknown entry 'wieghts'"),
        ("w.npy#a", "w.npy: has no entries, so #a names nothing"),
        ("w.yaml#named[0, 5]", "w.yaml: there is no position 5 on axis 1"),
    ],
)
def test_an_error_names_the_place_or_the_file(value: Any, message: str, files: Path) -> None:
    with pytest.raises(AttnError) as raised:
        read(value, files)
    assert raised.value.typed.removeprefix(f"{files}/").startswith(message)


def test_of_several_entries_none_of_which_is_the_result_one_is_to_be_named(files: Path) -> None:
    with pytest.raises(AttnError, match=r"two.npz: has 2 entries and none is context; name one: .*two.npz#weights"):
        read("two.npz", files, name="context")
