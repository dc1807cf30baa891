"""Checks that masks, biases and key lengths broadcast to the scores [b h n m]."""

from attncli.base.axes import LEGEND, Letters, bind_axes
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.records import Operator
from attncli.problem.layout import Layout
from attncli.problem.spec import ProblemSpec
from attncli.problem.validate.lengths import Lengths


def check_masks(spec: ProblemSpec, lengths: Lengths) -> None:
    """Raise AttnError where a mask or a bias does not broadcast to the scores, or a length exceeds the keys."""
    if spec.mask is not None and not isinstance(spec.mask, Operator):
        _check_table("mask", spec.mask, spec.layout, lengths)
    if spec.bias is not None:
        _check_table("bias", spec.bias, spec.layout, lengths)
    if spec.key_lengths is not None:
        _check_key_lengths(spec.key_lengths, lengths)


def table_letters(layout: Layout, count: int) -> Letters:
    """The letters of a mask or a bias with so many axes: heads before queries, batch items before heads.

    Where scores have no head axis, three axes are batch items, queries and keys.
    """
    if count == 3 and not layout.has_heads and layout.batch is not None:
        return ("b", "n", "m")
    return ("b", "h", "n", "m")[-count:]


def _check_table(name: str, table: Array, layout: Layout, lengths: Lengths) -> None:
    """Every axis has length 1 or that of the scores; the axis of keys may be shorter."""
    for letter, size in zip(table_letters(layout, table.ndim), table.shape, strict=True):
        length = lengths.get(letter)
        expected = length.size if length is not None else 1
        fits = 0 < size <= expected if letter == "m" else size in (1, expected)
        if not fits:
            owner = length.owner if length is not None else f"there is one {LEGEND[letter][:-1]}"
            raise AttnError(f"{name} has {size} {LEGEND[letter]} ({letter}); {owner}", where=name)


def _check_key_lengths(key_lengths: Array, lengths: Lengths) -> None:
    """One length for each batch item, none greater than the number of keys."""
    batch = {"b": lengths["b"]} if "b" in lengths else {}
    if not batch and key_lengths.shape != (1,):
        raise AttnError("there are no batch items", where="key_lengths", hint="give one length")
    bind_axes(batch, "key_lengths", ("b",), key_lengths.shape)
    max_length = int(np.max(key_lengths))
    if max_length > lengths["m"].size:
        raise AttnError(f"{max_length} is more than there are keys; {lengths['m'].owner}", where="key_lengths")
