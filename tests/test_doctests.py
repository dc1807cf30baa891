"""Every example in a docstring comes out as it is shown."""

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import attncli
from attncli.ops import registry

NAMES = [module.name for module in pkgutil.walk_packages(attncli.__path__, "attncli.")]
MODULES = ["attncli", *(name for name in NAMES if not name.endswith("__main__"))]


@pytest.fixture
def operators_of_examples_go() -> Iterator[None]:
    """What an example registers is gone after it."""
    before = {kind: dict(records) for kind, records in registry._RECORDS.items()}
    yield
    for kind, records in before.items():
        registry._RECORDS[kind].clear()
        registry._RECORDS[kind].update(records)


@pytest.mark.usefixtures("operators_of_examples_go")
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_come_out(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0
