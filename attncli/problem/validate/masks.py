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
    if spec.key_mask is not None:
        _check_key_mask(spec.key_mask, lengths)


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
            message = f"{name} has {size} {LEGEND[letter]} ({letter}); {owner}"
            raise AttnError(message, where=name, hint=_hint_for_table(name, table.shape, layout, lengths))


def _hint_for_table(name: str, shape: tuple[int, ...], layout: Layout, lengths: Lengths) -> str | None:
    """What to write where the shape of a mask or a bias fits when its first axis is that of batch items."""
    batch, rows = layout.batch, (lengths["n"].size, 1)
    if batch is None or shape[0] != batch:
        return None
    if len(shape) == 2 and shape[1] <= lengths["m"].size:
        return "for padding in the shape [batch, keys] give key_mask, 1 for a real key"
    if len(shape) == 3 and layout.has_heads and shape[1] in rows:
        return f"{name} is [heads, queries, keys]; for batch items write [batch, 1, queries, keys]"
    return None


def _check_key_lengths(key_lengths: Array, lengths: Lengths) -> None:
    """One length for each batch item, none greater than the number of keys."""
    batch = {"b": lengths["b"]} if "b" in lengths else {}
    if not batch and key_lengths.shape != (1,):
        raise AttnError("there are no batch items", where="key_lengths", hint="give one length")
    bind_axes(batch, "key_lengths", ("b",), key_lengths.shape)
    max_length = int(np.max(key_lengths))
    if max_length > lengths["m"].size:
        raise AttnError(f"{max_length} is more than there are keys; {lengths['m'].owner}", where="key_lengths")


def _check_key_mask(key_mask: Array, lengths: Lengths) -> None:
    """One row for each batch item, with a column for each key; one row without an axis where there is one item."""
    items, keys = lengths.get("b"), lengths["m"]
    count = items.size if items is not None else 1
    rows = 1 if key_mask.ndim == 1 else key_mask.shape[0]
    if rows != count:
        owner = items.owner if items is not None else "there are no batch items"
        noun = "row" if rows == 1 else "rows"
        raise AttnError(f"key_mask has {rows} {noun} (b); {owner}", where="key_mask")
    columns = key_mask.shape[-1]
    if columns != keys.size:
        noun = "column" if columns == 1 else "columns"
        is_of_new_keys = "p" in lengths and columns == lengths["k"].size
        hint = "put 1 before them for each cached key" if is_of_new_keys else None
        raise AttnError(f"key_mask has {columns} {noun} (m); {keys.owner}", where="key_mask", hint=hint)
