"""The cell that a user chooses: a query and a key, each by its label or position, or `*` for every one."""

from collections.abc import Sequence

from attncli.base.errors import AttnError
from attncli.problem.labels import EVERY, find_label
from attncli.problem.spec import ProblemSpec
from attncli.render.view import Cell


def parse_cell(text: str, problem: ProblemSpec, where: str) -> Cell:
    """The cell that `word_1,word_3`, `word_1,*` or `*` names.

    Raises AttnError at `where` if the text names no cell, or a label that several tokens have.
    """
    if text.strip() == EVERY:
        return Cell()
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        hint = f"expected QUERY,KEY, such as word_1,word_3, 'word_1,{EVERY}' for a row, or '{EVERY}' for all"
        raise AttnError(f"{text!r} is no cell", where=where, hint=hint)
    query, key = parts
    return find_cell(query, key, problem, where)


def find_cell(query: str, key: str, problem: ProblemSpec, where: str) -> Cell:
    """The cell of the label or position of a query, and that of a key.

    Raises AttnError at `where` if there is none, or if several tokens have the label.
    """
    return Cell(_find_one(query, problem.selected_query_labels, where), _find_one(key, problem.key_labels, where))


def _find_one(label: str, labels: Sequence[str], where: str) -> int | None:
    """The one position of a label, None for every one; raises AttnError where several tokens have it."""
    if label == EVERY:
        return None
    found = find_label(label, labels, where=where)
    if len(found) > 1:
        hint = f"say which one: {label}#1 is the first"
        raise AttnError(f"{label!r} stands {len(found)} times", where=where, hint=hint)
    return found[0]
