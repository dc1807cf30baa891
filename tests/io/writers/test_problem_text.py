"""Problems as text: what is written is read again, bit for bit."""

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
from attncli.io import yaml
from attncli.io.assemble import assemble
from attncli.io.output_files import atomic_write_folder
from attncli.io.problem_files import parse_document
from attncli.io.problem_text import problem_folder, problem_json, problem_yaml
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
