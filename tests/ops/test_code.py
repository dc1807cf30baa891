"""A law over the registry: the code of an operator gives what its example gives."""

import numpy as np
import pytest

from attncli.ops import operators
from attncli.ops.registry import kinds
from tests.ops.code_examples import result_of_code

OPERATORS = [(kind, name) for kind in kinds() if kind != "generator" for name in operators(kind)]


@pytest.mark.parametrize(("kind", "name"), OPERATORS)
def test_code_gives_what_the_example_gives(kind: str, name: str) -> None:
    record = operators(kind)[name]
    found = result_of_code(record, "numpy", np, np.asarray)
    if found is not None:  # otherwise it is refused by name
        assert found == pytest.approx(np.asarray(record.example["gives"]), abs=1e-9)
