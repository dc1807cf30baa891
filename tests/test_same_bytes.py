"""What is written does not depend on the machine, on hash seeds, on the locale, nor on the order of keys in a file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attncli.io import examples, yaml
from tests.cli.running import run_in_process
from tests.problems import write_file

ROOT = Path(__file__).parents[1]
ONE_CORE = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
ENVIRONMENTS = {
    "another hash seed": {"PYTHONHASHSEED": "20261"},
    "no hash seed": {"PYTHONHASHSEED": "0"},
    "the locale C": {"LC_ALL": "C"},
    "the locale C in UTF-8": {"LC_ALL": "C.UTF-8"},
    "a locale whose i has no dot": {"LC_ALL": "tr_TR.UTF-8"},
    "a locale with decimal commas": {"LC_ALL": "de_DE.UTF-8"},
    "no UTF-8 mode": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "several threads of OpenMP": {"OMP_NUM_THREADS": "4"},
    "another time zone": {"TZ": "Asia/Kolkata"},
}


def digests(before: str = "", **variables: str) -> dict[str, str]:
    """The digests of every run in a process of its own, in which some code runs before."""
    program = f"{before}\nimport sys; from tests.same_bytes import main; sys.exit(main([]))"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(ran.stdout)
    return found


@pytest.fixture(scope="module")
def usual() -> dict[str, str]:
    return digests()


@pytest.mark.deep
@pytest.mark.parametrize("variables", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_the_bytes_are_those_of_any_environment(usual: dict[str, str], variables: dict[str, str]) -> None:
    assert digests(**variables) == usual


@pytest.mark.deep
def test_the_bytes_are_those_of_one_core(usual: dict[str, str]) -> None:
    assert digests(ONE_CORE) == usual


def example_without_parts() -> list[str]:
    """The worked examples that are one problem."""
    return [name for name in examples.names() if "parts" not in yaml.read(examples.text(name), name)[0]]


@pytest.mark.parametrize("name", example_without_parts())
def test_the_order_of_keys_changes_nothing(name: str, tmp_path: Path) -> None:
    document, _ = yaml.read(examples.text(name), name)
    outputs = []
    for keys in (document, dict(reversed(document.items())), dict(sorted(document.items()))):
        write_file(tmp_path, json.dumps(keys), "p.json")
        outputs.append(run_in_process("compute", "p.json", "--explain", "--json", folder=tmp_path).stdout)
    assert outputs[0]
    assert outputs[1:] == outputs[:1] * 2
