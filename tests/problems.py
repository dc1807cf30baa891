"""Problems for tests, made as Python makes them."""

import copy
from typing import Any

import attncli
from attncli.problem.spec import ProblemSpec


def problem(**keys: Any) -> ProblemSpec:
    """The data of a problem with these keys; it shares no array with the test."""
    return attncli.Problem(**{name: copy.copy(value) for name, value in keys.items()}).spec
