"""Operators of somebody else, plain functions of NumPy: they have all that this package's have, or say why not."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.ops.registry import kind_of, look_up
from attncli.render.view import View
from tests.arrays import normal
from tests.code.scripts import differing_steps, every_step, run_script, script_of
from tests.equations import assert_equations_hold
from tests.problems import dense_trace, problem
from tests.render.explanations import explained

Array = Any
STEP = 1e-6


def student(query: Array, key: Array, nu: float = 1.5) -> Array:
    squared = ((query[..., :, None, :] - key[..., None, :, :]) ** 2).sum(axis=-1)
    return -(nu + 1) / 2 * np.log1p(squared / nu)


def widths(query: Array, key: Array, *, width: Array) -> Array:
    return -np.linalg.norm((query[..., :, None, :] - key[..., None, :, :]) / width, axis=-1)


def powers(scores: Array, power: float = 3.0) -> Array:
    kept = np.where(np.isfinite(scores), np.maximum(scores + 4, 0), 0) ** power
    return kept / kept.sum(axis=-1, keepdims=True)


def in_place(scores: Array) -> Array:
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def geometric(weights: Array, value: Array) -> Array:
    return np.exp(weights @ np.log(value**2 + 1))


def centered(x: Array, eps: float = 1e-3) -> Array:
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + eps)


def bump(query_positions: Array, key_positions: Array, width: float = 2.0) -> Array:
    return -(((query_positions[..., :, None] - key_positions) / width) ** 2)


def tilted(x: Array, positions: Array, slope: float = 0.1) -> Array:
    return x * (1 + slope * positions[..., :, None])


def shrinking(positions: Array, factor: float = 0.5) -> Array:
    return 1 / (1 + factor * positions)


def hard(x: Array, slope: float = 0.3) -> Array:
    return np.clip(slope * x + 0.5, 0, 1)


def even(query_positions: Array, key_positions: Array, step: int = 2) -> Array:
    return ((query_positions[..., :, None] - key_positions) % step == 0) | (key_positions == 0)


# By the key that takes each operator: the decorator, how it is registered, and what else is given.
OPERATORS: Mapping[str, tuple[Any, Callable[..., Any], Mapping[str, Any]]] = {
    "score student": (attncli.score, student, {}),
    "score widths": (
        attncli.score(shapes="query[n d], key[m d], width[d] -> [n m]"),
        widths,
        {"width": [1.0, 2.0, 0.5, 1.5]},
    ),
    "normalize powers": (attncli.normalizer, powers, {}),
    "normalize in_place": (attncli.normalizer, in_place, {}),
    "context geometric": (attncli.context, geometric, {}),
    "qk_norm centered": (attncli.norm, centered, {}),
    "position bump": (attncli.position, bump, {}),
    "position tilted": (attncli.position, tilted, {}),
    "query_scale shrinking": (attncli.query_scale, shrinking, {}),
    "gate hard": (attncli.gate, hard, {}),
    "mask even": (attncli.mask, even, {}),
}
KEYS = {"query": normal(2, 5, 4), "key": normal(2, 7, 4, seed=1), "value": normal(2, 7, 3, seed=2)}
EMBEDDED, GATE = normal(2, 5, 4, seed=4), normal(4, 4, seed=3)
HEADS = {
    "embeddings": normal(6, 8), "heads": 2, "causal": True,
    **{name: normal(8, 8, seed=seed) / 3 for seed, name in enumerate(("w_q", "w_k", "w_v"))},
}  # fmt: skip
of_operators = pytest.mark.parametrize("name", OPERATORS)
of_differentiable = pytest.mark.parametrize("name", [name for name in OPERATORS if not name.startswith("mask")])


@pytest.fixture(autouse=True)
def registered(restored_registry: None) -> None:
    """All of them are registered, and taken back."""
    for decorator, function, _ in OPERATORS.values():
        decorator(function)


def given_to(name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is given where an operator is tried: of a gate also what it is made of."""
    if not name.startswith("gate") or "w_g" in given:
        return given
    return {**given, "w_g": normal(8, 8, seed=3)} if given is HEADS else {"embeddings": EMBEDDED, "w_g": GATE}


