"""Problems as text: what is written is read again, bit for bit; worked examples are completed."""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import attncli
from attncli.engine.run import run
from attncli.io import examples, yaml
from attncli.io.assemble import assemble
from attncli.io.output_files import atomic_write_folder
from attncli.io.problem_files import parse_document, read_document
from attncli.io.problem_text import example_values, problem_folder, problem_json, problem_yaml
from attncli.problem.arrays import nested_lists_to_array
from attncli.problem.spec import ProblemSpec
from tests.problems import problem

AWKWARD = [1 / 3, 1e-300, 5e-324, -0.0, 1.2345678901234567e150, 2.0**53, 1e16, -7.0, 0.1, 1e22, 123456789.123456789]
LABELS = [
    "1",
    "010",
    "0x1F",
    "0o17",
    "1e3",
    "1e999",
    "null",
    "~",
    "yes",
    "no",
    "true",
    "a,b",
    'a "b"',
    "#c",
    " d ",
    "é日本",
    "a: b",
    "- x",
    "[y]",
    "the#2",
    "",
    "two\nlines",
    "50%",
    "-",
    "nan",
]


def bits(array: Any) -> list[bytes]:
    return [np.float64(number).tobytes() for number in np.asarray(array).ravel()]


FULL = {
    "tokens": LABELS,
    "embeddings": [[number, index] for index, number in enumerate((AWKWARD * 3)[: len(LABELS)])],
    "w_q": [[0.1, 0.2], [0.3, 0.4]],
    "b_q": [1e-7, 2],
    "heads": 2,
    "score": {"additive": {"w1": [[1, 2]], "w2": [[3, 4]], "v": [0.5, -0.5], "activation": "relu"}},
    "normalize": "entmax:alpha=1.25",
    "scale": 0.25,
    "only": ["yes", "3"],
}


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_written_problem_is_read_again(suffix: str, tmp_path: Path) -> None:
    original = problem(**FULL)
    text = "".join(problem_yaml(original)) if suffix == ".yaml" else "".join(problem_json(original))
    path = tmp_path / f"p{suffix}"
    path.write_text(text, encoding="utf-8")
    again = attncli.load(path).spec
    assert again.tokens == original.tokens
    assert bits(again.embeddings) == bits(original.embeddings)
    assert (again.heads, again.scale, str(again.score), again.only) == (
        2,
        0.25,
        "additive:activation=relu",
        ("yes", "3"),
    )
    assert bits(run(again).output) == bits(run(original).output)


def test_a_problem_in_a_folder_is_read_again(tmp_path: Path) -> None:
    original = problem(**FULL)
    atomic_write_folder(str(tmp_path / "new"), problem_folder(original))
    again = attncli.load(tmp_path / "new" / "problem.yaml").spec
    assert again.tokens == original.tokens
    assert bits(again.embeddings) == bits(original.embeddings)
    assert bits(run(again).output) == bits(run(original).output)


def test_what_is_written_of_a_problem_computes_the_same_numbers(spec: ProblemSpec) -> None:
    again = assemble(parse_document("".join(problem_yaml(spec)), "p.yaml"))
    for name in spec.default_selection:
        np.testing.assert_array_equal(run(again).trace[name].value, run(spec).trace[name].value, err_msg=name)


@settings(deadline=None)
@given(rows=st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=1))
def test_any_number_comes_back_bit_for_bit(rows: list[list[float]]) -> None:
    original = problem(embeddings=np.array(rows))
    again = assemble(parse_document("".join(problem_yaml(original)), "p.yaml"))
    assert bits(again.embeddings) == bits(rows)


@pytest.mark.parametrize("form", ["p.yaml", "p.json", "folder"])
@settings(deadline=None)
@given(labels=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=4))
@example(labels=[" d", "e "])
@example(labels=["a\r\nb"])
@example(labels=["\u2028"])
def test_any_label_comes_back_as_it_was(form: str, labels: list[str]) -> None:
    original = problem(embeddings=[[1, 2]] * len(labels), tokens=labels)
    if form == "folder":
        with tempfile.TemporaryDirectory() as folder:
            atomic_write_folder(f"{folder}/new", problem_folder(original))
            again = attncli.load(f"{folder}/new/problem.yaml").spec
    else:
        text = "".join(problem_json(original)) if form == "p.json" else "".join(problem_yaml(original))
        again = assemble(parse_document(text, form))
    assert again.tokens == tuple(labels)


@pytest.mark.parametrize("form", [problem_yaml, problem_json])
def test_infinity_and_nan_can_be_written_and_read(form: Callable[[ProblemSpec], Iterator[str]]) -> None:
    numbers = np.array([[np.inf, -np.inf, np.nan]])
    text = "".join(form(problem(embeddings=numbers)))
    again = assemble(parse_document(text, "p.yaml")).embeddings
    assert again is not None
    np.testing.assert_array_equal(again, numbers)


def test_infinity_and_nan_are_strings_in_json() -> None:
    text = "".join(problem_json(problem(embeddings=np.array([[np.inf, -np.inf, np.nan]]))))
    parsed = json.loads(text, parse_constant=lambda word: f"bare {word}")
    assert parsed["embeddings"] == [["Infinity", "-Infinity", "NaN"]]


