"""Every example in a docstring comes out as it is shown."""

import doctest
import importlib
from pathlib import Path

import pytest

import attncli

ROOT = Path(attncli.__file__).parent
FILES = [path for path in sorted(ROOT.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
NAMES = [".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in FILES]


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize("name", [name.removesuffix(".__init__") for name in NAMES])
def test_the_examples_of_a_module_come_out(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    tests = [test for test in doctest.DocTestFinder().find(importlib.import_module(name)) if test.examples]
    assert tests
    for test in tests:
        assert runner.run(test).failed == 0, test.name
