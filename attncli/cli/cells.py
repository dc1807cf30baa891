"""The cells that `--cell` names: a query and a key each, by label or position, or `*` for every one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attncli.problem.spec import ProblemSpec
    from attncli.render.view import Cell


def parse_cells(texts: Sequence[str], problem: "ProblemSpec") -> "tuple[Cell, ...]":
    """The cells that `word_1,word_3`, `word_1,*` and `*` name, each once.

    Raises AttnError where a text names no cell, or a label that several tokens have.
    """
    from attncli.render.view import parse_cell

    return tuple(dict.fromkeys(parse_cell(text, problem, "--cell") for text in texts))
