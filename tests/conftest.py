"""Fixtures for all tests, and the profiles of Hypothesis: that of every test, and that for the quick ones."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from attncli.ops import registry
from attncli.problem.spec import ProblemSpec
from tests.problems import PROBLEMS, problem

settings.register_profile("default", deadline=None)  # a busy machine is no error
settings.register_profile("quick", max_examples=25, deadline=None)


@pytest.fixture(params=PROBLEMS, ids=lambda name: name.replace(" ", "_"))
def spec(request: pytest.FixtureRequest) -> ProblemSpec:
    """One of the problems of `tests.problems`."""
    return problem(**PROBLEMS[request.param])


@pytest.fixture
def restored_registry() -> Iterator[None]:
    """Operators that a test registers are removed after it."""
    before = {kind: dict(records) for kind, records in registry._RECORDS.items()}
    yield
    for kind, records in before.items():
        registry._RECORDS[kind].clear()
        registry._RECORDS[kind].update(records)


def pytest_configure(config: pytest.Config) -> None:
    """Without the slow tests, Hypothesis draws fewer examples where a test sets no number of its own."""
    if "not slow" in config.option.markexpr:
        settings.load_profile("quick")
