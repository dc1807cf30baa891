"""Available memory is what the system grants this process, the smallest limit deciding."""

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.base import memory

GIGABYTE = 10**9
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
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


@pytest.mark.parametrize("megabytes", [90, 130])
@pytest.mark.parametrize("words", ["compute --embeddings 1;2", "compute --token-count 700 --dim 64 --seed 1 -o x.npz"])
def test_little_address_space_is_an_error_and_no_number_that_differs(
    megabytes: int, words: str, tmp_path: Path
) -> None:
    command = f"ulimit -v {megabytes * 1024} && exec {sys.executable} -m attncli {words.replace(';', chr(92) + ';')}"
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 2)
    assert ran.stderr.count("\n") == (1 if ran.returncode else 0)
    assert "memory" in ran.stderr or ran.returncode == 0
