"""Python sessions in documents (`pycon` blocks): the same with what each statement prints now."""

import ast
import doctest
import io
import re
from contextlib import chdir, redirect_stdout
from importlib.util import find_spec
from typing import Any

from .console_blocks import FENCE, new_folder

_IMPORT = re.compile(r"^(?:>>> )?(?:import|from) (\w+)", re.MULTILINE)


def with_outputs(text: str) -> str:
    """The document with what its statements print now, run one after the other in a new folder beside samples/.

    A block that imports a package which is not installed stays as it is.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    with new_folder() as folder, chdir(folder):
        return FENCE.sub(lambda match: _with_outputs(match, names), text)


def can_run(block: str) -> bool:
    """Whether every package that a block of Python imports is installed.

    >>> can_run("import json"), can_run(">>> from no_such_package import anything")
    (True, False)
    """
    return all(find_spec(package) for package in _IMPORT.findall(block))


def _with_outputs(match: re.Match[str], names: dict[str, Any]) -> str:
    """A block between fences; a session with what it prints now."""
    if match[1] != "pycon" or not can_run(match[2]):
        return match[0]
    statements = (example.source for example in doctest.DocTestParser().get_examples(match[2]))
    return "```pycon\n" + "".join(_with_prompt(source) + _printed(source, names) for source in statements) + "```"


def _with_prompt(statement: str) -> str:
    """A statement as it is typed; one with a body ends with an empty line."""
    (node,) = ast.parse(statement).body
    lines = [*statement.splitlines(), *([""] if hasattr(node, "body") else [])]
    prompts = [">>>", *["..."] * (len(lines) - 1)]
    return "".join(f"{prompt} {line}".rstrip() + "\n" for prompt, line in zip(prompts, lines, strict=True))


def _printed(statement: str, names: dict[str, Any]) -> str:
    """What a statement prints, or what its value shows."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(statement, "<document>", "single"), names)
    return printed.getvalue()
