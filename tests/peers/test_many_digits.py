"""Many digits: every operator computes with them, or is refused by name; the results are those of mpmath by itself."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli.base.axes import Letters
from attncli.base.errors import AttnError
from attncli.engine.dense import DenseEngine
from attncli.engine.digits import Digits, DigitsArray
from attncli.engine.many_digits import compute_with_digits, evaluate_with_digits, run_with_digits
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.ops.decorators import normalizer
from attncli.ops.records import DerivedInput, OperatorRecord
from attncli.plan.build import plan_of
from attncli.plan.graph import Axis, Node
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.ops.values import WITH_ARRAYS, arguments, length, parameters_off_default, required
from tests.problems import dense_trace, problem

mpmath = pytest.importorskip("mpmath")

ALWAYS = 10**9  # operations
FEW, MANY = Digits(28, ALWAYS), Digits(36, ALWAYS)


def assert_has_digits(few: Any, many: Any, name: str) -> None:
    """With 36 digits instead of 28 a number changes in the last of the 28: nothing was computed in double precision."""
    if not isinstance(many, DigitsArray):
        assert many.dtype.kind in "biu", name
        np.testing.assert_array_equal(few, many, err_msg=name)
        return
    for x, y in zip(few.numbers.flat, many.numbers.flat, strict=True):
        assert x == y or (mpmath.isnan(x) and mpmath.isnan(y)) or abs(y - x) < mpmath.mpf(10) ** -23 * (1 + abs(y)), (
            name
        )


def _own_axes(derived: DerivedInput) -> Letters:
    """The axes of a table of rows, or the last axis of anything else."""
    return derived.axes if derived.axes[:1] == ("r",) else derived.axes[-1:]


def given_values(record: OperatorRecord, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments and parameters of an operator, as a plan gives them: with what it derives."""
    derived = {name: np.full([length(axis) for axis in _own_axes(x)], 0.3) for name, x in record.derived.items()}
    return {**derived, **arguments(record), **parameters}


def computed(record: OperatorRecord, given: Mapping[str, Any], digits: Digits) -> Any:
    """An operator's result, as a plan has it computed."""
    arrays = {name: x for name, x in given.items() if isinstance(x, np.ndarray)}
    options = {name: x for name, x in given.items() if name not in arrays}
    axes = tuple(Axis(letter, 1) for letter in "nm")
    node = Node("node", "", "", axes, record.kind, record.function, dict(zip(arrays, arrays, strict=True)), options)
    values = {name: digits.array(x) if x.dtype.kind == "f" else x for name, x in arrays.items()}
    return evaluate_with_digits(node, values, digits)


@pytest.mark.parametrize("parameters_of", [required, parameters_off_default])
@pytest.mark.parametrize("record", WITH_ARRAYS, ids=lambda record: record.name)
def test_every_operator_computes_with_many_digits(record: OperatorRecord, parameters_of: Any) -> None:
    given = given_values(record, parameters_of(record))
    few, many = computed(record, given, FEW), computed(record, given, MANY)
    assert_has_digits(few, many, record.name)
    expected = record.function(**given)
    found = many.rounded("float64") if isinstance(many, DigitsArray) else many
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_every_problem_is_computed_with_many_digits(spec: ProblemSpec) -> None:
    plan = plan_of(spec)
    names = [node.name for node in plan.nodes]
    few, many = (compute_with_digits(plan, spec, names, digits) for digits in (FEW, MANY))
    for name in names:
        assert_has_digits(few[name], many[name], name)
    engine = DenseEngine(plan, spec, spec.precision)
    engine.run(plan.nodes)
    close = {"bfloat16": 2e-2, "float32": 1e-6}.get(spec.precision.name, 1e-12)
    for name, value in few.items():
        found = value.rounded("float64") if isinstance(value, DigitsArray) else value
        finite = np.abs(found, where=np.isfinite(found), out=np.zeros(found.shape))
        atol = close * finite.max(initial=1)  # sums of large numbers cancel
        np.testing.assert_allclose(found, engine.values[name], rtol=close, atol=atol, err_msg=name)


def test_results_are_those_of_mpmath_rounded_once() -> None:
    query, key, value = normal(3, 5), normal(7, 5), normal(7, 2)
    spec = problem(query=query, key=key, value=value)
    output = run_with_digits(plan_of(spec), spec, ["output"])["output"]
    with mpmath.workdps(60):
        for i, row in enumerate(query):
            scores = [mpmath.fdot(map(float, row), map(float, other)) / mpmath.sqrt(5) for other in key]
            weights = [mpmath.exp(score) for score in scores]
            for j in range(2):
                exact = mpmath.fdot(weights, map(float, value[:, j])) / mpmath.fsum(weights)
                assert output[i, j] == float(exact)


def test_longdouble_holds_more_digits_than_float64() -> None:
    spec = problem(query=normal(3, 5), key=normal(7, 5))
    wide = run_with_digits(plan_of(spec), spec, ["output"], dtype="longdouble")["output"]
    exact = compute_with_digits(plan_of(spec), spec, ["output"], MANY)["output"]
    assert isinstance(exact, DigitsArray)
    assert wide.dtype == np.longdouble
    assert (wide == exact.rounded("float64")).all() or (wide.astype(np.float64) == exact.rounded("float64")).all()
    error = abs((MANY.array(wide) - exact).rounded("float64"))
    assert (error <= np.finfo(np.longdouble).eps * abs(wide)).all()


