"""Scripts of PyTorch and notebooks, by PyTorch and by Jupyter's own validation."""

from pathlib import Path

import numpy as np
import pytest
import torch

from attncli.code import notebook, script
from attncli.ops import operators
from attncli.problem.spec import ProblemSpec
from tests.code.scripts import TARGET, differing_steps, every_step, run_script, script_of
from tests.ops.code_examples import result_of_code
from tests.ops.test_code import OPERATORS
from tests.problems import problem


@pytest.fixture(autouse=True)
def _default_type() -> object:
    """The default type of PyTorch, which scripts set, is what it was after each test."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize(("kind", "name"), OPERATORS)
def test_code_of_pytorch_gives_what_the_example_gives(kind: str, name: str) -> None:
    record = operators(kind)[name]
    found = result_of_code(record, "torch", torch, torch.from_numpy)
    if found is not None:
        assert found == pytest.approx(np.asarray(record.example["gives"]), abs=1e-9)


def test_a_script_of_pytorch_has_every_step_with_its_numbers(spec: ProblemSpec, tmp_path: Path) -> None:
    view = every_step(spec if spec.recurrence is not None or spec.not_computed else spec.with_gradient())
    variables = run_script(script_of(view, "torch", tmp_path), tmp_path)
    assert differing_steps(variables, view.result.trace, script.TOLERANCES[spec.precision.name]) == []


def test_notebooks_are_valid() -> None:
    nbformat = pytest.importorskip("nbformat")
    view = every_step(problem(query=[[1, 0]], key=[[1, 0], [0, 1]], heads=2, causal=True))
    nbformat.validate(nbformat.reads("".join(notebook.render(view, TARGET)), as_version=4))
