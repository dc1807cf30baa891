"""Gradients in blocks are those of the dense engine, for blocks and tiles of any size and any number of workers."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.engine import backward
from attncli.engine.options import THREADS, BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.engine.threads import ThreadsExecutor
from attncli.ops import operators
from attncli.plan.build import plan_of
from attncli.plan.graph import GRADIENT
from attncli.plan.trace import RunResult
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.plan.test_gradients import has_derivative, with_operator
from tests.problems import PROBLEMS, M, problem

CLOSE = {"float32": 1e-5, "bfloat16": 4e-2, "float16": 4e-3}
OF_OPERATORS = {
    f"{kind} {name}": with_operator(kind, name, heads=False)
    for kind in ("score", "normalize", "context", "position")
    for name, record in operators(kind).items()
    if has_derivative(record)
}
GIVEN = {
    "query": normal(2, 6, 40, 8),
    "key": normal(2, 6, 50, 8),
    "value": normal(2, 6, 50, 3),
    "grad_output": normal(2, 6, 40, 3),
}


def with_gradient(keys: dict[str, Any]) -> ProblemSpec | None:
    """A problem with the gradient of its output; None where it has no output, or no derivative."""
    try:
        spec = problem(**{**keys, "grad_output": [[1.0]]})
        shape = plan_of(spec)["output"].shape
    except AttnError:
        return None
    return replace(spec, grad_output=normal(*shape))


SPECS = {
    name: spec for name, keys in {**PROBLEMS, **OF_OPERATORS}.items() if (spec := with_gradient(dict(keys))) is not None
}


def in_blocks(spec: ProblemSpec, select: tuple[str, ...], size: int, executor: str = "serial") -> RunResult:
    """Gradients in blocks of so many queries, and tiles of so many keys."""
    sizes = BlockSizes(0, size, size, 4 * size * size, size, size * M, alone_multiplications=0)
    return run(spec, select, options=RunOptions(executor, sizes=sizes))


def assert_close(found: RunResult, expected: RunResult, dtype: str | None) -> None:
    for name in expected.select:
        own, whole = found.trace[name].value, expected.trace[name].value
        close = CLOSE.get(dtype or "", 1e-11)
        largest = float(np.abs(whole[np.isfinite(whole)]).max(initial=1))  # sums of such numbers may cancel
        np.testing.assert_allclose(own.astype(float), whole.astype(float), rtol=close, atol=close * largest)
        assert (own.shape, own.dtype) == (whole.shape, whole.dtype), name


@pytest.mark.parametrize("name", SPECS)
def test_gradients_in_blocks_are_the_dense_gradients(name: str) -> None:
    spec = SPECS[name]
    select = plan_of(spec).gradients_of_given
    assert_close(in_blocks(spec, select, 3), run(spec, select, every_step=True), spec.dtype)


@pytest.mark.parametrize("name", [name for name in SPECS if name in PROBLEMS])
def test_every_step_of_the_backward_pass_in_blocks_is_the_dense_step(name: str) -> None:
    spec = SPECS[name]
    select = tuple(node.name for node in plan_of(spec).nodes if node.stage == GRADIENT)
    assert_close(in_blocks(spec, select, 2), run(spec, select, every_step=True), spec.dtype)


@pytest.mark.parametrize(
    ("keys", "is_tiled"),
    [
        ({}, True),
        ({"normalize": "softmax1", "sink": [1.0, 2, 3, 4, 5, 6], "mask": {"window": {"left": 5, "right": 9}}}, True),
        ({"softcap": 2.0, "mask": "causal", "position": "alibi"}, True),
        ({"normalize": {"softmax": {"temperature": 2.0}}, "bias": normal(1, 50)}, True),
        ({"key": normal(2, 2, 50, 8), "value": normal(2, 2, 50, 3), "scale": 0.3}, True),
        ({"score": "gaussian"}, True),
        ({"normalize": "sparsemax"}, False),
        ({"key": np.where(np.arange(50)[:, None] == 7, np.nan, GIVEN["key"])}, False),
        ({"context": "max"}, False),
        ({"mask": "causal", "empty_rows": "uniform"}, False),
        ({"dtype": "float16"}, False),
    ],
    ids=lambda value: ", ".join(value) or "softmax" if isinstance(value, dict) else "",
)
def test_softmax_is_differentiated_in_tiles_and_the_rest_in_whole_rows(
    keys: dict[str, Any], *, is_tiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, found = problem(**{**GIVEN, **keys}), list[bool]()
    make_task: Callable[..., backward.BackwardTask] = backward.make_task

    def noted(*arguments: Any) -> backward.BackwardTask:
        task = make_task(*arguments)
        found.append(task.exponentials is not None)
        return task

    monkeypatch.setattr(backward, "make_task", noted)
    select = plan_of(spec).gradients_of_given
    assert_close(in_blocks(spec, select, 7), run(spec, select, every_step=True), spec.dtype)
    assert found == [is_tiled]


@pytest.mark.parametrize("keys", [{}, {"mask": "causal"}, {"normalize": "sparsemax"}], ids=str)
@pytest.mark.parametrize("heads", [1, 6])
def test_any_number_of_workers_gives_the_same_gradients_to_the_last_bit(
    keys: dict[str, Any], heads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = problem(**{name: x[:1, :heads] for name, x in GIVEN.items()}, **keys)
    select = ("grad_query", "grad_key", "grad_value")
    serial = in_blocks(spec, select, 5)
    for cores in (2, 5):
        with ThreadsExecutor(cores, limits_blas=False) as pool:
            monkeypatch.setattr(backward, "threads_of", lambda _options, pool=pool: pool)
            threaded = in_blocks(spec, select, 5, THREADS)
        for name in select:
            np.testing.assert_array_equal(threaded.trace[name].value, serial.trace[name].value)


def test_one_gradient_alone_computes_no_other_and_no_table() -> None:
    found = in_blocks(problem(**GIVEN), ("grad_key",), 5)
    assert "grad_key" in found.trace
    assert not {"weights", "grad_scores", "grad_query", "grad_value"} & {step.name for step in found.trace.steps}


def test_a_gradient_of_the_output_side_needs_no_block() -> None:
    spec = problem(embeddings=normal(9, 4), w_o=normal(4, 4), grad_output=normal(9, 4))
    select = ("grad_w_o", "weights")
    assert_close(in_blocks(spec, select, 2), run(spec, select, every_step=True), None)


def test_a_gradient_that_is_not_finite_is_reported() -> None:
    value = GIVEN["value"].copy()
    value[1, 2, 0] = np.inf
    found = in_blocks(problem(**{**GIVEN, "value": value}), ("grad_query",), 5)
    assert any("grad_query" in note for note in found.trace.notes)


def test_progress_ends_with_every_block_of_both_passes() -> None:
    calls = list[tuple[int, int]]()
    options = RunOptions(progress=lambda *call: calls.append(call), sizes=BlockSizes(0, 5, 5, 100, 5, 100))
    run(problem(**GIVEN), ("grad_query",), options=options)
    assert calls[-1][0] == calls[-1][1]


def test_gradients_of_many_tokens_keep_no_table() -> None:
    spec = problem(**{name: normal(600, 8) for name in ("query", "key", "value", "grad_output")})
    names = {step.name for step in run(spec, ("grad_query", "grad_key")).trace.steps}
    assert {"grad_query", "grad_key"} < names
    assert not names & {"weights", "scores", "grad_weights", "grad_scores"}


def task_of(numbers_per_pair: int, keys: int, *, in_tiles: bool) -> Any:
    """What the sizes of blocks depend on."""
    lengths = SimpleNamespace(keys=keys)
    exponentials = object() if in_tiles else None
    return SimpleNamespace(
        exponentials=exponentials, numbers_per_pair=numbers_per_pair, plan=SimpleNamespace(lengths=lengths)
    )


@pytest.mark.parametrize("numbers", [1, 2, 5])
@pytest.mark.parametrize("cells", [1, 7, 1000, 2**18])
def test_a_tile_has_the_tables_that_fit_and_is_square_unless_it_has_all_rows(cells: int, numbers: int) -> None:
    task, sizes = task_of(numbers, 1000, in_tiles=True), BlockSizes(tile_cells=cells, masked_rows=128)
    rows, keys = backward._rows(task, sizes), backward._tile_keys(task, sizes)
    used = rows * keys * numbers * backward.TABLES_OF_TILE
    if cells < numbers * backward.TABLES_OF_TILE:
        assert (rows, keys) == (1, 1)
    else:
        assert cells / 2 < used <= cells
        assert rows == 128 or rows <= keys <= 3 * rows


@pytest.mark.parametrize(("numbers", "cells", "rows"), [(1, 10_000, 10), (3, 10_000, 3), (1, 999, 1), (1, 1999, 1)])
def test_a_block_of_whole_rows_has_as_many_as_fit(numbers: int, cells: int, rows: int) -> None:
    assert backward._rows(task_of(numbers, 1000, in_tiles=False), BlockSizes(row_cells=cells)) == rows
