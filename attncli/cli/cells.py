"""The cells that `--cell` names: a query and a key each, by label or position, or `*` for every one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attncli.base.errors import AttnError
from attncli.problem.labels import find_label

if TYPE_CHECKING:
    from attncli.problem.spec import ProblemSpec
    from attncli.render.view import Cell

EVERY = "*"


def parse_cells(texts: Sequence[str], problem: "ProblemSpec") -> "tuple[Cell, ...]":
    """The cells that `word_1,word_3`, `word_1,*` and `*` name, each once.

    Raises AttnError where a text names no cell, or a label that several tokens have.
    """
    return tuple(dict.fromkeys(_parse_cell(text, problem) for text in texts))


def _parse_cell(text: str, problem: "ProblemSpec") -> "Cell":
    """The cell that one text names."""
    from attncli.render.view import Cell

    if text.strip() == EVERY:
        return Cell()
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        hint = f"expected QUERY,KEY, such as word_1,word_3, 'word_1,{EVERY}' for a row, or '{EVERY}' for all"
        raise AttnError(f"{text!r} is no cell", where="--cell", hint=hint)
    query, key = parts
    return Cell(_find_one(query, problem.selected_query_labels), _find_one(key, problem.key_labels))


def _find_one(label: str, labels: tuple[str, ...]) -> int | None:
    """The one position of a label, None for every one; raises AttnError where several tokens have it."""
    if label == EVERY:
        return None
    found = find_label(label, labels, where="--cell")
    if len(found) > 1:
        hint = f"say which one: {label}#1 is the first"
        raise AttnError(f"{label!r} stands {len(found)} times", where="--cell", hint=hint)
    return found[0]