QUERY, KEY, VALUE = (normal(3, 6, rows, 6, seed=rows).astype(np.longdouble) / 3 for rows in (5, 7, 8))
IN_LONGDOUBLE: Mapping[str, Mapping[str, Any]] = {
    "its own scale": {},
    "a temperature": {"normalize": "softmax:temperature=0.7"},
    "a scale and a cap": {"scale": 0.4, "softcap": 1.5},
    "causal": {"causal": True},
    "cosine": {"score": "cosine:beta=1.7"},
    "gaussian": {"score": "gaussian:sigma=1.3"},
    "laplacian": {"score": "laplacian:sigma=1.3"},
    "entmax": {"normalize": "entmax:alpha=1.3"},
    "rope": {"position": "rope:base=50.3"},
    "shaw": {"position": {"shaw": {"table": normal(5, 6)}}},
    "log_steps": {"query_scale": "log_steps:length=2,factor=0.3"},
    "logn": {"query_scale": "logn:length=2"},
    "power": {"query_scale": "power:length=3,exponent=0.3"},
    "ssmax": {"query_scale": {"ssmax": {"scale": normal(6), "bias": 0.3}}},
}


@pytest.mark.parametrize("keys", IN_LONGDOUBLE.values(), ids=IN_LONGDOUBLE)
def test_problems_of_longdouble_have_its_digits_whole_and_in_blocks(keys: Mapping[str, Any]) -> None:
    """No number that goes into them is rounded to double precision, of which a last bit is 2048 times as large."""
    spec = problem(query=QUERY, key=KEY, value=VALUE[..., :7, :3], dtype="longdouble", **keys)
    exact = run_with_digits(plan_of(spec), spec, ["output"], dtype="longdouble")["output"]
    in_blocks = RunOptions("serial", sizes=BlockSizes(0, 3, 3, 9, 3, 21))
    for output in (dense_trace(spec)["output"].value, run(spec, "output", options=in_blocks).output):
        assert abs(output - exact).max() < 32 * np.finfo(np.longdouble).eps * abs(exact).max()


def test_tables_of_sines_of_longdouble_have_its_digits() -> None:
    """Of six features, whose frequencies are roots that no type has exactly."""
    spec = problem(embeddings=normal(9, 6), position="sinusoidal:base=50.3", dtype="longdouble")
    name = "embeddings_position_vectors"
    exact = run_with_digits(plan_of(spec), spec, [name], dtype="longdouble")[name]
    assert abs(dense_trace(spec)[name].value - exact).max() < 8 * np.finfo(np.longdouble).eps


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, 1.0, -2.0, 0.5, 700.0]


@pytest.mark.parametrize("name", [*FEW.functions, *FEW.predicates])
def test_a_function_has_the_result_that_it_has_for_floats(name: str) -> None:
    function = getattr(np, name)
    numbers = np.meshgrid(*[SPECIAL] * function.nin)
    with np.errstate(all="ignore"):
        expected = np.vectorize(function)(*numbers)  # one by one: of arrays NumPy takes (−∞)^½ otherwise
        found = function(*map(FEW.array, numbers))
    found = found.rounded("float64") if isinstance(found, DigitsArray) else found
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize(
    "function",
    [
        np.sinc,
        np.arctan,
        lambda scores: scores * np.log(np.arange(1, 1 + scores.shape[-1])),
        lambda scores: np.full(scores.shape, 1 / 3),
        lambda scores: scores.nowhere,
    ],
    ids=["a function that is not there", "another", "double precision", "double precision alone", "no attribute"],
)
def test_an_operator_that_loses_digits_is_refused_by_name(function: Any) -> None:
    def mine(scores: np.ndarray) -> np.ndarray:
        """A function of the scores."""
        return function(scores)

    example = {"scores": [[0]], "gives": [[0]]}
    register = normalizer(formula="f(s)", shapes="scores[n m] -> [n m]", source="a test", example=example)
    spec = problem(query=normal(2, 3), key=normal(5, 3), normalize=register(mine))
    with pytest.raises(AttnError, match=r"^normalize mine: can't be computed with 50 digits \("):
        run_with_digits(plan_of(spec), spec, ["output"])


def test_what_is_not_needed_is_not_computed() -> None:
    spec = problem(query=normal(2, 3), key=normal(5, 3), normalize="entmax:alpha=1.3")
    assert set(compute_with_digits(plan_of(spec), spec, ["scores"], FEW)) == {"query", "key", "dot_products", "scores"}


@pytest.mark.parametrize("keys", [{"key": normal(2**15, 2)}, {"key": normal(1009, 2), "normalize": "entmax:alpha=1.1"}])
def test_a_problem_that_would_take_long_is_refused_before_it_does(keys: dict[str, Any]) -> None:
    spec = problem(query=normal(16, 2), **keys)
    with pytest.raises(AttnError, match=r"can't be computed with 50 digits \(it would take long"):
        run_with_digits(plan_of(spec), spec, ["output"])
