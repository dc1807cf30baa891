"""What scripts rely on stays: docs/stability.md says for how long."""

import json
from pathlib import Path

import pytest

from tests.cli.running import run_in_process
from tests.stable_names import FILE, names_of_today, required_in_python

STABLE = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def today() -> dict[str, set[str]]:
    return dict(names_of_today())


@pytest.mark.parametrize("group", STABLE)
def test_no_name_that_scripts_rely_on_has_gone(group: str, today: dict[str, set[str]]) -> None:
    assert [name for name in STABLE[group] if name not in today[group]] == []


def test_every_group_of_names_is_held() -> None:
    assert set(STABLE) == set(names_of_today())
    assert all(STABLE.values())


def test_no_call_of_a_public_function_needs_more_than_before() -> None:
    stable = set(STABLE["Python"])
    for name, parameters in required_in_python().items():
        known = {parameter for parameter in parameters if f"{name}({parameter})" in stable}
        assert parameters == known or name not in stable, f"{name} needs {parameters - known}"


def test_a_result_that_the_first_version_wrote_is_computed_again() -> None:
    written = Path(__file__).with_name("stable_result.json")  # attn compute samples/tutorial.yaml --causal --json
    before = json.loads(written.read_text(encoding="utf-8"))
    ran = run_in_process("compute", written.name, "--json", folder=written.parent)
    assert ran.stderr == ""
    now = json.loads(ran.stdout)
    assert set(before) <= set(now)
    for name in ("scores", "weights", "output"):
        for row, row_before in zip(now[name], before[name], strict=True):
            assert row == pytest.approx(row_before, rel=1e-12)
