"""Parts of attention merged from Python: `merge([(output, lse), …])`."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from attncli.base.errors import UnknownNameError
from attncli.base.lazy_numpy import Array
from attncli.kernels.merge import AXES, BASES, merge_parts, read_part

__all__ = ["Merged", "merge"]


class Merged(NamedTuple):
    """The output [… n e] of all keys, and its log-sum-exp [… n] in the base of the parts; arrays of NumPy's."""

    output: Array
    lse: Array


def merge(parts: Iterable[tuple[Any, Any]], *, lse_base: str = "e", lse_axes: str | None = None) -> Merged:
    """Merge parts of one attention, whose keys are no other part's: pairs of an output and its log-sum-exp.

    They are arrays or tensors, or lists. An lse has the axes of the output without the features; tokens and heads may
    be swapped, which `lse_axes="swapped"` says where the shape doesn't. The merge is computed in float64 and rounded to
    the type of the parts. A part whose lse is −∞ (or +∞, as FlashAttention has it) is empty. Where all parts are, the
    output is 0 and the lse −∞.

    >>> whole = merge([([[1.0, 0.0]], [0.0]), ([[0.0, 1.0]], [0.0])])
    >>> whole.output.tolist(), whole.lse.round(4).tolist()
    ([[0.5, 0.5]], [0.6931])

    Raises AttnError where there are no parts, or where shapes do not fit, and UnknownNameError for another base.
    """
    for text, known, name in ((lse_base, BASES, "lse_base"), (lse_axes or AXES[0], AXES, "lse_axes")):
        if text not in known:
            raise UnknownNameError(name.replace("_", " "), text, known, where=name)
    read = [read_part(f"part {at}", output, lse, lse_axes) for at, (output, lse) in enumerate(parts, 1)]
    merged = merge_parts(read, lse_base)
    return Merged(merged.output, merged.lse)
