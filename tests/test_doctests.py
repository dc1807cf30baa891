"""Every example in a docstring comes out as it is shown."""

import doctest
import importlib
import pkgutil

import pytest

import attncli

NAMES = [module.name for module in pkgutil.walk_packages(attncli.__path__, "attncli.")]
MODULES = ["attncli", *(name for name in NAMES if not name.endswith("__main__"))]


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_come_out(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0
