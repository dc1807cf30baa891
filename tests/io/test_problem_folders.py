"""Folders of problems: the files in them, and whether something is expected in one."""

import os
from pathlib import Path

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.inputs import Inputs
from attncli.io.problem_files import expects_something, files_of_problems

PROBLEM = "embeddings: [[1, 0], [0, 1]]\n"


def test_the_files_are_sorted_also_those_in_folders_and_hidden_ones_are_left_out(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.json", "in/c.npz", "in/deep/d.safetensors", "x.csv", "x.npy", ".e.yaml", ".git/f.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "link.yaml").symlink_to("nowhere.yaml")
    found = [Path(file).relative_to(tmp_path).as_posix() for file in files_of_problems(str(tmp_path))]
    assert found == ["a.json", "b.yaml", "in/c.npz", "in/deep/d.safetensors", "link.yaml"]


def test_a_link_to_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to("nowhere.yaml")
    with pytest.raises(AttnError, match=r"there is no such file; it is a link to 'nowhere\.yaml'"):
        expects_something(str(tmp_path / "link.yaml"), Inputs())


@pytest.mark.parametrize(
    ("text", "expects"),
    [
        (f"{PROBLEM}expected: {{output: [[1, 2], [3, 4]]}}\n", True),
        (f"{PROBLEM}parts: [{{causal: true}}]\n", True),
        (PROBLEM, False),
        ("[[1, 2], [3, 4]]\n", False),
        ("format: attn.result/1\noutput: [[1]]\n", False),
    ],
)
def test_a_text_expects_something_by_its_keys(text: str, expects: bool, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(text)
    assert expects_something(str(tmp_path / "p.yaml"), Inputs()) == expects


@pytest.mark.parametrize(
    ("names", "expects"),
    [
        (("query", "output"), True),
        (("query", "weights"), True),
        (("weights", "value", "output"), True),
        (("query", "key"), False),
        (("output",), False),
        (("scores", "weights", "output"), False),
    ],
)
def test_an_archive_expects_its_entries_of_results(names: tuple[str, ...], expects: bool, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", **dict.fromkeys(names, np.eye(2)))
    assert expects_something(str(tmp_path / "p.npz"), Inputs()) == expects


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("a: [")
    with pytest.raises(AttnError, match="is not YAML"):
        expects_something(str(tmp_path / "p.yaml"), Inputs())
