"""Variants of a problem: the combinations of the values of its varied keys, each a problem of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from attncli.problem.spec import ProblemSpec


@dataclass(frozen=True)
class Variant:
    """A problem, with a name by which it is told from the others.

    `keys` has what was varied, as text by key, in the order of the command line; `file` where there are several, `as`
    for a convention and `set` for changed cells are among them. `remarks` are what the reader of the variant should
    know, such as keys that a convention does not have.
    """

    name: str
    keys: Mapping[str, str]
    problem: ProblemSpec
    remarks: tuple[str, ...] = ()
