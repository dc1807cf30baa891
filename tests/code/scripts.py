"""Scripts and notebooks of problems, run in this process, and the variables that they leave."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from attncli.code import notebook, script
from attncli.code.literals import variable_of
from attncli.ops.code import Library
from attncli.plan.trace import RunResult, Trace
from attncli.problem.spec import ProblemSpec
from attncli.render.target import TextTarget
from attncli.render.view import View
from tests.problems import dense_trace

TARGET = TextTarget(file="attention.py")


def every_step(spec: ProblemSpec) -> View:
    """The view of a problem that selects the default results, with every step of it."""
    return View(RunResult(dense_trace(spec), spec.default_selection))


def script_of(view: View, library: Library = "numpy", folder: Path | None = None) -> str:
    """The script of a view; the arrays that it loads are written to a folder."""
    for name, array in script.files_beside(view, TARGET, library).items() if folder is not None else ():
        np.save(folder / name, array)
    return "".join(script.render(view, TARGET, library))


def run_script(text: str, folder: Path) -> dict[str, Any]:
    """The variables after a script has run in a folder; what it prints is dropped."""
    variables: dict[str, Any] = {}
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        exec(compile(text, "attention.py", "exec"), variables)
    return variables


def cells_of(view: View) -> list[dict[str, Any]]:
    """The cells of the notebook of a view."""
    found: list[dict[str, Any]] = json.loads("".join(notebook.render(view, TARGET)))["cells"]
    return found


def code_of_cells(cells: list[dict[str, Any]]) -> str:
    """The code of a notebook, one cell after the other."""
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def differing_steps(variables: dict[str, Any], trace: Trace, tolerance: float) -> list[str]:
    """The steps of a trace that are no variables, or have other numbers than these."""
    return [
        step.name for step in trace.steps if not _is_same(variables.get(variable_of(step.name)), step.value, tolerance)
    ]


def _is_same(found: Any, value: np.ndarray, tolerance: float) -> bool:
    """Whether a variable has the numbers of a step, to a tolerance in units of its largest."""
    if found is None or np.shape(found) != value.shape:
        return False
    if value.dtype.kind != "f":
        return bool(np.array_equal(found, value))
    largest = max(1.0, float(abs(value[np.isfinite(value)]).max(initial=0)))
    numbers = np.asarray(found, np.float64)
    return bool(np.allclose(numbers, value.astype(np.float64), tolerance, tolerance * largest, equal_nan=True))
