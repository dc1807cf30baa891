"""Packed sequences: several one after the other in one array, by their bounds `cu_seqlens`."""

from collections.abc import Mapping
from typing import Any

from attncli.base.axes import Length
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.ops.records import Operator
from attncli.problem.mask_expressions import operators_of_mask
from attncli.problem.spec import ProblemSpec


def with_positions(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a problem with the positions of rows in their sequences, where these are read and not given.

    Biases and masks read the distance of a query and a key of one sequence alone, which their rows have too.
    """
    bounds, position = values.get("cu_seqlens"), values.get("position")
    is_at_positions = isinstance(position, Operator) and position.record.acts_on in ("embeddings", "query_and_key")
    is_read = is_at_positions or values.get("query_scale") is not None
    is_given = any(values.get(key) is not None for key in ("positions", "positions_of_queries"))
    if bounds is None or not is_read or is_given:
        return dict(values)
    keys = values.get("cu_seqlens_k")
    if keys is None and values.get("query_embeddings") is None:
        return {**values, "positions": positions_in_sequences(bounds)}
    keys = bounds if keys is None else keys
    lengths, of_keys = np.diff(bounds), np.diff(keys)
    is_at_end = values.get("align") == "bottom_right" and len(lengths) == len(of_keys)
    first = of_keys - lengths if is_at_end else np.zeros_like(lengths)
    own = positions_in_sequences(bounds) + np.repeat(first, lengths)
    return {**values, "positions": positions_in_sequences(keys), "positions_of_queries": own}


def positions_in_sequences(bounds: Array) -> Array:
    """The position of each row in its sequence.

    >>> positions_in_sequences(np.array([0, 2, 2, 5])).tolist()
    [0, 1, 0, 1, 2]
    """
    positions: Array = np.arange(bounds[-1]) - np.repeat(bounds[:-1], np.diff(bounds))
    return positions


def check_packed_sequences(spec: ProblemSpec, lengths: Mapping[str, Length]) -> None:
    """Raise AttnError where the bounds are not those of the rows, or something counts from the first of all keys."""
    bounds, bounds_of_keys = spec.cu_seqlens, spec.cu_seqlens_k
    if bounds is None:
        return
    if (spec.leading.batch or 1) > 1:
        raise AttnError(f"{lengths['b'].owner}; packed sequences are one", where="cu_seqlens")
    if bounds_of_keys is not None and len(bounds) != len(bounds_of_keys):
        counts = [count_of(len(x) - 1, "sequence") for x in (bounds, bounds_of_keys)]
        raise AttnError(f"cu_seqlens has {counts[0]}; cu_seqlens_k has {counts[1]}", where="cu_seqlens_k")
    of_keys = ("cu_seqlens", bounds) if bounds_of_keys is None else ("cu_seqlens_k", bounds_of_keys)
    for letter, (name, array) in {"n": ("cu_seqlens", bounds), "m": of_keys}.items():
        if array[-1] != lengths[letter].size:
            advice = "cu_seqlens_k is that of the keys" if letter == "m" and bounds_of_keys is None else None
            raise AttnError(f"{name} ends at {array[-1]}; {lengths[letter].owner}", where=name, hint=advice)
    operators = [("mask", operator) for operator in operators_of_mask(spec.mask)]
    operators += [("position", spec.position)] if spec.position is not None else []
    for key, operator in operators:
        if operator.record.counts_from_first_key:
            message = f"{operator.record.name} counts from the first key, not from that of each sequence"
            raise AttnError(message, where=key, hint="give the sequences one by one", keys=(key, "cu_seqlens"))
