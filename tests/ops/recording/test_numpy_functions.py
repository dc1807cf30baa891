"""Functions as NumPy people write them, recorded: value, gradient, code and lines are those of the function."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.recording.arrays import NotRecordedError, Recorded
from attncli.ops.recording.code import code_of
from attncli.ops.recording.expression import argument, evaluate
from attncli.ops.recording.lines import Known, recorded_lines
from attncli.ops.recording.record import record
from attncli.ops.recording.reverse import gradient
from tests.equations import check_line

Function = Callable[..., Any]
STEP = 1e-6


def in_place(x: Any) -> Any:
    x -= x.mean(axis=-1, keepdims=True)
    np.exp(x, out=x)
    x[..., 0] *= 3
    return x / x.sum(axis=-1, keepdims=True)


def by_rows(x: Any) -> Any:
    found = np.zeros_like(x)
    for row in range(len(x)):
        found[row] = x[row] / (1 + abs(x[row]).max())
    return found


def two_means(x: Any) -> Any:
    left, right = np.split(x, [2], axis=-1)
    return np.concatenate([np.tanh(left), right**2], axis=-1) - np.median(x, axis=-1, keepdims=True)


def branch_on_an_option(x: Any, power: float = 3.0) -> Any:
    if power != 1:
        x = np.sign(x) * abs(x) ** power
    return x


# Of x [3 4], numbers between −2 and 2 that differ.
OF_ONE: Mapping[str, Function] = {
    "norm": lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True),
    "largest norm": lambda x: np.linalg.norm(x, np.inf, axis=-1),
    "norm of degree 3": lambda x: np.linalg.norm(x, 3, axis=-1),
    "std": lambda x: (x - x.mean(-1, keepdims=True)) / np.std(x, axis=-1, keepdims=True),
    "var, ddof": lambda x: x.var(axis=0, ddof=1),
    "softplus": lambda x: np.logaddexp(0, x),
    "cosh": lambda x: np.log(np.cosh(x)) + np.sinh(x) * np.tan(x / 4),
    "arctan": lambda x: np.arctan(x) + np.arcsin(x / 3) + np.arcsinh(x) + np.cbrt(x),
    "exponentials": lambda x: np.exp2(x) + np.expm1(x) + np.log1p(abs(x)) + np.log2(abs(x)) * np.log10(abs(x)),
    "clip": lambda x: np.clip(x, -0.5, 0.5) + x.clip(min=0) + np.minimum(x, 1),
    "cumsum": lambda x: np.cumsum(x, axis=-1) * np.arange(4),
    "running maximum": lambda x: np.maximum.accumulate(x, axis=-1),
    "sort": lambda x: np.sort(x, axis=-1) * [1, 2, 3, 4],
    "take along axis": lambda x: np.take_along_axis(x, np.argsort(-x, axis=-1)[..., :2], axis=-1),
    "top-k mask": lambda x: np.where(x >= np.sort(x, axis=-1)[..., -2:-1], x, 0),
    "expand_dims": lambda x: (np.expand_dims(x, 0) * np.expand_dims(x, 1)).sum(axis=(0, 2)),
    "outer": lambda x: np.subtract.outer(x[0], x[1]) + np.outer(x[1], x[2]),
    "log-sum-exp": lambda x: np.logaddexp.reduce(x, axis=-1),
    "product": lambda x: np.prod(x, axis=-1),
    "diff": lambda x: np.diff(x, axis=-1) + np.flip(x, axis=-1)[..., 1:],
    "roll": lambda x: np.roll(x, 1, axis=-1) * x + np.repeat(x[..., :2], 2, axis=-1),
    "triu": lambda x: np.triu(x) @ np.tril(np.ones((4, 4))),
    "average": lambda x: np.average(x, axis=-1, weights=[1, 2, 3, 4]) + np.ptp(x, axis=-1),
    "nan_to_num": lambda x: np.nan_to_num(np.where(x > 0, np.log(abs(x)), np.nan)),
    "remainder": lambda x: np.mod(x, 0.75) + np.floor(x) * x,
    "hypot": lambda x: np.hypot(x, 2.0) + 1 / np.reciprocal(x + 5),
    "truths as numbers": lambda x: x * ((x > 0) * 1 - (x < -1) * 1),
    "where with three": lambda x: np.where(x > 0, x * x, np.where(x < -1, -x, 1 + x)),
    "list": lambda x: np.stack([x.max(axis=-1), x.min(axis=-1), x.sum(axis=-1)], axis=-1),
    "in place": in_place,
    "rows": by_rows,
    "parts": two_means,
    "branch": branch_on_an_option,
}  # fmt: skip
# Of x [3 4] and y [5 4].
OF_TWO: Mapping[str, Function] = {
    "einsum": lambda x, y: np.einsum("id,jd->ij", x, y),
    "einsum without a result": lambda x, y: np.einsum("id,jd", x, y) + np.einsum("...d,...d->...", x, x)[:, None],
    "einsum of three": lambda x, y: np.einsum("id,jd,kd->ijk", x, y, x).sum(axis=-1),
    "student": lambda x, y: -np.log1p(((x[:, None] - y) ** 2).sum(-1) / 2),
    "chebyshev": lambda x, y: -np.max(np.abs(x[:, None, :] - y[None]), axis=-1),
    "cosine": lambda x, y: (x @ y.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1)),
    "dot": lambda x, y: np.dot(x, y.T) + np.inner(x, y) + np.matmul(x, np.transpose(y)),
    "vectors": lambda x, y: x @ y[0] + y[1] @ x.T,
    "joined": lambda x, y: np.concatenate([x, y]) @ np.vstack([x, y]).T[:, :3],
    "tanh": lambda x, y: np.tanh(x[:, None] + y).mean(axis=-1),
    "tiles": lambda x, y: np.tile(x, (1, 2))[:, :4] @ np.moveaxis(y, 0, 1) + np.broadcast_to(y.sum(), (3, 5)),
}
CASES = {
    **{f"x: {name}": (f, 1) for name, f in OF_ONE.items()},
    **{f"x, y: {name}": (f, 2) for name, f in OF_TWO.items()},
}
of_functions = pytest.mark.parametrize(("function", "count"), CASES.values(), ids=CASES)


def values(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    stream = np.random.default_rng(seed)
    return {name: stream.uniform(-2, 2, (rows, 4)).round(2) for name, rows in (("x", 3), ("y", 5))[:count]}


def copies(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: value.copy() for name, value in given.items()}


@of_functions
def test_a_record_has_the_value_of_the_function_with_these_numbers_and_with_others(
    function: Function, count: int
) -> None:
    given = values(count)
    made = record(function, copies(given), {})
    np.testing.assert_array_equal(made.result.value, function(**copies(given)))
    if "sort" in str(function.__code__.co_names):  # by the order of these numbers
        return
    other = values(count, seed=1)
    np.testing.assert_allclose(evaluate(made.result, copies(other)), function(**copies(other)), rtol=1e-12)


@of_functions
def test_a_gradient_is_the_slope_that_differences_have(function: Function, count: int) -> None:
    given = values(count)
    made = record(function, copies(given), {})
    stream = np.random.default_rng(2)
    grad = stream.standard_normal(np.shape(made.result.value))
    for name, value in given.items():
        found = gradient(made.result, made.arguments[name], Recorded(argument("grad", grad), []))
        assert found is not None
        way = stream.standard_normal(value.shape)
        ends = [function(**copies({**given, name: value + step * way})) for step in (STEP, -STEP)]
        slope = (grad * (ends[0] - ends[1])).sum() / (2 * STEP)
        np.testing.assert_allclose((found.value * way).sum(), slope, rtol=1e-6, atol=1e-7)


@of_functions
def test_the_code_of_a_function_and_of_its_gradient_computes_them(function: Function, count: int) -> None:
    given = values(count)
    made = record(function, copies(given), {})
    grad = np.random.default_rng(2).standard_normal(np.shape(made.result.value))
    names = {name: name for name in given}
    assert_code_gives(code_of(made, names), given, made.result.value)
    for name in given:
        seed = argument("grad", grad)
        found = gradient(made.result, made.arguments[name], Recorded(seed, []))
        assert found is not None
        own = type(made)(found.expression, {**made.arguments, "grad": seed}, made.names, made.taps, made.branches)
        try:
            lines = code_of(own, {**names, "grad": "grad"})
        except NotRecordedError as error:
            assert "unevenly" in error.message  # noqa: PT017 - most have code
            continue
        assert_code_gives(lines, {**given, "grad": grad}, found.value)


def assert_code_gives(lines: list[str], given: Mapping[str, np.ndarray], expected: np.ndarray) -> None:
    *before, value = lines
    space: dict[str, Any] = {"np": np, **copies(given)}
    exec("\n".join([*before, f"found = {value}"]), space)
    np.testing.assert_allclose(space["found"], expected, rtol=1e-12, atol=1e-12)


@of_functions
def test_every_line_of_a_number_is_true_with_the_digits_that_are_written(function: Function, count: int) -> None:
    made = record(function, copies(values(count)), {})
    write = ArithmeticWriter(4, "q", ["k"], 0, 0)
    result = np.asarray(made.result.value, float)
    for flat in (0, result.size - 1):
        known = Known(names=made.names)
        lines = recorded_lines(write, made.result, np.array([flat]), result.ravel()[flat], known=known)
        assert lines
        for line in lines:
            if " = " in line and not any(sign in line for sign in "⌊<>≥≤≠"):
                check_line(line, 4)


REFUSED: Mapping[str, tuple[Function, str]] = {
    "float": (lambda x: x * float(x[0, 0]), "taking a number out of its array can't be followed"),
    "vectorize": (lambda x: np.vectorize(abs)(x) + 1, "copying numbers out of an array"),
    "asarray": (lambda x: np.asarray(x) * 2, "copying numbers out of an array, as np.asarray"),
    "write into zeros": (lambda x: np.copyto(np.zeros(x.shape), x), "begin with np.zeros_like"),
    "unknown": (lambda x: np.fft.fft(x) + 1, "can't be followed"),
    "attribute": (lambda x: x.tolist(), "the attribute .tolist of an array can't be followed"),
}


@pytest.mark.parametrize(("function", "message"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_followed_is_refused_with_its_line(function: Function, message: str) -> None:
    with pytest.raises(NotRecordedError, match=message) as refused:
        record(function, values(1), {})
    assert "lambda x:" in str(refused.value.where)


def weighted_median(x: Any, y: Any) -> Any:
    order = np.argsort(y[0])
    middle = (x[0][order].cumsum() >= x[0].sum() / 2).argmax()
    return y[0][order[middle]]


def test_a_gradient_of_what_only_jumps_is_refused_and_not_0() -> None:
    given = {"x": np.ones((1, 4)), "y": np.arange(4.0)[None]}
    made = record(weighted_median, given, {})
    grad = Recorded(argument("grad", np.ones(())), [])
    by_value = gradient(made.result, made.arguments["y"], grad)
    assert by_value is not None
    np.testing.assert_array_equal(by_value.value, [[0, 1, 0, 0]])
    with pytest.raises(NotRecordedError, match=r"it jumps when np\.argmax changes"):
        gradient(made.result, made.arguments["x"], grad)


def test_a_branch_on_numbers_is_named_by_its_line() -> None:
    def capped(x: Any) -> Any:
        if x.max() > 1:
            x = x / x.max()
        return x

    made = record(capped, {"x": np.array([1.0, 2.0])}, {})
    assert [line.partition(": ")[2] for line in made.branches] == ["if x.max() > 1:"]
