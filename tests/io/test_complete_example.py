"""A worked example that is written again with a complete problem: what it shows and what it expects stays."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.io import examples
from attncli.io.assemble import assemble
from attncli.io.problem_files import parse_document, read_document
from attncli.io.problem_text import example_values, problem_folder, problem_json, problem_yaml
from attncli.problem.convert.nested_lists import nested_lists_to_array

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
    document = examples.read_document(str(tmp_path / "p.yaml"))
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
