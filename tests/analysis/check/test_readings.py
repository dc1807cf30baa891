"""Shapes that mean the same as that of a step are read as its axes, and it is said."""

from collections.abc import Callable

import numpy as np
import pytest

from attncli.analysis.check.check import check
from attncli.analysis.check.report import CheckOptions
from attncli.base.errors import AttnError
from attncli.plan.trace import Trace
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.problems import dense_trace, problem

B, H, N, M, D = 2, 3, 5, 7, 4
FLAT = problem(query=normal(N, D), key=normal(M, D))
HEAD_AXIS = problem(query=normal(B, H, N, D), key=normal(B, H, M, D))
SIDE_BY_SIDE = problem(query=normal(B, N, H * D), key=normal(B, M, H * D), heads=H)
ONE_ITEM = problem(query=normal(1, N, H * D), key=normal(1, M, H * D), heads=H)
GROUPS = problem(query=normal(B, N, 6 * D), key=normal(B, M, 2 * D), heads=6, kv_heads=2)


def swap(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(-2, -3)


def merged(x: np.ndarray) -> np.ndarray:
    return swap(x).reshape(*x.shape[:-3], x.shape[-2], -1)


def split(x: np.ndarray, heads: int = H) -> np.ndarray:
    return swap(x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads))


CASES = {
    "a batch axis too many": (FLAT, "output", lambda x: x[None]),
    "batch and head axes too many": (FLAT, "weights", lambda x: x[None, None]),
    "a batch axis missing": (ONE_ITEM, "output", lambda x: x[0]),
    "heads side by side": (HEAD_AXIS, "output", merged),
    "queries before heads": (HEAD_AXIS, "output", swap),
    "heads on an axis": (SIDE_BY_SIDE, "output", split),
    "heads after queries": (SIDE_BY_SIDE, "output", lambda x: swap(split(x))),
    "one item, heads on an axis": (ONE_ITEM, "output", lambda x: split(x)[0]),
    "projected keys, heads on an axis": (SIDE_BY_SIDE, "key", split),
    "keys of key heads": (GROUPS, "key", lambda x: split(x, 2)),
    "queries of query heads": (GROUPS, "query", lambda x: split(x, 6)),
    "the context of heads side by side": (SIDE_BY_SIDE, "context", merged),
}


@pytest.mark.parametrize(("spec", "name", "change"), CASES.values(), ids=CASES)
def test_a_shape_that_means_the_same_is_matched(
    spec: ProblemSpec, name: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    trace: Trace = dense_trace(spec)
    given = change(trace[name].value)
    report = check(spec, {name: given})
    assert report.agrees
    assert report.results[0].remarks
    wrong = given.copy()
    wrong.reshape(-1)[-1] += 1
    assert not check(spec, {name: wrong}, CheckOptions(tries_slips=False)).agrees


def test_what_was_matched_is_said() -> None:
    output = dense_trace(HEAD_AXIS)["output"].value
    assert check(HEAD_AXIS, {"output": output}).results[0].remarks == ()
    assert check(HEAD_AXIS, {"output": merged(output)}).results[0].remarks == (
        "2 × 5 × 12 numbers are read as [b n h·e] of [b h n e]",
    )
    assert check(FLAT, {"output": dense_trace(FLAT)["output"].value[None]}).results[0].remarks == (
        "1 × 5 × 4 numbers are read as 5 × 4 [n e]",
    )


@pytest.mark.parametrize("shape", [(N, D + 1), (D, N), (2, N, D), (N * D,)])
def test_any_other_shape_is_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(AttnError, match="numbers are expected and 5 × 4 computed"):
        check(FLAT, {"output": normal(*shape)})


def test_heads_of_an_output_that_was_projected_are_not_split() -> None:
    spec = problem(query=normal(N, H * D), key=normal(M, H * D), heads=H, w_o=normal(H * D, H * D))
    with pytest.raises(AttnError):
        check(spec, {"output": normal(H, N, D)})