def keys_of(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a problem with an operator."""
    key, operator = name.split()
    own = {operator: {"width": np.array([1.0, 2.0, 0.5, 1.5])}} if operator == "widths" else operator
    return {**given_to(name, given), key: own}


def test_scores_are_those_of_the_function() -> None:
    found = dense_trace(problem(**keys_of("score student", KEYS)))["scores"].value
    query, key = KEYS["query"].tolist(), KEYS["key"].tolist()
    for item, row, column in np.ndindex(found.shape):
        distance = math.dist(query[item][row], key[item][column])
        assert found[item, row, column] == pytest.approx(-2.5 / 2 * math.log(1 + distance**2 / 1.5), rel=1e-12)


def test_a_function_is_a_value_in_python() -> None:
    def products(query: Array, key: Array, kind: str = "plain") -> Array:
        return query @ key.swapaxes(-1, -2) * (2 if kind == "twice" else 1)

    query, key = [[1, 2]], [[1, 0], [0, 1]]
    assert attncli.attention(query, key, score=products, select="scores").scores.tolist() == [[1, 2]]
    twice = {"products": {"kind": "twice"}}
    assert attncli.attention(query, key, score=twice, select="scores").scores.tolist() == [[2, 4]]


def test_a_number_of_an_own_operator_is_varied() -> None:
    given = {"query": [[2, 0]], "key": [[1, 0], [0, 1]], "score": student}
    comparison = attncli.compare(**given, vary={"score.nu": [1.5, 3]}, select="scores")
    found = [variant.result.scores.tolist() for variant in comparison.variants]
    expected = [[-(nu + 1) / 2 * math.log1p(squared / nu) for squared in (1, 5)] for nu in (1.5, 3)]
    np.testing.assert_allclose(np.squeeze(found), expected, rtol=1e-12)


def test_a_result_of_another_shape_is_refused() -> None:
    def turned(query: Array, key: Array) -> Array:
        return key @ query.swapaxes(-1, -2)

    message = r"score turned: its function returned the shape 2 × 1; expected \[n m\], n = 1"
    with pytest.raises(AttnError, match=message):
        attncli.attention([[1, 2]], [[1, 0], [0, 1]], score=turned)


@of_operators
def test_what_is_given_and_what_is_printed_is_not_written_into(name: str) -> None:
    given = {key: value.copy() for key, value in given_to(name, KEYS).items()}
    spec = problem(**keys_of(name, given))
    trace = dense_trace(spec)
    for key, value in given_to(name, KEYS).items():
        np.testing.assert_array_equal(given[key], value)
        np.testing.assert_array_equal(getattr(spec, key), value)
    for step in trace.steps:
        if step.function is not None and step.inputs:
            again = step.function(
                **{x: trace[source].value.copy() for x, source in step.inputs.items()}, **step.options
            )
            np.testing.assert_allclose(again, step.value, rtol=1e-12, err_msg=step.name)


@of_operators
@pytest.mark.parametrize("given", [KEYS, HEADS], ids=["batch items", "heads"])
def test_every_line_is_true(name: str, given: Mapping[str, Any]) -> None:
    spec = problem(**keys_of(name, given))
    spec = spec if name.startswith("mask") else spec.with_gradient()
    sections = explained(View(run(spec), explain=True))
    for section in sections.values():
        lines = [line for line in section.arithmetic if not line.endswith((": visible", ": hidden"))]
        assert_equations_hold([line for line in lines if not set("<>≥≤≠") & set(line)], 4)
    kind, operator = name.split()
    if kind != "mask":
        assert next(section for section in sections.values() if f"{operator}(" in section.formula).arithmetic


@of_differentiable
@pytest.mark.parametrize("given", [KEYS, HEADS], ids=["batch items", "heads"])
def test_gradients_are_the_slopes_of_differences(name: str, given: Mapping[str, Any]) -> None:
    given = given_to(name, given)
    spec = problem(**keys_of(name, given)).with_gradient()
    trace = dense_trace(spec)
    grad = trace["grad_output"].value
    arrays = [key for key in given if key not in ("heads", "causal")]
    for key in arrays:
        way = normal(*np.shape(given[key]), seed=9)
        ends = [
            dense_trace(problem(**keys_of(name, {**given, key: given[key] + step * way})))["output"].value
            for step in (STEP, -STEP)
        ]
        slope = (grad * (ends[0] - ends[1])).sum() / (2 * STEP)
        np.testing.assert_allclose((trace[f"grad_{key}"].value * way).sum(), slope, rtol=1e-5, atol=1e-7, err_msg=key)


@of_differentiable
def test_gradients_by_the_numbers_and_arrays_of_an_operator_are_too(name: str) -> None:
    key, operator = name.split()
    decorator_record = look_up(kind_of(key), operator)
    trace = dense_trace(problem(**keys_of(name, KEYS)).with_gradient())
    for parameter in decorator_record.parameters:
        own = np.array([1.0, 2.0, 0.5, 1.5]) if parameter.kind == "array" else parameter.default
        way = normal(*np.shape(own), seed=9) if np.ndim(own) else 1.0
        ends = [
            dense_trace(problem(**{**keys_of(name, KEYS), key: {operator: {parameter.name: own + step * way}}}))[
                "output"
            ].value
            for step in (STEP, -STEP)
        ]
        slope = (trace["grad_output"].value * (ends[0] - ends[1])).sum() / (2 * STEP)
        found = trace[trace.plan.results.get(f"grad_{key}.{parameter.name}", f"grad_{key}.{parameter.name}")].value
        np.testing.assert_allclose((found * way).sum(), slope, rtol=1e-5, atol=1e-7, err_msg=parameter.name)


@of_operators
def test_scripts_run_alone_and_agree(name: str, tmp_path: Path) -> None:
    spec = problem(**keys_of(name, HEADS if name != "score widths" else KEYS))
    view = every_step(spec if name.startswith("mask") else spec.with_gradient())
    text = script_of(view, folder=tmp_path)
    assert "attncli" not in text
    assert differing_steps(run_script(text, tmp_path), view.result.trace, 1e-9) == []


@of_operators
def test_blocks_have_the_same_numbers(name: str) -> None:
    spec = problem(**keys_of(name, KEYS))
    spec = spec if name.startswith("mask") else spec.with_gradient()
    select = [
        key for key in ("output", "grad_query", "grad_key", "grad_value", "grad_w_g") if key in spec.default_selection
    ]
    expected = run(spec, select, every_step=True).trace
    sizes = BlockSizes(dense_cells=1, row_cells=8, tile_cells=8, masked_rows=2)
    found = run(spec, select, options=RunOptions(sizes=sizes)).trace
    for key in select:
        np.testing.assert_allclose(found[key].value, expected[key].value, rtol=1e-10, atol=1e-12, err_msg=key)


def test_a_mask_says_what_is_true_of_a_cell() -> None:
    sections = explained(View(run(problem(**KEYS, mask="even")), explain=True))
    lines = [line for section in sections.values() for line in section.arithmetic if line.endswith(": visible")]
    assert lines == ["(0 − 2) mod 2 = 0: visible"]


def test_a_table_that_is_looked_up_is_not_said_to_get_nothing() -> None:
    @attncli.position(acts_on="scores", shapes="query_positions[n], key_positions[m], table[r] -> [n m]")
    def looked_up(query_positions: Array, key_positions: Array, table: Array) -> Array:
        return table[np.minimum(np.abs(query_positions[..., :, None] - key_positions), 2).astype(int)]

    position = {"looked_up": {"table": np.array([0.5, -1.0, 0.25, 4.0])}}
    given = {name: array[0] for name, array in KEYS.items()}
    spec = problem(**given, position=position).with_gradient()
    *numbers, never_read = dense_trace(spec)["grad_position.table"].value
    assert all(numbers)
    assert never_read == 0
    sections = explained(View(run(spec, ["grad_position.table"]), explain=True))
    (line,) = sections["grad_position.table"].arithmetic
    assert "nothing" not in line


def test_a_score_that_reads_other_keys_is_computed_whole() -> None:
    @attncli.score
    def less_the_mean(query: Array, key: Array) -> Array:
        products = query @ key.swapaxes(-1, -2)
        return products * (1 + products.mean(axis=-1, keepdims=True))

    spec = problem(**KEYS, score="less_the_mean")
    sizes = BlockSizes(dense_cells=1, row_cells=8, tile_cells=8, masked_rows=2)
    found = run(spec, ["output"], options=RunOptions(sizes=sizes)).trace["output"].value
    np.testing.assert_allclose(found, run(spec, ["output"], every_step=True).trace["output"].value, rtol=1e-12)


def test_a_query_alone_is_not_computed_by_what_reads_the_others() -> None:
    @attncli.normalizer
    def of_all(scores: Array) -> Array:
        return scores / scores.sum(axis=(-2, -1), keepdims=True)

    with pytest.raises(AttnError, match="only: normalize of_all mixes queries or keys"):
        attncli.attention(KEYS["query"][0], KEYS["key"][0], normalize="of_all", only=[1])


def test_the_gradient_of_a_number_that_queries_and_keys_share_is_the_sum() -> None:
    spec = problem(**KEYS, qk_norm="centered").with_gradient()
    trace = run(spec, ["grad_qk_norm.eps"]).trace
    parts = [trace[f"grad_qk_norm.eps_from_normalized_{role}"].value for role in ("query", "key")]
    assert trace["grad_qk_norm.eps"].value == pytest.approx(sum(parts))


def weighted_median(weights: Array, value: Array) -> Array:
    order = np.argsort(value, axis=-2)[..., 0]
    sorted_weights = np.take_along_axis(weights, order[..., None, :], axis=-1)
    middle = (sorted_weights.cumsum(axis=-1) >= 0.5).argmax(axis=-1)
    rows = np.take_along_axis(order, middle, axis=-1)
    return np.take_along_axis(value, rows[..., None], axis=-2)


REFUSED: Mapping[str, tuple[Any, Callable[..., Any], str]] = {
    "context weighted_median": (
        attncli.context,
        weighted_median,
        r"has no derivative by weights: it jumps when np\.argmax changes.*\(line \d+: middle = ",
    ),
    "score of_a_float": (
        attncli.score,
        lambda query, key: query @ key.mT * float(query[..., 0, 0].ravel()[0]),
        r"has no derivative by query: taking a number out of its array can't be followed \(line \d+: ",
    ),
    "score of_a_loop": (
        attncli.score,
        lambda query, key: np.vectorize(math.erf)(query @ key.mT),
        r"has no derivative by query: copying numbers out of an array, as np.asarray and np.vectorize do",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_refused_by_name_with_the_reason_and_the_line(name: str) -> None:
    decorator, function, message = REFUSED[name]
    kind, operator = name.split()
    function.__name__ = operator
    decorator(function)
    with pytest.raises(AttnError, match=f"{name} {message}"):
        dense_trace(problem(**KEYS, **{kind: operator}).with_gradient())


def test_a_number_without_a_gradient_is_named_in_a_warning() -> None:
    @attncli.score
    def rooted(query: Array, key: Array, nu: float = 2.0) -> Array:
        return query @ key.swapaxes(-1, -2) / math.sqrt(nu)

    trace = dense_trace(problem(**KEYS, score="rooted").with_gradient())
    assert "grad_score.nu" not in trace
    (note,) = trace.notes
    assert note.startswith("score rooted has no derivative by nu: taking a number out of its array")


def test_what_is_finite_for_some_numbers_alone_has_its_gradient_there() -> None:
    @attncli.score
    def logs(query: Array, key: Array) -> Array:
        return np.log(query @ key.swapaxes(-1, -2) + 1)

    given = {"query": [[1.0, 2.0]], "key": [[1.0, 0.0], [0.0, 3.0]], "value": [[1.0], [0.0]]}
    found = run(problem(**given, score="logs").with_gradient(), ["grad_query"]).trace["grad_query"].value
    first, second = 2 / 9, 7 / 9  # softmax of logarithms: the numbers divided by their sum, 2 and 7
    np.testing.assert_allclose(found, [[first * second / 2, -first * second * 3 / 7]], rtol=1e-12)


def test_what_has_no_number_says_what_may_be_behind_it() -> None:
    @attncli.score
    def logs(query: Array, key: Array) -> Array:
        return np.log(query @ key.swapaxes(-1, -2) - 3)

    result = run(problem(query=[[1.0, 1.0]], key=[[1.0, 0.0]], score="logs"), ["scores"])
    assert result.trace.notes[-1].endswith("or has no number there, as the logarithm of −1")


def test_a_number_without_a_gradient_is_named_where_blocks_compute_the_others() -> None:
    @attncli.position
    def looped(query_positions: Array, key_positions: Array, slope: float = 0.5) -> Array:
        return np.array([[slope * float(n - m) for m in key_positions] for n in query_positions])

    spec = problem(query=normal(6, 3), key=normal(6, 3), position="looped").with_gradient()
    sizes = BlockSizes(dense_cells=1, row_cells=8, tile_cells=8, masked_rows=2)
    for options in (RunOptions(), RunOptions(sizes=sizes)):
        assert any(
            "looped has no derivative by slope" in note
            for note in run(spec, ["grad_query"], options=options).trace.notes
        )


def test_arguments_that_nothing_hands_over_are_refused_with_those_that_are() -> None:
    with pytest.raises(AttnError, match=r"has none of the arguments of a score; it gets key, key_positions, query"):

        @attncli.score
        def products(q: Array, k: Array) -> Array:
            return q @ k.swapaxes(-1, -2)


def test_what_can_not_be_followed_has_a_line_that_says_so() -> None:
    @attncli.score
    def copied(query: Array, key: Array) -> Array:
        return np.array(query) @ key.swapaxes(-1, -2)

    sections = explained(View(run(problem(**KEYS, score="copied")), explain=True))
    (line,) = sections["scores"].arithmetic
    assert line.startswith("no arithmetic: copying numbers out of an array")
    assert "np.array(query) @" in line
