"""Fixtures for all tests, which copy of attncli they test, and how many examples Hypothesis draws."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import attncli
from attncli.ops import registry
from attncli.problem.spec import ProblemSpec
from tests.problems import PROBLEMS, problem

TESTED = Path(attncli.__file__).parents[1]

settings.register_profile("attn", max_examples=25, deadline=None)  # a busy machine is not an error
settings.load_profile("attn")


def pytest_configure() -> None:
    """The processes that tests start import the same copy of attncli as the tests do."""
    os.environ.pop("PYTHONUNBUFFERED", None)  # of some shells: what processes print is kept without it too
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(TESTED), os.environ.get("PYTHONPATH"))))


def pytest_report_header() -> str:
    """Which copy is tested: that of the checkout, although another one may be installed."""
    return f"attncli {attncli.__version__} of {TESTED}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Tests with peers are not even imported where they are not asked for."""
    return True if collection_path.name == "peers" and "not peer" in config.option.markexpr else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that only root can run are deselected for others, as no test of .ci/run may be skipped."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("root")])
    items[:] = [item for item in items if not item.get_closest_marker("root")]


@pytest.fixture(params=PROBLEMS, ids=lambda name: name.replace(" ", "_"))
def spec(request: pytest.FixtureRequest) -> ProblemSpec:
    """One of the problems of `tests.problems`."""
    return problem(**PROBLEMS[request.param])


@pytest.fixture
def restored_registry() -> Iterator[None]:
    """Operators that a test registers are removed after it."""
    before = {kind: set(operators) for kind, operators in registry._OPERATORS.items()}
    yield
    for kind, operators in registry._OPERATORS.items():
        for name in set(operators) - before[kind]:
            del operators[name]
