"""Gradients of problems: those of every array are the limits of differences of the output."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.engine.dense import DenseEngine
from attncli.engine.run import is_large, run
from attncli.ops import operators
from attncli.ops.derivatives import NoDerivative
from attncli.plan.build import plan_of
from attncli.plan.graph import Plan
from attncli.problem.spec import ProblemSpec
from attncli.render.by_hand import cell_lines, worked_positions
from attncli.render.view import View
from tests.equations import assert_equations_hold
from tests.problems import PROBLEMS, problem

STEP = np.longdouble(2) ** -22


def is_differentiable(keys: Mapping[str, Any]) -> bool:
    """Whether a problem has an output without NaN."""
    return "output" not in problem(**keys).not_computed and keys.get("empty_rows") != "nan"


DIFFERENTIABLE = [name for name, keys in PROBLEMS.items() if is_differentiable(keys)]
each_problem = pytest.mark.parametrize("name", DIFFERENTIABLE, ids=lambda name: name.replace(" ", "_"))


def in_many_digits(name: str, grad_output: Any = ((1.0,),)) -> ProblemSpec:
    return problem(**PROBLEMS[name] | {"dtype": "longdouble", "grad_output": grad_output})


def random_like(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.longdouble)


def output_with(plan: Plan, spec: ProblemSpec, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """The output where some of the arrays have other values."""
    engine = DenseEngine(plan, spec, spec.precision)
    needed = plan.needed_for(["output"])
    for node in plan.nodes:
        if node.name in needed:
            engine.run([node])
            if node.name in values:
                engine.values[node.name] = values[node.name]
    return engine.values[plan["output"].name]


@each_problem
def test_the_gradient_of_every_array_is_the_limit_of_differences(name: str) -> None:
    spec = in_many_digits(name)
    grad = random_like(plan_of(spec)["output"].shape, 1)
    spec = in_many_digits(name, grad)
    plan, trace = plan_of(spec), run(spec, every_step=True).trace
    needed = plan.needed_for(["output"])
    found = []
    for at, node in enumerate(plan.nodes):
        if node.name not in needed or not node.is_input or trace[node.name].value.dtype.kind != "f":
            continue
        value = trace[node.name].value
        direction = STEP * random_like(value.shape, at)
        low, high = (output_with(plan, spec, {node.name: value + sign * direction}) for sign in (-1, 1))
        slope = (grad * (high - low)).sum() / 2
        gradient = f"grad_{node.name}"
        if gradient not in plan.by_name:  # what the output does not change with, as positions are taken
            assert "positions" in node.name or node.name == "mask", node.name
            continue
        found.append(node.name)
        assert trace[gradient].value.shape == value.shape
        np.testing.assert_allclose((trace[gradient].value * direction).sum(), slope, rtol=1e-8, err_msg=node.name)
    assert found


@each_problem
def test_the_worked_lines_of_gradients_hold(name: str) -> None:
    spec = problem(**PROBLEMS[name] | {"grad_output": ((1.0,),)})
    result = run(spec, every_step=True)
    view = View(result, explain=True)
    at = worked_positions(view)[0]
    count = 0
    for step in result.trace.steps:
        if step.name.startswith("grad_"):
            lines = cell_lines(view, step, at)
            assert_equations_hold(lines, view.decimals, spec.dtype or "float64")
            count += len(lines)
    assert count


@each_problem
def test_the_gradient_of_every_step_has_its_axes(name: str) -> None:
    plan = plan_of(in_many_digits(name))
    for node in plan.nodes:
        if f"grad_{node.name}" in plan.by_name:
            assert plan[f"grad_{node.name}"].axes == node.axes


def without_derivative(kind: str) -> list[str]:
    """The operators of a kind that say that they have none."""
    records = operators(kind).values()
    return [x.name for x in records if any(isinstance(d, NoDerivative) for d in (x.derivatives or {}).values())]


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("normalize", "context") for name in without_derivative(kind)]
)
def test_an_operator_without_a_derivative_is_an_error_by_its_name(kind: str, name: str) -> None:
    keys = {"query": np.eye(2), "key": np.eye(2), "value": np.eye(2), "grad_output": [[1.0]]}
    with pytest.raises(AttnError, match=f"{kind} {name} has no derivative: "):
        plan_of(problem(**keys, **{kind: name}))


@pytest.mark.usefixtures("restored_registry")
def test_an_operator_of_another_package_without_a_derivative_is_an_error_by_its_name() -> None:
    from attncli.ops.decorators import score

    @score(
        formula="Sᵢⱼ = Qᵢ·Kⱼ",
        shapes="query[n d], key[m d] -> [n m]",
        source="a test",
        example={"query": [[1]], "key": [[1]], "gives": [[1]]},
    )
    def dot_of_a_test(query: np.ndarray, key: np.ndarray) -> np.ndarray:
        """The dot product."""
        product: np.ndarray = query @ key.mT
        return product

    keys = {"query": np.eye(2), "key": np.eye(2), "value": np.eye(2), "grad_output": [[1.0]]}
    with pytest.raises(AttnError, match="score dot_of_a_test has no derivative"):
        plan_of(problem(**keys, score="dot_of_a_test"))


def test_a_large_problem_with_gradients_is_not_computed_in_blocks() -> None:
    rows = np.ones((2**11, 1), np.float32)
    keys = {"query": rows, "key": rows, "value": rows}
    assert is_large(plan_of(problem(**keys)))
    assert not is_large(plan_of(problem(**keys, grad_output=[[1.0]])))
