"""Masks, biases and lengths fit the table of scores, each axis aligned on the right."""

from typing import TYPE_CHECKING

from attncli.base.axes import LEGEND, Letters, bind
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.problem.layout import Layout
from attncli.problem.validate.lengths import Lengths

if TYPE_CHECKING:
    from attncli.problem.spec import Problem


def check_masks(problem: "Problem", layout: Layout, lengths: Lengths) -> None:
    """Raise AttnError where a mask can't be laid over the scores, or a length says more keys than there are."""
    for name in ("mask", "bias"):
        array = getattr(problem, name)
        if array is not None:
            _table(name, array.shape, layout, lengths)
    if problem.key_lengths is not None:
        _key_lengths(problem, lengths)
    if problem.window is not None and problem.window[0] < 0 and problem.window[1] < 0:
        raise AttnError("both sides are less than no key", where="window", hint="expected LEFT,RIGHT, such as 2,0")


def table_letters(layout: Layout, count: int) -> Letters:
    """The letters of a mask of so many axes: heads before queries, batch items before heads.

    Where there is no axis of heads, three axes are batch items, queries and keys.
    """
    if count == 3 and not layout.has_heads and layout.batch is not None:
        return ("b", "n", "m")
    return ("b", "h", "n", "m")[-count:]


def _table(name: str, shape: tuple[int, ...], layout: Layout, lengths: Lengths) -> None:
    """Every axis is 1 or as long as that of the scores; the last one may be too short."""
    for letter, size in zip(table_letters(layout, len(shape)), shape, strict=True):
        known = lengths.get(letter)
        wanted = known.size if known is not None else 1
        fits = 0 < size <= wanted if letter == "m" else size in (1, wanted)
        if not fits:
            said = known.owner if known is not None else f"there is one {LEGEND[letter][:-1]}"
            raise AttnError(f"{name} has {size} {LEGEND[letter]} ({letter}); {said}", where=name)


def _key_lengths(problem: "Problem", lengths: Lengths) -> None:
    """One length for each batch item, none longer than there are keys."""
    assert problem.key_lengths is not None
    batch = {"b": lengths["b"]} if "b" in lengths else {}
    if not batch and problem.key_lengths.shape != (1,):
        raise AttnError("there are no batch items", where="key_lengths", hint="give one length")
    bind(batch, "key_lengths", ("b",), problem.key_lengths.shape)
    longest = int(np.max(problem.key_lengths))
    if longest > lengths["m"].size:
        raise AttnError(f"{longest} is more than there are keys; {lengths['m'].owner}", where="key_lengths")
