"""The table of operators, what the modules of the package register, and when these are imported."""

import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest

import attncli.ops
from attncli.ops import kinds, operators
from attncli.ops.catalogue import MODULES

LOOK_UP = """
import sys
from attncli.ops import look_up
look_up("position", "alibi")
print(*(name for name in sys.modules if name.endswith(("rope", "scores", "grid_positions", "position_biases"))))
"""


@pytest.mark.parametrize("kind", kinds())
def test_the_table_has_every_operator_of_the_package_and_its_module(kind: str) -> None:
    for module in iter_modules(attncli.ops.__path__, "attncli.ops."):
        import_module(module.name)
    listed = [(name, module) for module, names in MODULES[kind].items() for name in names.split()]
    records = [record for record in operators(kind).values() if record.is_built_in]
    assert [(record.name, record.function.__module__) for record in records] == listed, (
        "attncli/ops/catalogue.py lists the names of each module in the order in which it registers them"
    )


def test_a_module_is_imported_when_one_of_its_operators_is_looked_up() -> None:
    ran = subprocess.run([sys.executable, "-c", LOOK_UP], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["attncli.ops.position_biases"]
