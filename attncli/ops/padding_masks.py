"""Padding masks: which keys of each batch item are real, by their number or one by one."""

from typing import Any

from attncli.base.lazy_numpy import Array
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.decorators import mask
from attncli.ops.masks import bounds_of_table, verdict
from attncli.ops.rules import KeyBounds, MaskSign


def key_lengths_key_bounds(key_positions: Array, key_lengths: Array) -> KeyBounds:
    """Keys up to the longest item are visible to some query, keys up to the shortest one to all."""
    return KeyBounds(any_visible=(0, key_lengths.max()), all_visible=(0, key_lengths.min()))


def key_lengths_by_hand(write: ArithmeticWriter, key_positions: Array, key_lengths: Array, result: Any) -> list[str]:
    """The comparison of the index of one key with the number of real keys."""
    sign = "<" if result else "≥"
    return [f"key {key_positions} {sign} {key_lengths} real keys: {verdict(result)}"]


@mask(
    formula="visible where j < length",
    shapes="key_positions[m], key_lengths[b] -> [b n m]",
    source="ONNX operator Attention, opset 25, nonpad_kv_seqlen",
    example={
        "key_positions": [0, 1, 2],
        "key_lengths": [1, 3],
        "gives": [[[True, False, False]], [[True, True, True]]],
    },
    key_bounds=key_lengths_key_bounds,
    by_hand=key_lengths_by_hand,
    sign=MaskSign("░", "padding", precedence=1),
)
def key_lengths(key_positions: Array, key_lengths: Array) -> Array:
    """Keys beyond the length of their batch item are padding.

    Parameters
    ----------
    key_positions : array [m]
        The index of each key.
    key_lengths : array [b] or [b h]
        How many keys of each batch item are real.

    Returns
    -------
    array of bool [b 1 m] or [b h 1 m]

    Examples
    --------
    >>> import numpy as np
    >>> key_lengths(np.arange(3), np.array([1, 3]))
    array([[[ True, False, False]],
    <BLANKLINE>
           [[ True,  True,  True]]])
    """
    return key_positions < key_lengths[..., None, None]


def key_mask_key_bounds(key_mask: Array) -> KeyBounds:
    """The keys from the first that is real in some item to the last, and those that are real in all of them."""
    return bounds_of_table(key_mask[..., None, :])


def key_mask_by_hand(write: ArithmeticWriter, key_mask: Array, result: Any) -> list[str]:
    """The value of the key mask for one key."""
    return [f"the key mask of {write.key} is {int(result)}: {verdict(result)}"]


@mask(
    formula="visible where the key mask is 1",
    shapes="key_mask[b m] -> [b n m]",
    source="transformers, attention_mask of a tokenizer; MultiheadAttention of PyTorch, key_padding_mask, inverted",
    example={"key_mask": [[0, 1], [1, 1]], "gives": [[[False, True]], [[True, True]]]},
    key_bounds=key_mask_key_bounds,
    by_hand=key_mask_by_hand,
    sign=MaskSign("░", "padding (key_mask)", precedence=1),
)
def key_mask(key_mask: Array) -> Array:
    """Keys whose mask is 0 are padding, on whichever side, for every query.

    Parameters
    ----------
    key_mask : array [m], [b m] or [b h m]
        1 or true for a real key, 0 or false for padding.

    Returns
    -------
    array of bool [… 1 m]

    Examples
    --------
    >>> import numpy as np
    >>> key_mask(np.array([[0, 1, 1], [1, 1, 0]]))
    array([[[False,  True,  True]],
    <BLANKLINE>
           [[ True,  True, False]]])
    """
    return key_mask.astype(bool, copy=False)[..., None, :]
