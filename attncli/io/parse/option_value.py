"""The value of a key that is given as an option: what a problem file would hold in its place."""

from collections.abc import Sequence
from typing import Any

from attncli.base.errors import ErrorPath
from attncli.io.parse import grammar
from attncli.problem.fields import Field


def read_option(field: Field, value: Any, path: ErrorPath) -> Any:
    """The value of an option as a problem file would hold it; `path` is that of an error.

    The value is a text, of labels a list of texts, of a flag true or false.
    """
    if field.kind == "labels":
        return _read_labels(value)
    if field.kind in ("integer", "number"):
        number = grammar.inline(value, path)
        return value if number is None else number  # `--seed ''` is no number, and not the lack of one
    return value


def _read_labels(texts: Sequence[str]) -> list[str]:
    """The labels of an option that may be repeated, each time with several between commas."""
    return [label.strip() for text in texts for label in text.split(",")]