def test_seed_and_sizes_are_not_written() -> None:
    text = "".join(problem_yaml(problem(seed=1, token_count=2, dim=2, init="normal", generator="legacy")))
    assert set(yaml.read(text, "")[0]) == {"embeddings", "tokens", "w_q", "w_k", "w_v", "score", "normalize", "context"}


EXAMPLE = """\
title: "Two ways: a \\"drawn\\" one"
about: |
  Each is drawn.

  Twice.
seed: 3
token_count: 2
dim: 2
init: normal
causal: true
expected: {weights: [[1.0, 0], [.nan, 0.5]]}
parts:
- title: as it is
  expected: {output: [[1, 2], [3, 4]]}
- title: more are drawn
  about: a part of its own
  init: uniform
  causal: null
  score: {additive: {w1: normal, w2: identity, v: [1, 2]}}
  show: [weights]
- title: a sentence
  sentence: a b a
  vocabulary: {a: [1, 2], b: [3, 4]}
  embeddings: null
  token_count: null
- title: a file
  w_q: w.csv
together: output
"""


@pytest.mark.parametrize("write", ["yaml", "json", "folder"])
def test_the_parts_of_a_completed_example_are_the_same_problems(write: str, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("1,2\n3,4\n")
    (tmp_path / "p.yaml").write_text(EXAMPLE)
    before = examples.load(str(tmp_path / "p.yaml"))
    document = read_document(str(tmp_path / "p.yaml"))
    problem = assemble(document)
    values = example_values(document, problem)
    written = tmp_path / "elsewhere" / ("g.json" if write == "json" else "problem.yaml")
    written.parent.mkdir()
    if write == "folder":
        for name, contents in problem_folder(problem, values).items():
            text = contents if isinstance(contents, bytes) else "".join(contents).encode()
            (written.parent / name).write_bytes(text)
    else:
        written.write_text("".join((problem_json if write == "json" else problem_yaml)(problem, values)))
    after = examples.load(str(written))
    assert (after.title, after.about, after.together) == (before.title, before.about, before.together)
    assert [part.title for part in after.parts] == [part.title for part in before.parts]
    for part, part_before in zip(after.parts, before.parts, strict=True):
        assert part.show == part_before.show
        expected, expected_before = part.expected.value, part_before.expected.value
        assert expected.keys() == expected_before.keys()
        for name, numbers in expected.items():
            arrays = [nested_lists_to_array(value, ()) for value in (numbers, expected_before[name])]
            np.testing.assert_array_equal(*arrays)
        for name in ("embeddings", "w_q", "w_k", "w_v"):
            np.testing.assert_array_equal(getattr(part.problem, name), getattr(part_before.problem, name))
        assert part.problem.causal == part_before.problem.causal
        assert part.problem.key_labels == part_before.problem.key_labels
        parameters, parameters_before = part.problem.score.parameters, part_before.problem.score.parameters
        assert parameters.keys() == parameters_before.keys()
        for name, value in parameters.items():
            np.testing.assert_array_equal(value, parameters_before[name])


def test_a_part_has_what_differs_in_place_of_its_own_keys() -> None:
    text = (
        "title: t\nquery: [[1]]\nkey: [[1], [2]]\nparts: [{title: p, score: dot, seed: 1, scale: 2, show: [weights]}]\n"
    )
    document = parse_document(text, "p.yaml")
    values = example_values(document, assemble(document))
    assert values.before == {"title": "t"}
    assert values.after == {"parts": [{"title": "p", "score": "dot", "scale": 2, "show": ["weights"]}]}
    assert list(values.after["parts"][0]) == ["title", "score", "scale", "show"]


@pytest.mark.parametrize("name", examples.names())
def test_every_example_of_the_package_can_be_written_again(name: str) -> None:
    document = parse_document(examples.text(name), "p.yaml")
    problem = assemble(document)
    again = parse_document("".join(problem_yaml(problem, example_values(document, problem))), "again.yaml")
    assert again.keys() >= document.keys() - {"sentence", "vocabulary", "seed", "generator", "init"}


@pytest.mark.parametrize("write", [problem_yaml, problem_json])
def test_what_is_expected_keeps_its_digits_and_files_are_read(write: Any, tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_text("0.10,nan\n")
    np.savez(tmp_path / "r.npz", output=[[0.5]])
    expected = "{weights: {token_1: {token_1: 0.50}}, output: o.csv, scores: [[1e3, 010]]}"
    (tmp_path / "p.yaml").write_text(
        f"embeddings: [[1]]\nexpected: {expected}\nparts: [{{}}, {{expected: r.npz}}, {{expected: 3}}]\n"
    )
    document = read_document(str(tmp_path / "p.yaml"))
    spec = assemble(document)
    written = "".join(write(spec, example_values(document, spec)))
    again = parse_document(written, f"p.{write.__name__.removeprefix('problem_')}")
    found = again["expected"].value
    assert found["weights"]["token_1"]["token_1"].text == "0.50"
    assert found["output"][0][0].text == "0.10"
    assert [number.half_unit for number in found["scores"][0]] == [500, 0.5]
    assert [part.get("expected") for part in again["parts"].value] == [None, {"output": [[0.5]]}, 3]
