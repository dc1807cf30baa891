"""Problems for tests, made as Python makes them."""

import copy
from typing import Any

from attncli.io.assemble import assemble
from attncli.io.origin import Origin, RawValue
from attncli.problem.spec import ProblemSpec


def problem(**keys: Any) -> ProblemSpec:
    """The problem that these keys describe: arrays, lists, names of operators."""
    return assemble({name: RawValue(copy.copy(value), Origin()) for name, value in keys.items()})
