"""Layouts: the axes before queries and keys, and the order of axes in given arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attncli.base.axes import Letters
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.base.text import count_of
from attncli.problem.fields import TABLES, VALUE_SOURCES, Field, given_table
from attncli.problem.numbers import to_integer

# Orders of the axes of queries, keys and values, by the letters of batch items, heads, tokens and features; attn's own
# is the first. Without an axis of heads, heads are side by side in the features. With typical frameworks.
ARRAY_LAYOUTS: Mapping[str, str] = {
    "bhnd": "PyTorch's scaled_dot_product_attention, ONNX, MLX; read so without layout",
    "bnhd": "FlashAttention, JAX, xFormers, Keras",
    "nbhd": "Megatron, whose sbhd it is",
    "hnd": "one batch item",
    "nhd": "packed sequences: FlashAttention's varlen functions, FlashInfer",
    "bnd": "heads side by side in the features; read so without layout",
    "nbd": "torch.nn.MultiheadAttention without batch_first",
}
# The same orders with other letters for tokens, such as Transformer Engine's bshd, sbhd and thd.
LAYOUTS_ELSEWHERE = {layout.replace("n", letter): layout for layout in ARRAY_LAYOUTS for letter in "st"}
INDEX_SCORES = "index_scores"  # of three axes the first is batch items, as in an indexer
OWN_LAYOUTS = ("bhnd", "bnd")
LAID_OUT = ("query", "key", "value", "past_key", "past_value")  # arrays with an order of axes
PAGED = ("key", "value")  # pages, if there is a page table
_AXES = {"b": "batch", "n": "tokens", "h": "heads", "d": "features"}
SEQUENCES = ("query", "key", "value", "residual", "embeddings", "query_embeddings")

ALL = "all"  # all positions of an axis


@dataclass(frozen=True)
class Layout:
    """The axes before queries [n d] and keys [m c].

    `batch` is the number of batch items (None without a batch axis), `heads` and `kv_heads` are the numbers of query
    heads and of key heads. With `has_input_head_axis` the inputs are [b h n d]; otherwise heads are side by side, [b n
    h·d].
    """

    batch: int | None
    heads: int
    kv_heads: int
    has_input_head_axis: bool
    new_key_letter: str  # of given or projected keys: m, or k if others are cached

    @property
    def has_heads(self) -> bool:
        """Whether scores have a head axis."""
        return self.has_input_head_axis or self.heads > 1

    @property
    def splits_heads(self) -> bool:
        """Whether the inputs' features must be split into heads."""
        return self.has_heads and not self.has_input_head_axis

    @property
    def batch_axes(self) -> Letters:
        """The axes of batch items: ("b",), or () without a batch axis."""
        return () if self.batch is None else ("b",)

    @property
    def score_axes(self) -> Letters:
        """The axes before scores [… n m]."""
        return (*self.batch_axes, "h") if self.has_heads else self.batch_axes

    def with_kv_heads(self, letters: Letters) -> Letters:
        """The same axes for keys and values: key heads (g) instead of query heads (h) if they are fewer."""
        return tuple("g" if letter == "h" and self.kv_heads < self.heads else letter for letter in letters)

    def letters(self, field: Field, count: int) -> Letters:
        """The letters of a key's array with `count` axes.

        >>> Layout(2, 4, 1, False, "k").letters(Field("past_key", "matrix", "", "", "", axes="[b h] p c"), 4)
        ('b', 'g', 'p', 'c')
        """
        own = field.letters
        if field.name in TABLES:
            return (*self.score_axes, *own)
        if own == ("n", "m"):  # a mask or a bias: heads before queries, batch items before heads
            is_item_first = not self.has_heads or field.name == INDEX_SCORES
            are_of_items = count == 3 and is_item_first and self.batch is not None
            return ("b", "n", "m") if are_of_items else ("b", "h", "n", "m")[-count:]
        if field.trailing and field.leading:  # for each token of each head, or each of its features
            return (*self.score_axes, *own, *field.trailing)[: max(count, len(self.score_axes) + 1)][-count:]
        if field.trailing:
            return (*own, *field.trailing)[:count]
        if not field.leading:
            return (self.new_key_letter, *own[1:]) if field.is_row_table else own[-count:]
        is_with_heads = self.has_input_head_axis or count > len(self.batch_axes) + len(own)
        leading = (*self.batch_axes, "h") if "h" in field.leading and is_with_heads else self.batch_axes
        rows = self.new_key_letter if own[0] == "m" else own[0]
        return (*(leading if rows == "n" else self.with_kv_heads(leading)), rows, *own[1:])


def layout_text(layout: str) -> str:
    """An order of axes in words.

    >>> layout_text("nhd")
    '(tokens, heads, features)'
    """
    return f"({', '.join(_AXES[letter] for letter in layout)})"


