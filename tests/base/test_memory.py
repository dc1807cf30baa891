"""Available memory is what the system grants this process, the smallest limit deciding."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.base import memory

GIGABYTE = 10**9
SAMPLES = Path(__file__).parents[2] / "samples"
Groups = dict[str, tuple[int | str, int, int]]  # limit, use and what may be dropped, by the path of a group
SetMemory = Callable[..., None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SetMemory:
    """A function that sets what the system says: /proc/meminfo, and the limits and use of groups by their path."""
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_OWN_GROUP", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")

    def set_memory(meminfo: str, groups: Groups | None = None) -> None:
        (tmp_path / "meminfo").write_text(meminfo)
        (tmp_path / "cgroup").write_text("0::/jobs/job\n")
        for path, (limit, used, droppable) in (groups or {}).items():
            folder = tmp_path / "groups" / path
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "memory.max").write_text(f"{limit}\n")
            (folder / "memory.current").write_text(f"{used}\n")
            (folder / "memory.stat").write_text(f"anon 5\ninactive_file {droppable}\n")

    return set_memory


def test_free_memory_and_swap_are_available(machine: SetMemory) -> None:
    machine("MemTotal: 900 kB\nMemAvailable: 300 kB\nSwapFree: 50 kB\n")
    assert memory.available_memory() == 350 * 1024


@pytest.mark.parametrize("group", [".", "jobs", "jobs/job"])
def test_the_limit_of_a_group_of_processes_holds_where_it_is_smaller(machine: SetMemory, group: str) -> None:
    machine("MemAvailable: 300 kB\n", {group: (200_000, 160_000, 10_000), "other": (1, 1, 0)})
    assert memory.available_memory() == 50_000


def test_a_group_without_a_limit_leaves_all_memory(machine: SetMemory) -> None:
    machine("MemAvailable: 300 kB\n", {"jobs/job": ("max", 160_000, 0)})
    assert memory.available_memory() == 300 * 1024


def test_where_free_memory_is_not_known_all_memory_is_available(machine: SetMemory) -> None:
    machine("MemTotal: 900 kB\n")
    assert memory.available_memory() > GIGABYTE


def test_a_limit_of_the_address_space_holds() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9));"
        "from attncli.base.memory import available_memory; print(available_memory())"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 0 < int(shown) < GIGABYTE


@pytest.mark.parametrize("limit", ["-v 20000", "-v 80000", "-v 100000", "-v 150000", "-d 40000", "-d 100000"])
@pytest.mark.parametrize(
    "words",
    [
        "compute --embeddings 1;2",
        "compute --token-count 700 --dim 64 --seed 1 -o x.npz",
        f"check {SAMPLES / 'scaled_dot.yaml'}",
        f"try {SAMPLES / 'tiles.py'}:attention",
    ],
    ids=lambda words: words.split()[0],
)
def test_little_address_space_is_an_error_and_no_number_that_differs(limit: str, words: str, tmp_path: Path) -> None:
    command = f"ulimit {limit} && exec {sys.executable} -m attncli {words.replace(';', chr(92) + ';')}"
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    if ran.returncode == 2:
        assert (ran.stdout, list(tmp_path.iterdir())) == ("", [])
        assert ran.stderr.count("\n") == 1
        assert "memory" in ran.stderr
    else:  # it was enough
        assert (ran.returncode, ran.stderr) == (1 if words.startswith("try") else 0, "")


def test_with_enough_address_space_a_verdict_has_its_status(tmp_path: Path) -> None:
    command = f"ulimit -v 300000 && exec {sys.executable} -m attncli check {SAMPLES / 'answer.yaml'} --quiet"
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "explained by no_scale" in ran.stdout
