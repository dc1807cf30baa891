"""Scripts: they run without this program, have a variable for every step, and agree with it."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from attncli import normalizer
from attncli.base.errors import AttnError
from attncli.code import script
from attncli.io import examples
from attncli.problem.spec import ProblemSpec
from attncli.render.target import TextTarget
from tests.arrays import normal
from tests.code.scripts import TARGET, differing_steps, every_step, run_script, script_of
from tests.problems import PROBLEMS, problem
from tests.test_everything import problems

LINES_OF_A_STEP = 4
DELTA = {"recurrence": "delta", "beta": [1.0]}
FOLDER = Path(__file__).parents[3] / "samples"
SAMPLES = [str(path) for path in sorted(FOLDER.rglob("*.yaml")) if path.stem not in examples.names()]
DIFFERENTIATED = (
    "heads in the features, a cache",
    "packed projections, per group, and a cache",
    "selected queries, a mask and a bias",
    "norms with gains of each head, before and after the context",
    "a gate for each head",
    "a difference of maps, grouped heads, a norm and a factor of a layer",
    "a difference of maps, λ a number, neighbours",
)


def check(spec: ProblemSpec, folder: Path) -> None:
    """Check that the script of a problem runs, agrees at every step, and is short."""
    view = every_step(spec)
    trace, text = view.result.trace, script_of(view, folder=folder)
    assert differing_steps(run_script(text, folder), trace, script.TOLERANCES[spec.precision.name]) == []
    lines = text.partition("# Step by step\n")[2].partition("\n\n")[0].splitlines()
    assert len(lines) <= LINES_OF_A_STEP * len(trace.computed)


def test_a_script_has_every_step_with_its_numbers(spec: ProblemSpec, tmp_path: Path) -> None:
    check(spec, tmp_path)


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_are_steps_of_a_script(name: str, tmp_path: Path) -> None:
    check(problem(**PROBLEMS[name]).with_gradient(), tmp_path)


@pytest.mark.parametrize("feature_map", ["identity", "l2", "elu+1", "relu", "softmax"])
@pytest.mark.parametrize("decay", [None, normal(2, 5), normal(2, 5, 3)], ids=["linear", "of tokens", "of features"])
def test_gradients_go_through_states(feature_map: str, decay: np.ndarray | None, tmp_path: Path) -> None:
    arrays = {"query": normal(1, 2, 5, 3), "key": normal(1, 1, 5, 3), "value": normal(1, 1, 5, 4)}
    kind = "linear" if decay is None else "gated"
    more = {} if decay is None else {"decay": -abs(decay[None, :1])}
    recurrence = f"{kind}:feature_map={feature_map}"
    spec = problem(**arrays, **more, recurrence=recurrence, past_state=normal(1, 1, 3, 4))
    check(spec.with_gradient(), tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_gradient_is_a_step_or_refused_by_name(name: str, tmp_path: Path) -> None:
    spec = problem(**PROBLEMS[name])
    if spec.recurrence is None and spec.not_computed == ():
        check(spec.with_gradient(), tmp_path)


@pytest.mark.parametrize("name", [*examples.names(), *SAMPLES], ids=lambda name: Path(name).stem)
def test_every_part_of_an_example_has_a_script(name: str, tmp_path: Path) -> None:
    for part in examples.load(name).parts:
        check(part.problem, tmp_path)


@pytest.mark.deep
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys=problems())
def test_problems_that_are_drawn_have_scripts(keys: dict[str, object], tmp_path: Path) -> None:
    check(problem(**keys), tmp_path)


def test_a_script_reads_as_a_person_writes_it() -> None:
    spec = problem(query=[[1, 0], [0, 2]], key=[[1, 1], [0, 1]], causal=True)
    lines = script_of(every_step(spec)).splitlines()
    assert lines[lines.index("# What is given") :][:19] == [
        "# What is given",
        "query = np.array([[1., 0.], [0., 2.]])  # (n=2, d=2)",
        "key = np.array([[1., 1.], [0., 1.]])  # (m=2, d=2)",
        "",
        "# Step by step",
        "value = key  # (m=2, e=2)",
        "key_positions = np.arange(2)  # (m=2)",
        "query_rows = np.arange(2)  # (n=2)",
        "query_positions = query_rows  # (n=2)",
        "dot_products = query @ key.T  # (n=2, m=2)",
        "scores = dot_products / np.sqrt(2)  # (n=2, m=2)",
        "visible_by_causal = key_positions <= query_positions[:, None]  # (n=2, m=2)",
        "visible = visible_by_causal  # (n=2, m=2)",
        "masked_scores = np.where(visible, scores, -np.inf)  # (n=2, m=2)",
        "lse = np.logaddexp.reduce(masked_scores, axis=-1)  # (n=2)",
        "exponentials = np.exp(masked_scores - masked_scores.max(axis=-1, keepdims=True))  # (n=2, m=2)",
        "weights = exponentials / exponentials.sum(axis=-1, keepdims=True)  # (n=2, m=2)",
        "context = weights @ value  # (n=2, e=2)",
        "output = context  # (n=2, e=2)",
    ]


def test_a_script_runs_alone_and_says_what_differs(tmp_path: Path) -> None:
    view = every_step(problem(query=normal(9, 8), key=normal(9, 8), value=normal(9, 8)))
    text = script_of(view, folder=tmp_path)
    assert "query = np.load('attention.query.npy')" in text
    (tmp_path / "attention.py").write_text(text, encoding="utf-8")
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", f"import sys; sys.modules['attncli'] = None\n{text}"]
    ran = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("scores\n[[")
    np.save(tmp_path / "attention.query.npy", normal(9, 8) + 1)
    with pytest.raises(AssertionError, match="scores: attn has other numbers"):
        run_script(text, tmp_path)


def test_a_title_stays_in_its_docstring(tmp_path: Path) -> None:
    view = replace(every_step(problem(query=[[1]], key=[[1]])), title='a """ b\\')
    assert run_script(script_of(view), tmp_path)["__doc__"].startswith("a ''' b\\: scaled_dot")


