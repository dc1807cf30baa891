"""`attn compute -o attention.py` and `-o lesson.ipynb`."""

import json
from pathlib import Path

import numpy as np
import pytest

from attncli.io import examples
from tests.cli.running import Run
from tests.code.scripts import code_of_cells, run_script

LARGE = ("--token-count", "9", "--dim", "9", "--init", "normal", "--seed", "1")


def test_a_script_is_written_with_its_arrays_beside_it(run: Run, tmp_path: Path) -> None:
    ran = run("compute", *LARGE, "-o", "mine.py", "--select", "output")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    names = {"mine.py", *(f"mine.{name}.npy" for name in ("embeddings", "w_q", "w_k", "w_v", "output.expected"))}
    assert names <= {path.name for path in tmp_path.iterdir()}
    output = run_script((tmp_path / "mine.py").read_text(), tmp_path)["output"]
    assert output == pytest.approx(np.load(tmp_path / "mine.output.expected.npy"))


def test_the_format_is_numpy_unless_torch_is_asked_for(run: Run, tmp_path: Path) -> None:
    problem = ("compute", "--query", "1 0", "--key", "1 0; 0 1")
    for words, imported in ((("-o", "a.py"), "numpy as np"), (("-f", "torch", "-o", "a.py"), "torch")):
        assert run(*problem, *words).returncode == 0
        assert f"import {imported}\n" in (tmp_path / "a.py").read_text()
    assert "import torch\n" in run(*problem, "-f", "torch").stdout


def test_a_refused_script_leaves_no_file(run: Run, tmp_path: Path) -> None:
    ran = run("compute", *LARGE, "--dtype", "longdouble", "-f", "torch", "-o", "t.py")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "PyTorch can't compute in longdouble" in ran.stderr
    assert not list(tmp_path.iterdir())


def test_an_array_beside_a_script_never_replaces_an_input(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "a.query.npy", np.eye(9))
    ran = run("compute", "--query", "a.query.npy", "--key", "a.query.npy", "-o", "a.py")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "is the input a.query.npy" in ran.stderr


@pytest.mark.parametrize("more", [(), ("--with-attn",)])
def test_a_notebook_has_the_parts_of_its_file(run: Run, tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "luong.yaml").write_text(examples.text("luong"), encoding="utf-8")
    ran = run("compute", "luong.yaml", "-o", "lesson.ipynb", *more)
    assert (ran.returncode, ran.stderr) == (0, "")
    cells = json.loads((tmp_path / "lesson.ipynb").read_text(encoding="utf-8"))["cells"]
    titles = [cell["source"][0].partition(". ")[2].strip() for cell in cells if cell["source"][0].startswith("## ")]
    assert titles == [part.title for part in examples.load("luong").parts]
    run_script(code_of_cells(cells), tmp_path)


def test_with_attn_has_no_effect_in_a_script(run: Run) -> None:
    assert "--with-attn has no effect" in run("compute", *LARGE, "--with-attn", "-o", "a.py").stderr
