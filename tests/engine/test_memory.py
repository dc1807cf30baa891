"""The memory that a run needs is known before the work, and one that can't fit is refused."""

import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli.base.memory
import attncli.engine.run
from attncli.base.errors import AttnError
from attncli.engine import memory
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.plan.build import plan_of
from tests.arrays import normal
from tests.problems import problem

TOKENS = normal(600, 64)
KEY_GROUPS = {"query": normal(2, 300, 64), "key": normal(2, 300, 32), "heads": 4, "kv_heads": 2}
FEW_TOKENS = normal(300, 64)
SMALL_BLOCKS = BlockSizes(dense_cells=0, rows=16, tile_cells=2**12, row_cells=2**12, masked_rows=16)

NEEDS = {
    "tables": ({"embeddings": FEW_TOKENS}, ("scores", "weights", "output"), False),
    "one table": ({"embeddings": FEW_TOKENS, "causal": True}, ("weights",), False),
    "every step": ({"embeddings": FEW_TOKENS}, ("output",), True),
    "every step of heads": (KEY_GROUPS, ("output",), True),
    "every step in float32": ({"embeddings": FEW_TOKENS.astype(np.float32)}, ("output",), True),
    "tables in float16": ({"embeddings": FEW_TOKENS.astype(np.float16)}, ("scores", "weights"), False),
    "heads in blocks": (KEY_GROUPS, ("scores", "output"), False),
    "a mask": ({"embeddings": FEW_TOKENS, "causal": True, "bias": normal(300, 300)}, ("masked_scores",), True),
    "projections in parts": (
        {
            "embeddings": np.float32(normal(10_000, 64)),
            "query_embeddings": np.float32(normal(2, 64)),
            **dict.fromkeys(("w_q", "w_k", "w_v"), np.float32(normal(64, 64))),
        },
        ("output",),
        False,
    ),
    "gradients of heads in blocks": (
        {**KEY_GROUPS, "grad_output": [[1.0]]},
        ("grad_query", "grad_key"),
        False,
    ),
    "long vectors": ({"embeddings": normal(40, 20_000), "dtype": "float32"}, ("output",), False),
}
Available = Callable[[int | None], None]


def check_need(keys: Mapping[str, Any], select: tuple[str, ...], every_step: bool) -> tuple[int, int]:
    """The need of a run as it was estimated, and the most memory that it took."""
    spec = problem(**keys)
    plan = plan_of(spec)
    options = RunOptions("serial", sizes=SMALL_BLOCKS)
    need = memory.memory_need(spec, plan, select, options, is_dense=every_step)
    run(problem(**keys), ("output",), every_step=every_step, options=options)  # what is imported late is loaded
    tracemalloc.start()
    run(spec, select, every_step=every_step, options=options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return need.total, peak


@pytest.mark.parametrize(("keys", "select", "every_step"), NEEDS.values(), ids=NEEDS)
def test_the_need_is_at_most_what_a_run_takes_and_not_far_below(
    keys: Mapping[str, Any], select: tuple[str, ...], every_step: bool
) -> None:
    need, peak = check_need(keys, select, every_step)
    assert 0.55 * peak <= need <= 1.02 * peak


@pytest.fixture
def available(monkeypatch: pytest.MonkeyPatch) -> Available:
    """A function that sets how much memory is free, where even small runs ask for it."""

    def set_available(size: int | None) -> None:
        monkeypatch.setattr(attncli.base.memory, "ALWAYS_FITS", 0)
        monkeypatch.setattr(attncli.engine.run, "ALWAYS_FITS", 0)
        monkeypatch.setattr(attncli.base.memory, "available_memory", lambda: size)

    return set_available


TABLE = 600 * 600 * 8


def test_a_run_that_can_not_fit_is_refused_with_its_sizes_and_a_smaller_one(available: Available) -> None:
    available(int(1.9 * TABLE))  # each table passes alone, their sum does not
    with pytest.raises(AttnError) as caught:
        run(problem(embeddings=TOKENS), ("scores", "weights"), options=RunOptions(sizes=SMALL_BLOCKS))
    assert str(caught.value) == (
        "the run needs 5.8 MB of memory and 5.5 MB are free (scores 2.9 MB, weights 2.9 MB); "
        "select only output, without every step (307.2 kB), or compute some of the queries with only"
    )
    assert run(problem(embeddings=TOKENS), ("scores",), options=RunOptions(sizes=SMALL_BLOCKS)).scores.nbytes == TABLE


def test_where_the_output_does_not_fit_either_only_is_proposed(available: Available) -> None:
    available(1000)
    with pytest.raises(AttnError, match="compute some of the queries with only, or give fewer or shorter vectors"):
        run(problem(embeddings=TOKENS))


def test_what_the_caller_needs_counts(available: Available) -> None:
    available(int(2.9 * TABLE))
    options = RunOptions(sizes=SMALL_BLOCKS, caller_bytes=TABLE)
    assert run(problem(embeddings=TOKENS), ("scores",), options=options).scores.nbytes == TABLE
    with pytest.raises(AttnError, match=r"weights 2\.9 MB, .*writing them 2\.9 MB"):
        run(problem(embeddings=TOKENS), ("scores", "weights"), options=options)


def test_a_table_that_is_allocated_in_a_file_needs_no_memory(available: Available, tmp_path: Path) -> None:
    available(TABLE)

    def in_file(_name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.memmap(tmp_path / "scores", dtype, "w+", shape=shape)

    options = RunOptions(allocate=in_file, sizes=SMALL_BLOCKS)
    assert run(problem(embeddings=TOKENS), ("scores",), options=options).scores.nbytes == TABLE


def test_where_the_system_does_not_tell_its_memory_nothing_is_refused(available: Available) -> None:
    available(None)
    assert run(problem(embeddings=TOKENS)).scores.nbytes == TABLE
