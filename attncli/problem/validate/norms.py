"""Arrays of norms: one vector for all heads, one for each head, or one as wide as all heads together."""

from collections.abc import Mapping
from typing import Any

from attncli.base.axes import Length, bind_axes
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array
from attncli.ops.norms import USES, array_letters, arrays_by_role, is_over_all
from attncli.ops.records import Operator
from attncli.problem.layout import Layout
from attncli.problem.validate.lengths import Lengths, context_features


@dataclass(frozen=True)
class _Rows:
    """What a norm is applied to: the letter of its heads, how many there are, and the features of one of them."""

    head_letter: str
    heads: int
    features: Length

    @property
    def all_features(self) -> int:
        """The features of all heads together."""
        return self.heads * self.features.size


def shape_norms(values: Mapping[str, Any], layout: Layout, lengths: Lengths) -> dict[str, Any]:
    """The values of a problem in which vectors of each head are [h d], and one of all heads together is [h·d].

    Each may be given as the other.
    """
    shaped = dict(values)
    for key in USES:
        operator = values[key]
        if isinstance(operator, Operator) and operator.arrays:
            arrays = {
                name: _shaped(array, is_over_all(operator), _rows(role, values["context"], layout, lengths))
                for role, name, array in arrays_by_role(key, operator)
            }
            shaped[key] = Operator(operator.record, {**operator.given, **arrays})
    return shaped


def _shaped(array: Array, is_over_all: bool, rows: _Rows | None) -> Array:
    """An array with an axis of heads where each head is normalized, and without one where all are together."""
    if rows is None or rows.heads == 1:
        return array
    if is_over_all:
        return array.reshape(-1) if array.shape == (rows.heads, rows.features.size) else array
    return array.reshape(rows.heads, -1) if array.shape == (rows.all_features,) else array


def bind_norm(key: str, operator: Operator, context: Operator, layout: Layout, lengths: Lengths) -> None:
    """Raise AttnError where an array of a norm does not fit the heads and features that it belongs to."""
    for role, name, array in arrays_by_role(key, operator):
        rows = _rows(role, context, layout, lengths)
        assert rows is not None  # a key that is read has something to normalize
        letters, bound = array_letters(key, operator, name), dict(lengths)
        owner = f"all heads together have {rows.all_features} features ({letters[-1]})"
        bound |= {operator.record.parameter(name).letters[-1]: rows.features}
        bound |= {letters[-1]: Length(rows.all_features, owner)} if is_over_all(operator) else {}
        leading = () if is_over_all(operator) or rows.heads == 1 else (rows.head_letter,)
        bind_axes(bound, (key, name), letters, array.shape, leading=leading)


def _rows(role: str, context: Operator, layout: Layout, lengths: Lengths) -> _Rows | None:
    """What a norm of a role is applied to; None where scores are given in its place."""
    *heads, letter = next(use.letters[role] for use in USES.values() if role in use.letters)
    features = lengths.get(letter)
    if features is not None and role == "context":
        features = context_features(context, features)
    if features is None:
        return None
    if not heads:  # a sequence, of which heads are made
        return _Rows("h", 1, features)
    head_letter = heads[0] if layout.kv_heads < layout.heads else "h"
    return _Rows(head_letter, layout.kv_heads if head_letter == "g" else layout.heads, features)