def in_own_order(array: Array, layout: str) -> Array:
    """An array with its axes in attn's order, [b h n d] or [b n h·d]: a batch of one if it has no batch axis.

    >>> import numpy as np
    >>> in_own_order(np.zeros((2, 5, 3)), "nhd").shape, in_own_order(np.zeros((2, 5, 3)), "nbd").shape
    ((1, 5, 2, 3), (5, 2, 3))
    """
    own = OWN_LAYOUTS["h" not in layout]
    turned = array.transpose([layout.index(letter) for letter in own if letter in layout])
    return turned if "b" in layout else turned[None]


def as_given(array: Array, layout: str | None) -> Array:
    """An array in the order of axes of a layout, the inverse of `in_own_order`.

    >>> import numpy as np
    >>> as_given(np.zeros((1, 5, 2, 3)), "nhd").shape, as_given(np.zeros((5, 2, 3)), None).shape
    ((2, 5, 3), (5, 2, 3))
    """
    if layout is None:
        return array
    own = OWN_LAYOUTS["h" not in layout]
    array, own = (array, own) if "b" in layout else (array[0], own[1:])
    return array.transpose([own.index(letter) for letter in layout])


def laid_out(values: Mapping[str, Any]) -> list[str]:
    """The names of a problem's arrays that have an order of axes; pages do not."""
    paged = PAGED if values.get("page_table") is not None else ()
    return [name for name in LAID_OUT if getattr(values.get(name), "ndim", 0) and name not in paged]