def test_large_arrays_have_no_room_on_standard_output() -> None:
    view = every_step(problem(query=normal(110, 100), key=normal(2, 100)))
    with pytest.raises(AttnError, match="query has 11000 numbers"):
        list(script.render_numpy(view, TextTarget()))


def test_equal_names_of_files_in_parts_are_told_apart() -> None:
    arrays = script.array_writer(every_step(problem(query=[[1]], key=[[1]])), TARGET, "numpy")
    first, same, other = (arrays.lines("w", np.full(99, x)) for x in (1.0, 1.0, 2.0))
    assert (first, same, other) == (["np.load('attention.w.npy')"], first, ["np.load('attention.w.2.npy')"])


@pytest.mark.usefixtures("restored_registry")
def test_an_operator_that_can_not_be_followed_is_refused_by_name_with_the_line() -> None:
    @normalizer
    def halves(scores: np.ndarray) -> np.ndarray:
        """Half of each score."""
        return np.array(scores) / 2

    view = every_step(problem(query=[[1]], key=[[1]], normalize="halves"))
    message = r"normalize halves can't be written as code: line \d+: return np.array\(scores\) / 2: copying numbers out"
    with pytest.raises(AttnError, match=message):
        script_of(view)


@pytest.mark.parametrize(
    ("keys", "library", "message"),
    [
        ({"dtype": "float8_e4m3fn"}, "numpy", "NumPy can't compute in float8_e4m3fn"),
        ({"dtype": "longdouble"}, "torch", "PyTorch can't compute in longdouble"),
        ({"context": {"sample": {"seed": 1}}}, "torch", "the step draws can't be written as code: PyTorch has no"),
        ({**DELTA, "grad_output": [[1]]}, "numpy", "can't be written as code: a gradient through"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_a_reason(keys: dict[str, object], library: str, message: str) -> None:
    view = every_step(problem(query=[[1.0]], key=[[1.0]], **keys))
    with pytest.raises(AttnError, match=message):
        script_of(view, "torch" if library == "torch" else "numpy")
