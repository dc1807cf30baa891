"""The numbers that an exercise asks for, as `--blank` names them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from attncli.base.errors import AttnError
from attncli.problem.edits import split_index

OPTION = "--blank"
_COMMA = re.compile(r",(?![^\[]*\])")  # not inside the brackets of a cell
_CELLS = re.compile(r"\s*([^\[\]]+)\[(.*)\]\s*", re.DOTALL)
_FORM = "write a result, a share of the numbers such as 0.3, or cells: 'weights[word_2,*]'"


@dataclass(frozen=True)
class BlankRequest:
    """Numbers to fill in: whole results and steps, their cells, or a share of all computed numbers.

    Empty means the weights and everything computed from them.
    """

    names: tuple[str, ...] = ()
    cells: tuple[tuple[str, tuple[str, ...]], ...] = ()
    share: float | None = None
    seed: int = 0  # for the share


def parse_blanks(texts: Iterable[str], seed: int = 0) -> BlankRequest:
    """Parse texts such as `weights,output`, `0.3` and `weights[word_2,*]`; raises AttnError for others.

    >>> parse_blanks(["weights[word_2,*],output"])
    BlankRequest(names=('output',), cells=(('weights', ('word_2', '*')),), share=None, seed=0)
    """
    names, cells, shares = list[str](), list[tuple[str, tuple[str, ...]]](), list[float]()
    for part in (part.strip() for text in texts for part in _COMMA.split(text)):
        if not part:
            raise AttnError("a name is empty", where=OPTION, hint=_FORM)
        if match := _CELLS.fullmatch(part):
            cells.append((match[1].strip(), split_index(match[2], "write NAME[ROW,COLUMN]")))
        elif re.fullmatch(r"[-+.\d].*", part):
            shares.append(_share(part))
        else:
            names.append(part)
    if len(shares) > 1:
        raise AttnError("two shares of the numbers", where=OPTION, hint="give one")
    return BlankRequest(tuple(names), tuple(cells), next(iter(shares), None), seed)


def _share(text: str) -> float:
    """A share of the numbers, above 0 and at most 1."""
    try:
        share = float(text)
    except ValueError:
        raise AttnError(f"{text!r} is not a share", where=OPTION, hint=_FORM) from None
    if not 0 < share <= 1:
        raise AttnError(f"{text} is not a share", where=OPTION, hint="expected a number above 0, at most 1")
    return share