def read_layout(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a problem with queries, keys and values in attn's order of axes, from the key `layout`.

    Raises AttnError if an array does not have as many axes as the layout.
    """
    read: dict[str, Any] = dict(values)
    layout: str = read.get("layout") or ""
    for name in laid_out(values) if layout else ():
        count = values[name].ndim
        if count != len(layout):
            message = f"layout {layout} has {len(layout)} axes; {name} has {count}"
            fitting = [other for other in ARRAY_LAYOUTS if len(other) == count]
            hint = f"of {count} axes are {', '.join(fitting)}" if fitting else None
            raise AttnError(message, where="layout", hint=hint, keys=("layout", name))
        if layout not in OWN_LAYOUTS:
            read[name] = in_own_order(values[name], layout)
    gradient, is_projected = read.get("grad_output"), any(read.get(name) is not None for name in ("w_o", "b_o"))
    if layout and not is_projected and gradient is not None and gradient.ndim == len(layout):
        read["grad_output"] = in_own_order(gradient, layout)  # of an output with an axis of heads, like queries
    return read


def other_layouts(values: Mapping[str, Any]) -> list[str]:
    """The orders of axes, other than attn's, that are possible for the numbers of axes of queries, keys and values.

    Orders for one batch item are only for packed sequences; otherwise the first axis is the batch.
    """
    counts, is_packed = {values[name].ndim for name in laid_out(values)}, values.get("cu_seqlens") is not None
    others = [name for name in ARRAY_LAYOUTS if name not in OWN_LAYOUTS and ("b" in name or is_packed)]
    return [name for name in others if {len(name)} == counts]


def layout_of(values: Mapping[str, Any]) -> Layout:
    """The layout that the shapes of the inputs and the numbers of heads imply.

    The inputs must all be [n d], all [b n h·d] or all [b h n d]; given scores or weights must be [n m], [b n m] ([h n
    m] if `heads` is more than 1) or [b h n m]. Raises AttnError if they are not, or if `heads` and `kv_heads`
    contradict them.
    """
    table = given_table(values)
    if table is not None:
        return _layout_of_table(values, table)
    arrays = {name: array for name in SEQUENCES if (array := values[name]) is not None}
    (first, array), *others = arrays.items()
    for name, other in others:
        if other.ndim != array.ndim:
            raise AttnError(f"{name} has {count_of(other.ndim, 'axis')}; {first} has {array.ndim}", where=name)
    has_input_head_axis = array.ndim == 4
    heads = values["heads"] or 1
    kv_heads = values["kv_heads"] or heads
    if has_input_head_axis:
        heads = _heads_of_array(values, "heads", "query")
        kv_heads = _heads_of_array(values, "kv_heads", "key")
    _check_kv_heads(values, heads, kv_heads, "key")
    batch = array.shape[0] if array.ndim > 2 else None
    return Layout(batch, heads, kv_heads, has_input_head_axis, _new_key_letter(values))


def _new_key_letter(values: Mapping[str, Any]) -> str:
    """The letter of given or projected keys."""
    return "m" if values["past_value"] is None else "k"


def _check_kv_heads(values: Mapping[str, Any], heads: int, kv_heads: int, owner: str) -> None:
    """Raise AttnError if query heads can't share an array's key heads, or `kv_heads`, evenly."""
    if heads % kv_heads:
        raise AttnError(
            f"{heads} query head{'s' if heads > 1 else ''} can't share {kv_heads} key heads evenly",
            where="kv_heads" if values["kv_heads"] else owner,
            hint=f"choose a divisor of {heads}" if heads > 1 else "give heads, the number of query heads",
        )


def table_axes(table: Array, heads: int | None) -> Letters:
    """The axes of given scores or weights; the first of three is heads if there are several.

    >>> import numpy as np
    >>> table_axes(np.zeros((2, 3, 4)), None), table_axes(np.zeros((2, 3, 4)), 2)
    (('b', 'n', 'm'), ('h', 'n', 'm'))
    """
    if table.ndim == 3 and (heads or 1) == 1:
        return ("b", "n", "m")
    return ("b", "h", "n", "m")[-table.ndim :]


def _layout_of_table(values: Mapping[str, Any], name: str) -> Layout:
    """The layout that the axes of given scores or weights imply, and of values if any."""
    table, axes = values[name], table_axes(values[name], values["heads"])
    source = next((key for key in VALUE_SOURCES if values[key] is not None), None)
    array = table if source is None else values[source]
    has_batch = "b" in axes if source is None else array.ndim > 2
    has_input_head_axis = array.ndim == 4
    count = int(table.shape[axes.index("h")]) if "h" in axes else None
    heads = values["heads"] or count or 1
    if count not in (None, heads):
        raise AttnError(f"heads is {heads}; {name} has {count_of(count, 'head')} in [{' '.join(axes)}]", where="heads")
    letters = {"b": has_batch, "h": heads > 1 or has_input_head_axis, "n": True, "m": True}
    expected = tuple(letter for letter, is_there in letters.items() if is_there)
    if axes != expected:
        owner = f"; {source} has {array.ndim}" if source is not None else ""
        owner += f"; heads is {heads}" if values["heads"] else ""
        hint = f"expected [{' '.join(expected)}]"
        hint += "; give heads if the first axis is heads" if axes[0] == "b" and not has_batch else ""
        raise AttnError(f"has {count_of(table.ndim, 'axis')}{owner}", where=name, hint=hint)
    kv_heads = values["kv_heads"] or heads
    if has_input_head_axis and source is not None:
        kv_heads = _heads_of_array(values, "kv_heads", source)
    if source is not None and count is not None and values["kv_heads"] is None and heads % kv_heads:
        message = f"has {count_of(heads, 'head')}, which can't share the {kv_heads} of {source} evenly"
        raise AttnError(message, where=name, hint=f"expected a multiple of {kv_heads}", keys=(name, source))
    _check_kv_heads(values, heads, kv_heads, source or name)
    return Layout(table.shape[0] if has_batch else None, heads, kv_heads, has_input_head_axis, _new_key_letter(values))


def _heads_of_array(values: Mapping[str, Any], name: str, owner: str) -> int:
    """The number of heads of an array [b h n d], at least one; a given number must agree."""
    count = int(values[owner].shape[1])
    if count == 0:
        raise AttnError("has no numbers", where=owner)
    given = values[name]
    if given is not None and given != count:
        raise AttnError(f"{name} is {given}; {owner} has {count_of(count, 'head')} on its second axis", where=name)
    return count


def find_positions(layout: Layout, chosen: Mapping[str, Any]) -> tuple[dict[str, int], frozenset[str]]:
    """The chosen position on each axis of the scores, by letter, and the letters of axes with all chosen.

    `chosen` has the values of `head` and `batch`, as keys or options. Raises AttnError if there is no such head or
    batch item.
    """
    positions, expanded = dict[str, int](), set[str]()
    for name, position in chosen.items():
        letter, noun, count = ("h", "head", layout.heads) if "head" in name else ("b", "batch item", layout.batch or 1)
        if position == ALL:
            expanded.add(letter)
        elif position is not None:
            positions[letter] = _position(position, name, noun, count)
    return {letter: at for letter, at in positions.items() if letter in layout.score_axes}, frozenset(expanded)


def _position(position: Any, name: str, noun: str, count: int) -> int:
    """The position of one of so many heads or batch items; raises AttnError if it does not exist."""
    is_option = name.startswith("--")
    hint = f"expected 0 to {count - 1}, or {ALL if is_option else repr(ALL)}"
    if is_option and not position.isdecimal():
        raise AttnError(f"{position!r} is not a position", where=name, hint=hint)
    at = int(position) if is_option else to_integer(position, (name,), 0)
    if at >= count:
        only = f"there is only {noun} 0" if count == 1 else ""
        raise AttnError(only or f"there is no {noun} {at}", where=name, hint=None if only else hint)
    return at
