"""The arrays of a recurrence: which axes they have, and that these fit the tokens and the heads."""

from collections.abc import Mapping
from typing import Any

from attncli.base.axes import LEGEND, Letters
from attncli.base.errors import AttnError
from attncli.base.text import count_of
from attncli.problem.inputs import STATE_ARRAYS
from attncli.problem.layout import Layout
from attncli.problem.lengths import Lengths
from attncli.problem.spec import FIELDS, ProblemSpec

# Keys that leave tokens out, or end one sequence and begin another: a state that went on would be another result.
LEAVE_TOKENS_OUT = {
    **dict.fromkeys(("key_lengths", "key_mask"), "give sequences without padding, one problem for each length"),
    "cu_seqlens": "give one problem for each sequence",
}


def shape_state_arrays(values: Mapping[str, Any], layout: Layout, lengths: Lengths) -> dict[str, Any]:
    """The values of a problem, `decay` and `beta` [n] where there are no axes before the tokens, and one row was given.

    A row of as many numbers as there are tokens has one for each, also where keys have as many features.
    """
    shaped = dict(values)
    for name in ("decay", "beta"):
        array = values[name]
        if array is not None and not layout.score_axes and array.shape == (1, lengths["n"].size):
            shaped[name] = array[0]
    return shaped


def state_array_letters(spec: ProblemSpec, name: str) -> Letters | None:
    """The letters of the axes of `decay`, `beta` or `past_state`; None where it has too few or too many.

    Heads are those of keys (g) where there are as many, and fewer than query heads. `decay` has the axes [b h n] of
    the problem, or one more for the key features; [h n] is the same for all batch items, and a length of 1 is one
    number for all tokens.
    """
    field, shape = FIELDS[name], getattr(spec, name).shape
    leading, own = spec.leading.score_axes, field.letters
    before = len(shape) - len(leading)
    if before == len(own) + len(field.trailing):
        own = (*own, *field.trailing)
    elif name == "past_state" and len(shape) == len(own):
        leading = ()
    elif leading == ("b", "h") and len(shape) == 2:  # of each head, the same for all batch items
        leading = ("h",)
    elif before != len(own):
        return None
    layout = spec.leading
    if "h" in leading and shape[leading.index("h")] == layout.kv_heads < layout.heads:
        leading = layout.with_kv_heads(leading)
    return (*leading, *own)


def check_recurrence(spec: ProblemSpec, lengths: Lengths) -> None:
    """Raise AttnError where there is not one key for each query, tokens are left out, or an array does not fit."""
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
    """The axes of one array are those of the problem, or of length 1."""
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
            raise AttnError(message, where=name, keys=(name, length.key))
