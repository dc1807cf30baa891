"""The keywords of problems in attncli/api/arguments.py: the type of each key by its kind, for type checkers."""

from pathlib import Path

import attncli.api
from attncli.problem.fields import Field
from attncli.problem.spec import FIELDS

PAGE = Path(attncli.api.__file__).parent / "arguments.py"
BEGIN, END = '    """The keys of a problem without `query`, `key` and `value`."""\n\n', "\n\n\nclass ProblemKeys("
VECTORS = ("query", "key", "value")  # which `attention` takes by their positions

# The type of each kind; a kind that is not here is one of operators, whose type is OperatorChoice.
TYPES = {
    **dict.fromkeys(("matrix", "vocabulary", "positions", "booleans", "page_numbers"), "Matrix"),
    **dict.fromkeys(("vector", "counts", "sequence_bounds"), "Vector"),
    "boolean_matrix": "Matrix | OperatorChoice",
    "text": "str | None",
    "flag": "bool | None",
    "integer": "Integer",
    "number": "Number",
    "window": "Window",
    "labels": "Labels",
    "tokenizer": "Any",
}


def generate() -> str:
    """The file with a line for each key."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    rows = [f"    {name}: {_type(field)}" for name, field in FIELDS.items() if name not in VECTORS]
    return "".join([before, BEGIN, "\n".join(rows), END, rest.partition(END)[2]])


def _type(field: Field) -> str:
    """The type of a key's value."""
    if field.kind != "word":
        return TYPES.get(field.kind, "OperatorChoice")
    words = ", ".join(f'"{word}"' for word in field.words)
    other = "Any" if field.name == "dtype" else "None"  # a type may be one of NumPy's or PyTorch's
    return f"Literal[{words}] | {other}"
