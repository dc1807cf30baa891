"""Results on standard output and in files, in every format."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.io.parse import read_text_array
from attncli.io.problem_files import Origin
from attncli.render.formats import FORMATS, OutputFormat
from tests.cli.running import Run

FIELDS = ["format", "version", "problem", "pipeline", "query_tokens", "key_tokens", "scores", "weights", "output"]


def strict(text: str) -> Any:
    """JSON that holds no bare NaN or Infinity."""

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def computed(tmp_path: Path, *select: str) -> attncli.Result:
    return attncli.load(tmp_path / "t.yaml").compute(select)


def test_json_is_one_object_with_its_fixed_keys(run: Run, tutorial: str) -> None:
    ran = run("compute", tutorial, "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    result = strict(ran.stdout)
    assert list(result) == FIELDS
    assert result["format"] == "attn.result/1"
    assert result["pipeline"] == {"score": "scaled_dot", "normalize": "softmax", "context": "weighted_sum"}
    assert result["query_tokens"] == result["key_tokens"] == ["word_1", "word_2", "word_3", "word_4"]


def test_explained_json_has_every_step_beginning_with_query_key_value(run: Run, tutorial: str) -> None:
    result = strict(run("compute", tutorial, "--json", "--explain").stdout)
    assert list(result) == [*FIELDS, "steps"]
    names = [step["name"] for step in result["steps"]]
    assert names == [
        "query", "key", "value", "dot_products", "scores", "exponentials", "weights", "context", "output",
    ]  # fmt: skip
    for step in result["steps"]:
        assert list(step) == ["name", "symbol", "formula", "shape", "rows", "columns", "value"]
        assert list(np.shape(step["value"])) == step["shape"] == [len(step["rows"]), len(step["columns"])]
    by_name = dict(zip(names, result["steps"], strict=True))
    assert by_name["dot_products"]["value"][0] == [8, 2, 10, 2]
    assert by_name["weights"]["value"] == result["weights"]
    assert by_name["query"]["columns"] == ["d1", "d2", "d3"]


def test_json_numbers_come_back_bit_for_bit(run: Run, tutorial: str, tmp_path: Path) -> None:
    result = strict(run("compute", tutorial, "--json").stdout)
    expected = computed(tmp_path, "scores", "weights", "output")
    for name in ("scores", "weights", "output"):
        assert np.array(result[name]).tobytes() == getattr(expected, name).tobytes()


def test_infinity_is_a_string_in_json(run: Run) -> None:
    ran = run("compute", "--query", "[[1e200]]", "--key", "[[1e200], [-1e200], [0]]", "--score", "dot",
              "--normalize", "none", "--json")  # fmt: skip
    result = strict(ran.stdout)
    assert result["scores"] == [["Infinity", "-Infinity", 0.0]]
    assert ran.stderr.startswith("attn: warning: scores[query_1, key_1] is inf: the arithmetic overflowed")
    assert "RuntimeWarning" not in ran.stderr


@pytest.mark.parametrize("suffix", ["json", "yaml", "csv", "tsv"])
def test_every_format_of_numbers_reads_back(suffix: str, run: Run, tutorial: str, tmp_path: Path) -> None:
    file = f"out.{suffix}"
    assert run("compute", tutorial, "--select", "weights", "-o", file).stdout == ""
    entry = "#weights" if suffix in ("json", "yaml") else ""
    again = read_text_array(f"{file}{entry}", ("embeddings",), Origin(folder=tmp_path))
    assert again.array.tobytes() == computed(tmp_path, "weights").weights.tobytes()
    if not entry:
        assert again.labels == ("word_1", "word_2", "word_3", "word_4")


def test_the_weights_of_one_run_are_the_bias_of_the_next(run: Run, tutorial: str, tmp_path: Path) -> None:
    run("compute", tutorial, "-o", "first.json")
    second = strict(run("compute", "--embeddings", "first.json#output", "--json", "--select", "scores").stdout)
    output = computed(tmp_path, "output").output
    np.testing.assert_allclose(second["scores"], output @ output.T / np.sqrt(3), rtol=1e-14)


def test_several_results_in_one_csv_have_their_names_as_titles(run: Run, tutorial: str) -> None:
    blocks = run("compute", tutorial, "--format", "csv", "--select", "weights,output").stdout.split("\n\n")
    assert [block.partition("\n")[0] for block in blocks] == ["# weights", "# output"]
    rows = list(csv.reader(blocks[1].strip().splitlines()[1:]))
    assert rows[0] == ["", "e1", "e2", "e3"]
    assert [row[0] for row in rows[1:]] == ["word_1", "word_2", "word_3", "word_4"]


def test_npz_holds_every_result_under_its_name(run: Run, tutorial: str, tmp_path: Path) -> None:
    assert run("compute", tutorial, "-o", "out.npz").returncode == 0
    with np.load(tmp_path / "out.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == ["output", "scores", "weights"]
        assert arrays["weights"].tobytes() == computed(tmp_path, "weights").weights.tobytes()


@pytest.mark.parametrize(
    ("file", "begins"),
    [
        ("x.json", "{"),
        ("x.yaml", "format: attn.result/1\n"),
        ("x.yml", "format: "),
        ("x.csv", "# scores\n"),
        ("x.md", "# The Attention Mechanism"),
        ("x.tex", "% needs"),
        ("x.txt", "scaled_dot → softmax"),
    ],
)
def test_the_suffix_selects_the_format(file: str, begins: str, run: Run, tutorial: str, tmp_path: Path) -> None:
    ran = run("compute", tutorial, "-o", file)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert (tmp_path / file).read_text(encoding="utf-8").startswith(begins)


def test_a_format_option_overrides_the_suffix(run: Run, tutorial: str, tmp_path: Path) -> None:
    run("compute", tutorial, "-o", "x.txt", "--json")
    assert list(strict((tmp_path / "x.txt").read_text())) == FIELDS


def test_a_hyphen_is_standard_output(run: Run, tutorial: str) -> None:
    assert run("compute", tutorial, "-o", "-", "--json").stdout == run("compute", tutorial, "--json").stdout


def test_select_takes_results_and_any_step(run: Run, tutorial: str) -> None:
    result = strict(run("compute", tutorial, "--json", "--select", "dot_products,context").stdout)
    assert list(result) == [*FIELDS[:6], "dot_products", "context"]


def test_heads_are_an_axis_of_their_own(run: Run) -> None:
    words = ("compute", "--seed", "1", "--token-count", "3", "--dim", "4", "--heads", "2")
    result = strict(run(*words, "--json", "--select", "weights,output").stdout)
    assert np.shape(result["weights"]) == (2, 3, 3)
    assert np.shape(result["output"]) == (3, 4)
    titles = [
        line for line in run(*words, "-f", "csv", "--select", "weights").stdout.splitlines() if line.startswith("#")
    ]
    assert titles == ["# weights, head 0", "# weights, head 1"]


def test_a_warning_goes_to_standard_error(run: Run) -> None:
    ran = run("compute", "--query", "[[-1]]", "--key", "[[1]]", "--normalize", "relu", "--json")
    assert ran.returncode == 0
    assert ran.stderr.startswith("attn: warning: ")
    assert ran.stderr.count("\n") == 1
    assert strict(ran.stdout)["output"] == [[0.0]]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("form", ["table", "json", "yaml", "markdown"])
def test_characters_outside_the_encoding_of_standard_output_are_replaced(encoding: str, form: str, run: Run) -> None:
    words = ("compute", "--embeddings", "{日本: [1, 2], café: [3, 4]}", "-f", form)
    ran = run(*words, env={"PYTHONIOENCODING": encoding})
    assert (ran.returncode, ran.stderr) == (0, "")
    if form == "json":
        assert strict(ran.stdout)["key_tokens"] == ["日本", "café"]


def test_the_json_of_a_problem_with_positions_has_the_parameters_that_are_in_force(run: Run, tutorial: str) -> None:
    """Also those that nobody gave: the base of rope differs from model to model."""
    result = json.loads(run("compute", tutorial, "--position", "rope:dims=2", "--json").stdout)
    assert result["pipeline"]["position"] == "rope:base=10000,interleaved=false,scaling=1,offset=0,dims=2"
    assert list(result["pipeline"]) == ["score", "normalize", "context", "position"]
    assert run("compute", tutorial, "--position", "rope:dims=2").stdout.startswith(
        "scaled_dot → softmax → weighted_sum\n"
    )


def test_a_parameter_of_many_digits_is_stated_with_all_of_them(run: Run, tutorial: str) -> None:
    words = (
        "--score",
        "gaussian:sigma=0.123456789",
        "--softcap",
        "1234567.5",
        "--position",
        "rope:base=1234567,dims=2",
    )
    ran = run("compute", tutorial, *words, "--explain", "--json")
    result = strict(ran.stdout)
    assert result["pipeline"]["score"] == "gaussian:sigma=0.123456789"
    assert result["pipeline"]["position"].startswith("rope:base=1234567,")
    (capped,) = [step for step in result["steps"] if step["name"] == "capped_scores"]
    assert capped["formula"] == "1234567.5 tanh(S / 1234567.5)"


LABELS = ["=1+1", "+a", "-b", "@c", "-1.5", "cat"]
SAFE = ["'=1+1", "'+a", "'-b", "'@c", "-1.5", "cat"]


@pytest.mark.parametrize("words", ["compute -f csv", "compute -o x.csv", "compare --vary scale=1,2 -f csv"])
@pytest.mark.parametrize(("option", "expected"), [((), LABELS), (("--safe-csv",), SAFE)])
def test_labels_of_csv_are_as_they_are_unless_a_spreadsheet_shall_not_compute_them(
    words: str, option: tuple[str, ...], expected: list[str], run: Run, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(json.dumps({"embeddings": [[n] for n in range(6)], "tokens": LABELS}))
    command, *others = words.split()
    ran = run(command, "p.yaml", *others, "--select", "weights", *option)
    assert (ran.returncode, ran.stderr) == (0, "")
    written = (tmp_path / "x.csv").read_text() if "x.csv" in others else ran.stdout
    rows = list(csv.reader(written.splitlines()))
    column = rows[0].index("key") if command == "compare" else 0
    assert list(dict.fromkeys(row[column] for row in rows[1:])) == expected


def test_safe_csv_has_no_effect_on_what_is_no_csv(run: Run) -> None:
    ran = run("compute", "--embeddings", "1 2", "--json", "--safe-csv")
    assert ran.stderr == "attn: warning: --safe-csv has no effect: json is not CSV\n"


@pytest.mark.parametrize("row", [row for row in FORMATS if not row.is_binary], ids=lambda row: row.name)
def test_people_see_equal_words_apart_and_what_changed_and_programs_the_words(
    row: OutputFormat, run: Run, tmp_path: Path
) -> None:
    words = ("--sentence", "the cat the", "--seed", "1", "--set", "embeddings[the#2,0]=3", "--select", "weights")
    file = tmp_path / f"x{row.suffixes[0]}"
    options = ["-f", row.name] if row.is_choice else []
    assert run("compute", *words, *options, "-o", file.name).returncode == 0
    text = file.read_text(encoding="utf-8").replace(r"\#", "#")
    if row.is_text_for_readers:
        assert {"the#1", "the#2"} <= {*re.findall(r"the#\d", text)}
        assert "▲" in text or r"\uparrow" in text
    elif not row.is_code:  # numbers are for people
        assert "the#1" not in text
        assert len(re.findall(r"\bthe\b", text)) > 2
