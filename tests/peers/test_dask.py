"""Blocks on a real Dask cluster of two worker processes give the results of threads, also where a worker dies."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli import AttnError, Problem, attention
from attncli.engine import threads
from attncli.engine.options import RunOptions
from attncli.engine.run import run
from tests.problems import problem

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own sockets and loops

Q, K, V = (np.random.default_rng(seed).standard_normal((2, 1500, 16)) for seed in range(3))
INPUTS = {"query": Q, "key": K, "value": V}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes of one thread each."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as found:
        yield found


@pytest.fixture(scope="module")
def cluster_of_many_threads() -> Iterator[Any]:
    """Two worker processes whose BLAS has two threads each, as where workers are started without a nanny."""
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    threads = {"OPENBLAS_NUM_THREADS": 2, "OMP_NUM_THREADS": 2}
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": threads}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as found,
    ):
        yield found


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"causal": True, "heads": 2},
        {"normalize": "sparsemax", "score": "gaussian"},
        {"sink": 0.3, "window": (9, 9)},
    ],
    ids=["tiles", "causal heads", "rows", "a sink and a window"],
)
def test_a_cluster_computes_the_results_of_threads(cluster: Any, keys: dict[str, Any]) -> None:
    if "sink" in keys:
        keys = keys | {"sink": [0.3]}
    select = ("output", "weights") if "normalize" in keys else ("output", "lse")
    one = Problem(**INPUTS, **keys)
    here, there = one.compute(select), one.compute(select, executor=cluster.scheduler_address)
    for name in select:
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))


@pytest.mark.parametrize("name", ["output", "grad_query"])
def test_workers_that_were_given_more_threads_give_the_bytes_of_threads(
    cluster_of_many_threads: Any, name: str
) -> None:
    """Products of two threads have other last digits: here in rows of 1,777 weights and 200 columns."""
    draw = np.random.default_rng(0)
    query, key, value = (draw.standard_normal((1777, 200)).astype(np.float32) for _ in range(3))
    one = Problem(query=query, key=key, value=value, normalize="entmax:alpha=1.3", grad_output="ones")
    here, there = (one.compute((name,), executor=ex) for ex in ("threads", cluster_of_many_threads.scheduler_address))
    np.testing.assert_array_equal(getattr(there, name), getattr(here, name))


def test_projections_beside_a_cluster_are_those_of_threads(cluster: Any) -> None:
    draw = np.random.default_rng(0)
    given = {name: draw.standard_normal((333, 64)) / 18 for name in ("w_q", "w_k", "w_v")}
    one = Problem(embeddings=draw.standard_normal((1500, 333)), **given)
    here, there = (one.compute(("query", "output"), executor=name) for name in ("threads", cluster.scheduler_address))
    np.testing.assert_array_equal(there.query, here.query)
    np.testing.assert_array_equal(there.output, here.output)


def test_no_worker_holds_the_inputs_of_all_blocks_twice(cluster: Any) -> None:
    from distributed import Client

    held: list[int] = []

    def count_tasks(done: int, total: int) -> None:
        if done == total:  # a busy worker may get it with its first block only
            with Client(cluster.scheduler_address) as client:
                held.extend(sum(key.startswith("BlockTask") for key in keys) for keys in client.has_what().values())

    run(problem(**INPUTS), ("output",), options=RunOptions(cluster.scheduler_address, progress=count_tasks))
    assert max(held) == 1


def test_a_worker_that_dies_costs_its_block_and_not_the_answer(cluster: Any) -> None:
    from distributed import Client

    with Client(cluster.scheduler_address) as client:
        client.wait_for_workers(2)
        victim = next(iter(client.run(os.getpid).values()))
    done: list[int] = []

    def kill(so_far: int, _total: int) -> None:
        if not done:
            os.kill(victim, signal.SIGKILL)
        done.append(so_far)

    one = problem(**INPUTS, normalize="entmax:alpha=1.3")  # long enough to be in the middle of it
    options = RunOptions(cluster.scheduler_address, progress=kill)
    there = run(one, ("output",), options=options).output
    assert len(done) > 5
    np.testing.assert_array_equal(there, run(one, ("output",)).output)
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)


def test_the_command_uses_a_cluster(cluster: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", Q[0])
    words = "compute --query q.npy --key q.npy --select output -o o.npy --executor"
    command = [sys.executable, "-m", "attncli", *words.split(), cluster.scheduler_address]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), attention(Q[0], Q[0]).output)


def test_an_address_without_a_scheduler_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(threads, "TIMEOUT", 1)
    with pytest.raises(AttnError, match=r"executor tcp://127\.0\.0\.1:1: no scheduler answers"):
        Problem(**INPUTS).compute(("output",), executor="tcp://127.0.0.1:1")


def test_without_distributed_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(AttnError, match=r"needs the package distributed; install it: pip install 'attncli\[dask\]'"):
        Problem(**INPUTS).compute(("output",), executor="tcp://127.0.0.1:1")
