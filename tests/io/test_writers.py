"""What is written is read again, bit for bit; a file is written whole or not at all."""

import os
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attncli
from attncli.errors import AttnError
from attncli.io import writers
from attncli.io.problems import Written, assemble, parse_document
from attncli.io.readers import yaml
from attncli.io.source import Origin
from attncli.problem import Problem

AWKWARD = [1 / 3, 1e-300, 5e-324, -0.0, 1.2345678901234567e150, 2.0**53, 1e16, -7.0, 0.1, 1e22, 123456789.123456789]
LABELS = [
    "1",
    "010",
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
]


def problem(**keys: Any) -> Problem:
    return assemble({key: Written(value, Origin()) for key, value in keys.items()})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def bits(array: Any) -> list[bytes]:
    return [np.float64(number).tobytes() for number in np.asarray(array).ravel()]


FULL = {
    "tokens": LABELS,
    "embeddings": [[number, index] for index, number in enumerate((AWKWARD * 2)[: len(LABELS)])],
    "w_q": [[0.1, 0.2], [0.3, 0.4]],
    "b_q": [1e-7, 2],
    "heads": 2,
    "score": {"additive": {"w1": [[1, 2]], "w2": [[3, 4]], "v": [0.5, -0.5], "activation": "relu"}},
    "normalize": "entmax:alpha=1.25",
    "scale": 0.25,
    "only": ["yes", "3"],
}


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_problem_that_is_written_is_read_again(suffix: str, tmp_path: Path) -> None:
    original = problem(**FULL)
    text = writers.problem_yaml(original) if suffix == ".yaml" else writers.problem_json(original)
    path = tmp_path / f"p{suffix}"
    path.write_text(text, encoding="utf-8")
    again = attncli.load(path)
    assert again.tokens == original.tokens
    assert bits(again.embeddings) == bits(original.embeddings)
    assert (again.heads, again.scale, str(again.score), again.only) == (
        2,
        0.25,
        "additive:activation=relu",
        ("yes", "3"),
    )
    assert bits(again.compute().output) == bits(original.compute().output)


def test_a_problem_in_a_folder_is_read_again(tmp_path: Path) -> None:
    original = problem(**{**FULL, "tokens": [label for label in LABELS if label.strip() == label]}
                       | {"embeddings": FULL["embeddings"][: len(LABELS) - 1]})  # fmt: skip
    writers.write_folder(str(tmp_path / "new"), writers.problem_folder(original))
    again = attncli.load(tmp_path / "new" / "problem.yaml")
    assert again.tokens == original.tokens
    assert bits(again.embeddings) == bits(original.embeddings)
    assert bits(again.compute().output) == bits(original.compute().output)


@given(rows=st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=1))
def test_any_number_comes_back_bit_for_bit(rows: list[list[float]]) -> None:
    original = Problem(embeddings=np.array(rows))
    again = assemble(parse_document(writers.problem_yaml(original), "p.yaml"))
    assert bits(again.embeddings) == bits(rows)


@given(label=st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1))
def test_any_label_comes_back_as_it_was(label: str) -> None:
    assert yaml.read(writers.yaml_text([label]), "p.yaml")[0] == [label]


def test_how_the_numbers_were_drawn_is_not_written_beside_them() -> None:
    text = writers.problem_yaml(problem(seed=1, token_count=2, dim=2, init="normal", generator="legacy"))
    assert set(yaml.read(text, "")[0]) == {"embeddings", "tokens", "w_q", "w_k", "w_v", "score", "normalize", "context"}


def test_a_file_is_replaced_and_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")
    path.chmod(0o640)
    writers.write_file(str(path), "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["x.csv"]


def test_a_new_file_has_the_rights_that_files_get(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    writers.write_file(str(tmp_path / "ours"), "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(AttnError, match=r"x.csv: can't be written \(No space left on device\)"):
        writers.write_file(str(path), "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x.csv"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    writers.write_file(str(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    writers.write_file(os.devnull, "x")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_named_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    writers.write_file(str(pipe), "through")
    reader.join(5)
    assert heard == ["through"]
    assert pipe.is_fifo()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(AttnError, match="is a folder with something in it; name a new one"):
        writers.write_folder(str(tmp_path), {"problem.yaml": ""})
    assert names(tmp_path) == ["mine"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    writers.write_folder(str(tmp_path / "new"), {"a": "1", "b": "2"})
    assert names(tmp_path / "new") == ["a", "b"]
    assert names(tmp_path) == ["new"]


def test_a_folder_that_is_not_there_can_not_be_written_in(tmp_path: Path) -> None:
    with pytest.raises(AttnError, match="can't be written"):
        writers.write_file(str(tmp_path / "no" / "x.csv"), "")
