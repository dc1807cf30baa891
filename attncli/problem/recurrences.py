"""The arrays of a recurrence: their axes, and checks against the tokens and the heads."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attncli.base.axes import LEGEND, Letters
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.problem.inputs import STATE_ARRAYS
from attncli.problem.lengths import Lengths
from attncli.problem.spec import FIELDS, ProblemSpec

# Keys that skip tokens, or separate sequences: a state that continued would change the result.
LEAVE_TOKENS_OUT = {
    **dict.fromkeys(("key_lengths", "key_mask"), "give sequences without padding, one problem for each length"),
    "cu_seqlens": "give one problem for each sequence",
}


def heads_before_tokens(name: str, array: Array, values: Mapping[str, Any]) -> Array:
    """`decay` or `beta`, given with tokens before heads like queries, in attn's order: [b g n d] or [b g n].

    In ONNX's operator heads are side by side, [b n g·d] or [b n g]; with layout bnhd they may have an axis, [b n g d].
    They are key heads; a single head has no axis if queries have none. For other axes of queries, or heads first, the
    array stays. Raises AttnError if the last axis does not match the heads.

    >>> import numpy as np
    >>> values = {"query": np.zeros((2, 5, 12)), "heads": 4, "kv_heads": 2}
    >>> heads_before_tokens("decay", np.zeros((2, 5, 6)), values).shape
    (2, 2, 5, 3)
    """
    layout = _layout_with_tokens_first(values)
    if array.ndim not in (3, len(layout)):
        return array
    if array.ndim == len("bnhd"):
        return array.swapaxes(1, 2)
    heads, kv_heads = _head_counts(values, layout)
    last = array.shape[-1]
    if heads == 1 and "h" not in layout:
        return array[..., 0] if last == 1 else array
    if name == "beta" and last == 1:
        array, last = np.repeat(array, kv_heads, axis=-1), kv_heads
    if last != kv_heads and (name == "beta" or last % kv_heads):
        hint = f"expected {kv_heads}" + (" or 1" if name == "beta" else f", or so many of each of the {kv_heads}")
        raise AttnError(
            f"has {count_of(last, 'number')} of each token; there are {kv_heads} key heads", where=name, hint=hint
        )
    apart = array.reshape(*array.shape[:-1], kv_heads, last // kv_heads).swapaxes(1, 2)
    return apart[..., 0] if last == kv_heads else apart


def check_has_one_order(values: Mapping[str, Any]) -> None:
    """Raise AttnError if `decay` or `beta` fits both with heads before tokens and after, with different results.

    This happens if queries have heads after tokens, and there are as many tokens as heads.
    """
    layout = _layout_with_tokens_first(values)
    for name in ("decay", "beta"):
        array = values.get(name)
        if not layout or not isinstance(array, np.ndarray) or array.ndim not in (3, len(layout)):
            continue
        heads, kv_heads = _head_counts(values, layout)
        tokens = values["query"].shape[1]
        fits_own = array.shape[1] in (heads, kv_heads) and array.shape[2] in (1, tokens)
        fits_other = array.shape[1] == tokens and array.shape[2] in (kv_heads, 1 if name == "beta" else kv_heads)
        if heads > 1 and fits_own and fits_other:
            other = heads_before_tokens(name, array, values)
            if not (array == other).all():
                message = f"fits as (batch, heads, tokens) and as (batch, tokens, heads): there are {tokens} of both"
                hint = "--as attn reads the first, --as onnx the second"
                raise AttnError(message, where=name, hint=hint, keys=(name, "query"))


def _layout_with_tokens_first(values: Mapping[str, Any]) -> str:
    """The order of axes of queries if tokens come before heads; otherwise empty."""
    count = getattr(values.get("query"), "ndim", 0)
    layout = values.get("layout") or {3: "bnd"}.get(count, "")
    return layout if layout in ("bnd", "bnhd") and len(layout) == count else ""


def _head_counts(values: Mapping[str, Any], layout: str) -> tuple[int, int]:
    """The numbers of query heads and key heads in this order of axes."""
    if "h" in layout:
        key = values.get("key")
        return values["query"].shape[2], values["query" if getattr(key, "ndim", 0) != len(layout) else "key"].shape[2]
    heads = int(values.get("heads") or 1)
    return heads, int(values.get("kv_heads") or heads)


def shape_state_arrays(spec: ProblemSpec, lengths: Lengths) -> ProblemSpec:
    """The problem with a row of `decay` or `beta` as [n], if there are no axes before the tokens.

    A row with as many numbers as tokens has one for each, even if keys have as many features.
    """
    arrays = {name: array for name in ("decay", "beta") if (array := getattr(spec, name)) is not None}
    rows: dict[str, Any] = {name: array[0] for name, array in arrays.items() if array.shape == (1, lengths["n"].size)}
    return replace(spec, **rows) if rows and not spec.leading.score_axes else spec


def state_array_letters(spec: ProblemSpec, name: str) -> Letters | None:
    """The letters of the axes of `decay`, `beta` or `past_state`; None if it has too few or too many axes.

    The heads are key heads (g) if their number matches, and is below the number of query heads. `decay` has the
    problem's axes [b h n], or one more for the key features; [h n] is the same for all batch items, and a length of 1
    is one number for all tokens.
    """
    field, shape = FIELDS[name], getattr(spec, name).shape
    leading, own = spec.leading.score_axes, field.letters
    before = len(shape) - len(leading)
    if before == len(own) + len(field.trailing):
        own = (*own, *field.trailing)
    elif name == "past_state" and len(shape) == len(own):
        leading = ()
    elif leading == ("b", "h") and len(shape) == 2:  # per head, the same for all batch items
        leading = ("h",)
    elif before != len(own):
        return None
    layout = spec.leading
    if "h" in leading and shape[leading.index("h")] == layout.kv_heads < layout.heads:
        leading = layout.with_kv_heads(leading)
    return (*leading, *own)


def check_recurrence(spec: ProblemSpec, lengths: Lengths) -> None:
    """Raise AttnError unless each query has one key, all tokens are read, and the arrays match."""
    recurrence = spec.recurrence
    assert recurrence is not None
    for name, hint in LEAVE_TOKENS_OUT.items():
        if getattr(spec, name) is not None:
            raise AttnError(f"every token of recurrence {recurrence.record.name} is read", where=name, hint=hint)
    if lengths["n"].size != lengths["m"].size:
        message = f"{lengths['m'].owner}; {lengths['n'].owner}"
        raise AttnError(message, where="recurrence", hint=f"each token of {recurrence.record.name} has both")
    for name in STATE_ARRAYS:
        if getattr(spec, name) is not None and name in recurrence.record.shapes.arrays:
            _check_array(spec, name, lengths)


def _check_array(spec: ProblemSpec, name: str, lengths: Lengths) -> None:
    """Each axis of an array must match the problem, or have length 1."""
    shape, letters = getattr(spec, name).shape, state_array_letters(spec, name)
    if letters is None:
        wanted = [(*spec.leading.score_axes, *FIELDS[name].letters)]
        wanted += [(*wanted[0], *FIELDS[name].trailing)] if FIELDS[name].trailing else []
        hint = f"expected {' or '.join(f'[{chr(32).join(axes)}]' for axes in wanted)}"
        raise AttnError(f"has {count_of(len(shape), 'axis')}", where=name, hint=hint)
    for letter, size in zip(letters, shape, strict=True):
        length = lengths[letter]
        if size != length.size and (size, letter) != (1, "n"):
            message = f"{name} has {size} {LEGEND[letter]} ({letter}); {length.owner}"
            is_other = len(shape) == 3 and spec.leading.splits_heads and shape[1] == lengths["n"].size
            note = "--as onnx reads (batch, tokens, heads · features)" if is_other and name != "past_state" else None
            raise AttnError(message, where=name, hint=note, keys=(name, length.key))
