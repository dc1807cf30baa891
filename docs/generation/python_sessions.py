"""Python sessions in documents (`pycon` blocks): the same with what each statement prints now."""

import doctest
import io
import re
from contextlib import chdir, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^(?:>>> )?(?:import|from) (\w+)", re.MULTILINE)


class PythonSession:
    """The names that the statements of a document have made so far, and the folder in which they run."""

    def __init__(self, folder: Path) -> None:
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._folder = folder

    def with_outputs(self, block: str) -> str:
        """A block with what its statements print now; as it is where a package that it imports is not installed."""
        if not can_run(block):
            return block
        statements = [example.source for example in doctest.DocTestParser().get_examples(block)]
        with chdir(self._folder):
            return "".join(_with_prompt(statement) + self._printed(statement) for statement in statements)

    def _printed(self, statement: str) -> str:
        """What a statement prints, or what its value shows, without blanks at the ends of lines."""
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(statement, "<document>", "single"), self._names)
        return re.sub(r" +$", "", printed.getvalue(), flags=re.MULTILINE)


def can_run(block: str) -> bool:
    """Whether every package that a block of Python imports, or reads a checkpoint with, is installed.

    >>> can_run("import json"), can_run(">>> from no_such_package import anything")
    (True, False)
    """
    packages = [*_IMPORT.findall(block), *(["safetensors"] if "load_layer(" in block else [])]
    return all(find_spec(package) for package in packages)


def _with_prompt(statement: str) -> str:
    """A statement as it is typed, in the form of `ruff format`: no empty line ends one that has a body."""
    first, *others = statement.splitlines()
    return "".join(f"{line}\n" for line in (f">>> {first}", *(f"... {line}".rstrip() for line in others)))
