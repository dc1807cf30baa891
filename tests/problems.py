"""Problems for tests, made as Python makes them."""

from typing import Any

import attncli
from attncli.problem.spec import ProblemSpec


def problem(**keys: Any) -> ProblemSpec:
    """The data of a problem with these keys."""
    return attncli.Problem(**keys).spec
