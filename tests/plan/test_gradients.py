"""Gradients of problems: those of every array are the limits of differences of the output."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest

from attncli import ops
from attncli.base.errors import AttnError
from attncli.engine.dense import DenseEngine
from attncli.engine.run import run
from attncli.numbers.arithmetic import UNROUNDED
from attncli.ops import operators
from attncli.ops.derivatives import DerivativeRecord, NoDerivative, unchanged
from attncli.ops.norms import USES
from attncli.ops.records import OperatorRecord
from attncli.ops.structural import identity
from attncli.plan.build import plan_of
from attncli.plan.graph import GRADIENT, Plan
from attncli.plan.stages.gradients import has_derivative as has_derivative_by
from attncli.problem.inputs import OF_INDEXER
from attncli.problem.spec import ProblemSpec
from attncli.render.by_hand import cell_lines, worked_positions
from attncli.render.view import View
from tests.arrays import normal
from tests.equations import assert_equations_hold
from tests.ops.values import parameters_off_default
from tests.problems import PROBLEMS, problem

CONSTANT_KEYS = ("positions", "positions_of_queries", "mask", "index_scores")
STEP = np.longdouble(2) ** -22
NO_NUMBERS: Mapping[tuple[str, ...], np.longdouble] = {}


GIVEN = {"query": normal(2, 3, 5, 4), "key": normal(2, 3, 7, 4), "value": normal(2, 3, 7, 13)}
SEQUENCE = {"residual": normal(2, 5, 29), **{name: normal(29, 12) for name in ("w_q", "w_k", "w_v")}, "heads": 3}
# The axes of heads and features of what a key normalizes, by the first letter of its features, of SEQUENCE.
LENGTHS_OF_NORMS = {"x": 29, "μ": 31, "λ": 37, "d": 4, "c": 4, "e": 4}
LATENT_SEQUENCE = {
    "embeddings": normal(2, 5, 29),
    "heads": 3,
    "w_q_latent": normal(29, 31),
    "w_q": normal(31, 12) / 30,  # so that no weight is all of its row
    "w_kv_latent": normal(29, 37),
    **{name: normal(37, 12) / 30 for name in ("w_k", "w_v")},
}

WITH_TABLE = {**SEQUENCE, "position": {"transformer_xl": {"table": normal(5, 29), "w_position": normal(29, 12) / 30}}}


def is_differentiable(keys: Mapping[str, Any]) -> bool:
    """Whether a problem has an output without NaN, and no step without a derivative."""
    return "output" not in problem(**keys).not_computed and keys.get("empty_rows") != "nan"


def with_operator(kind: str, name: str, *, heads: bool) -> Mapping[str, Any]:
    """A problem with an operator whose parameters are off their defaults; arrays may be those of each head."""
    record = operators(kind)[name]
    parameters = parameters_off_default(record)
    if kind in USES:
        sizes = [LENGTHS_OF_NORMS[p.letters[-1]] for p in record.parameters if p.kind == "array"]
        arrays = [p.name for p in record.parameters if p.kind == "array"]
        parameters |= {"over": "head", "when": "after_rope"} if "when" in parameters else {}
        parameters |= {"over": "head"} if "over" in parameters else {}
        parameters |= {array: normal(size) for array, size in zip(arrays, sizes, strict=True)}
        sequence = WITH_TABLE if kind == "position_norm" else LATENT_SEQUENCE if "latent" in kind else SEQUENCE
        return {**sequence, kind: {name: parameters}}
    if heads:
        arrays = [p.name for p in record.parameters if p.kind == "array" and "h" not in p.letters]
        parameters |= {array: normal(3, *parameters[array].shape) for array in arrays}
    own = {"key": normal(2, 3, 7, 11)} if "c" in record.shapes.arrays.get("key", ()) else {}
    return {**GIVEN, **own, kind: {name: parameters}}


def has_derivative(record: OperatorRecord) -> bool:
    """Whether a record has derivatives by everything that it reads."""
    return not any(isinstance(found, NoDerivative) for found in (record.derivatives or {}).values())


# Problems for which gradients are computed: those of other tests, and one for each operator that a plan has.
CASES: Mapping[str, Mapping[str, Any]] = {
    **{name: keys for name, keys in PROBLEMS.items() if is_differentiable(keys)},
    **{
        f"{kind} {name}{' of each head' if heads else ''}": with_operator(kind, name, heads=heads)
        for kind in ("score", "normalize", "context", "query_scale", *USES)
        if kind != "k_index_norm"  # what an indexer chooses has no gradient
        for name, record in operators(kind).items()
        if has_derivative(record)
        for heads in ((False, True) if any(p.is_weight for p in record.parameters) else (False,))
    },
    **{f"gate {name}": {**SEQUENCE, "w_g": normal(29, 12), "gate": name} for name in operators("gate")},
    "alibi with slopes": {**GIVEN, "position": {"alibi": {"slopes": normal(3)}}},
    "rope with frequencies": {**GIVEN, "position": {"rope": {"frequencies": normal(2), "reverse": True}}},
    "a bias without queries and projections of the output": {**SEQUENCE, "bias": normal(5), "b_o": normal(12)},
}
each_problem = pytest.mark.parametrize("name", CASES, ids=lambda name: name.replace(" ", "_"))


def in_many_digits(name: str, grad_output: Any = ((1.0,),)) -> ProblemSpec:
    return problem(**CASES[name] | {"dtype": "longdouble", "grad_output": grad_output})


def random_like(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.longdouble)


def output_with(
    plan: Plan,
    spec: ProblemSpec,
    values: Mapping[str, np.ndarray],
    numbers: Mapping[tuple[str, ...], np.longdouble] = NO_NUMBERS,
) -> np.ndarray:
    """The output where some of the arrays, or of the numbers among options, have other values."""
    engine = DenseEngine(plan, spec, spec.precision)
    needed = plan.needed_for(["output"])
    for node in plan.nodes:
        if node.name in needed:
            engine.run([node.with_numbers(numbers)])
            if node.name in values:
                engine.values[node.name] = values[node.name]
    return engine.values[plan["output"].name]


@each_problem
def test_the_gradient_of_every_array_is_the_limit_of_differences(name: str) -> None:
    spec = in_many_digits(name)
    grad = random_like(plan_of(spec)["output"].shape, 1)
    if "layout" in CASES[name]:  # ones, which are the same in every layout
        grad = np.ones_like(grad)
    else:
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
            assert node.source[0] in (*CONSTANT_KEYS, *OF_INDEXER), node.name
            continue
        found.append(node.name)
        assert trace[gradient].value.shape == value.shape
        np.testing.assert_allclose(
            (trace[gradient].value * direction).sum(), slope, rtol=1e-8, atol=1e-16, err_msg=node.name
        )
    assert found


@each_problem
def test_the_gradient_of_every_number_is_the_limit_of_differences(name: str) -> None:
    spec = in_many_digits(name)
    plan = plan_of(spec)
    numbers = {
        path: node.options[option]
        for node in plan.nodes
        for option, path in node.numbers.items()
        if has_derivative_by(node, option) and node.name in plan.needed_for(["output"])
    }
    names = [f"grad_{'.'.join(path)}" for path in numbers]
    trace = run(spec, names).trace
    for path, gradient in zip(numbers, names, strict=True):
        moved = [{path: numbers[path] + sign * STEP} for sign in (-1, 1)]
        low, high = (output_with(plan, spec, {}, values).sum() for values in moved)
        assert trace[gradient].value.shape == ()
        np.testing.assert_allclose(trace[gradient].value, (high - low) / (2 * STEP), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ({"score": "cosine"}, {"grad_beta", "grad_temperature"}),
        ({"score": "gaussian", "normalize": "entmax"}, {"grad_sigma", "grad_alpha"}),
        ({"score": "laplacian", "normalize": "sigmoid"}, {"grad_sigma", "grad_shift"}),
        ({"scale": 0.5, "softcap": 3, "value_scale": 2}, {"grad_scale", "grad_softcap", "grad_value_scale"}),
        ({"score": "dot", "normalize": {"topk": {"k": 1}}}, set()),
    ],
)
def test_numbers_have_gradients_by_their_own_names(keys: Mapping[str, Any], names: set[str]) -> None:
    plan = plan_of(problem(**GIVEN, **keys, grad_output=[[1.0]]))
    known = {"grad_beta", "grad_sigma", "grad_alpha", "grad_shift", "grad_scale", "grad_softcap", "grad_value_scale"}
    assert names <= set(plan.names)
    assert {name for name in plan.names if name in known | {"grad_k"}} == names - {"grad_temperature"}


def test_arrays_of_operators_have_gradients_by_their_own_names_where_nothing_else_has_them() -> None:
    additive = {"additive": {"w1": normal(4, 3), "w2": normal(4, 3), "v": normal(3)}}
    plan = plan_of(problem(**GIVEN, score=additive, grad_output=[[1.0]]))
    assert {short: plan.find(short) for short in ("grad_w1", "grad_w2", "grad_v")} == {
        "grad_w1": "grad_score.w1",
        "grad_w2": "grad_score.w2",
        "grad_v": "grad_score.v",
    }
    two = {"score": {"general": {"w": normal(4, 4)}}, "context": {"attentional": {"w": normal(17, 3)}}}
    plan = plan_of(problem(**GIVEN, **two, grad_output=[[1.0]]))
    assert plan.find("grad_w") is None
    assert {"grad_score.w", "grad_context.w"} <= set(plan.names)


@each_problem
def test_the_worked_lines_of_gradients_hold(name: str) -> None:
    spec = problem(**CASES[name] | {"grad_output": ((1.0,),)})
    on_demand = [node.name for node in plan_of(spec).nodes if node.is_on_demand and node.stage == GRADIENT]
    result = run(spec, [*spec.default_selection, *on_demand], every_step=True)
    view = View(result, explain=True)
    at = worked_positions(view)[0]
    for step in result.trace.steps:
        if step.name.startswith("grad_") and step.inputs:
            lines = cell_lines(view, step, at)
            assert lines, step.name
            assert_equations_hold(lines, view.decimals, spec.dtype or "float64")
            if spec.dtype is None:  # what is no sum by the factors of a function would not agree but in its noise
                assert not [line for line in lines if UNROUNDED in line and "e−1" not in line], lines


def test_the_problems_reach_every_derivative() -> None:
    plans = [plan_of(problem(**keys | {"grad_output": ((1.0,),)})) for keys in CASES.values()]
    reached = {node.function for plan in plans for node in plan.nodes if node.stage == GRADIENT}
    modules = [import_module(module.name) for module in iter_modules(ops.__path__, f"{ops.__name__}.")]
    functions = [found for module in modules for found in vars(module).values() if callable(found)]
    known = {found for found in functions if isinstance(getattr(found, "record", None), DerivativeRecord)}
    assert known - reached == {unchanged}  # in plans it is the identity
    assert identity in reached


@each_problem
def test_the_gradient_of_every_step_has_its_name_and_its_axes(name: str) -> None:
    plan = plan_of(in_many_digits(name))
    gradients = [node for node in plan.nodes if node.name.startswith("grad_") and node.name != "grad_output"]
    differentiated = {f"grad_{node.name}": node for node in plan.nodes}
    parts = {source for node in gradients for name, source in node.inputs.items() if name != "grad"}
    numbers = {f"grad_{'.'.join(path)}" for node in plan.nodes for path in node.numbers.values()}
    for node in gradients:
        if node.name in numbers:
            assert node.axes == ()
        else:
            assert node.name in parts or node.axes == differentiated[node.name].axes


def without_derivative(kind: str) -> list[str]:
    """The operators of a kind that say that they have none."""
    return [record.name for record in operators(kind).values() if not has_derivative(record)]


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("normalize", "context") for name in without_derivative(kind)]
)
def test_an_operator_without_a_derivative_is_an_error_by_its_name(kind: str, name: str) -> None:
    keys = {"query": np.eye(2), "key": np.eye(2), "value": np.eye(2), "grad_output": [[1.0]]}
    with pytest.raises(AttnError, match=f"{kind} {name} has no derivative: "):
        plan_of(problem(**keys, **{kind: name}))


@pytest.mark.parametrize("junk", [np.nan, np.inf])
def test_what_a_masked_key_has_changes_no_gradient(junk: float) -> None:
    shape = {"embeddings": normal(7, 12), "query_embeddings": normal(5, 12), "heads": 3, "key_lengths": 4}
    keys = {**shape, **{name: normal(12, 12) for name in ("w_q", "w_k", "w_v")}, "grad_output": normal(5, 12)}
    names = ("grad_w_q", "grad_w_k", "grad_w_v", "grad_query_embeddings")
    expected = run(problem(**keys), names).trace
    keys["embeddings"] = np.where(np.arange(7)[:, None] < 4, keys["embeddings"], junk)
    found = run(problem(**keys), names).trace
    for name in names:
        np.testing.assert_allclose(found[name].value, expected[name].value, rtol=1e-12, atol=1e-14)


def test_a_query_without_keys_has_gradients_of_0() -> None:
    keys = {"query": normal(2, 5, 4), "key": normal(2, 7, 4), "value": normal(2, 7, 3), "key_lengths": [0, 7]}
    trace = run(problem(**keys, grad_output=[[1.0]]), every_step=True).trace
    for name in ("grad_query", "grad_key", "grad_value"):
        assert not trace[name].value[0].any()
        assert trace[name].value[1].any()


def test_gradients_of_half_types_are_rounded_once() -> None:
    keys = {name: normal(5, 4).astype(np.float16).astype(float) for name in ("query", "key", "value")}
    keys["grad_output"] = normal(5, 4).astype(np.float16).astype(float)
    half, double = (run(problem(**keys, dtype=dtype), every_step=True).trace for dtype in ("float16", "float64"))
    for name in ("grad_query", "grad_key", "grad_value"):
        assert half[name].value.dtype == np.float16
        np.testing.assert_allclose(half[name].value, double[name].value, rtol=2**-9, atol=2**-9)


def test_a_gradient_that_does_not_fit_in_memory_is_a_clear_error() -> None:
    rows = np.ones((2**19, 1), np.float32)
    with pytest.raises(AttnError, match=r"of memory and .*; leave out grad_output"):
        run(problem(query=rows, key=rows, value=rows, grad_output=[[1.0]]), "grad_weights")
