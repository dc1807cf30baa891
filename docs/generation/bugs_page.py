"""The page of bugs: bugs of public projects, what names them, and how many each tolerance lets pass."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attncli.checks.bugs import DRAWN, SEED, Bug, bugs
from attncli.checks.slips.records import text_of

from .markdown import table

PAGE = "bugs.md"

HEAD = """# Bugs that `attn check` names

Generated from `attncli/checks/bugs.yaml`. These are {count} bugs in the attention of public projects, as their issues
and pull requests tell them; most are fixed. Each is a test: a kernel with the bug, written by hand without this
program's code (`tests/checks/bugs/kernels.py`), reads the inputs of the last column. From its output alone `attn
check` names the slip, and finds its number to 1 %.

An array has its shape here, and its numbers in the file. `query`, `key` and `value`, or what else is `normal`, are
drawn with seed {seed}: `token_count` rows of `d_k` numbers.
"""

TOLERANCES = """
## How many of them a tolerance lets pass

The same kernels and inputs in half precision: inputs and outputs are float16, or float32 where the inputs say so, and
what is between is exact. So many of the {count} wrong outputs pass a test with the tolerance. These inputs are small:
over many keys an output is an average, errors are smaller, and more pass. `python -m tests.checks.bugs.tolerances`
counts them.
"""


def generate() -> str:
    """The page as Markdown."""
    # The kernels are tests, which need the folder of the project on the path.
    from tests.checks.bugs.tolerances import passed  # noqa: PLC0415

    found = bugs()
    rows = [(f"[{bug.source}]({bug.url})", bug.sentence, _slip(bug), f"`{_inputs(bug)}`") for bug in found.values()]
    counts = [(name, str(len(let_through))) for name, let_through in passed().items()]
    parts = [HEAD.format(count=len(found), seed=SEED), table(("source", "what was wrong", "named", "inputs"), rows)]
    return "\n".join([*parts, TOLERANCES.format(count=len(found)), table(("tolerance", "pass"), counts), ""])


def _slip(bug: Bug) -> str:
    """The slip, and the number that is found."""
    numbers = (f"{name} {_number(value)}" for name, value in bug.parameters.items())
    return ", ".join([f"`{bug.slip}`", *numbers])


def _number(value: Any) -> str:
    return " ".join(map(text_of, value if isinstance(value, tuple) else (value,)))


def _inputs(bug: Bug) -> str:
    """The keys of the problem that say more than that three arrays are drawn."""
    default = {**dict.fromkeys(DRAWN, "normal"), "seed": SEED, "d_v": bug.problem.get("d_k")}
    given = {name: value for name, value in bug.problem.items() if value != default.get(name)}
    return ", ".join(f"{name}: {_text(value)}" for name, value in given.items())


def _text(value: Any) -> str:
    """A value in one line; a matrix by its shape."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_text(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list) and isinstance(value[0], list):
        return " × ".join(map(str, np.shape(value)))
    return f"[{', '.join(map(_text, value))}]" if isinstance(value, list) else _constant(value)


def _constant(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"
