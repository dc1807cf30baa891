"""Checks of given positions: one for each row, on as many axes as the position scheme reads, whole where it counts."""

import math

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.records import PositionAxes
from attncli.problem.positions import position_axes
from attncli.problem.spec import ProblemSpec
from attncli.problem.unread import is_read
from attncli.problem.validate.lengths import Lengths


def check_positions(spec: ProblemSpec, lengths: Lengths) -> None:
    """Raise AttnError where positions are not those of the rows, or are none of the axes that they are needed on."""
    scheme = spec.position.record if spec.position is not None and is_read(spec, "position") else None
    reads_scale = spec.query_scale is not None and is_read(spec, "query_scale")
    if scheme is None and not reads_scale:
        return
    rows = {"positions": spec.new_key_letter, "positions_of_queries": "n"}
    axes = position_axes(spec)
    for key, letter in rows.items():
        if getattr(spec, key) is not None:
            _check_shape(spec, key, getattr(spec, key), letter, axes, lengths)
            if scheme is not None and any(parameter.is_table for parameter in scheme.parameters):
                _check_whole(key, getattr(spec, key), scheme.name)
    rotates = scheme is not None and scheme.acts_on == "query_and_key"
    if (rotates or reads_scale) and spec.positions is not None and spec.positions_of_queries is None:
        _check_same_rows(spec, lengths)
    if scheme is not None and axes is not None and axes.are_needed and spec.positions is None:
        hint = f"give positions, [{axes.count} {lengths[spec.new_key_letter].size}]"
        raise AttnError(f"the pairs of {scheme.name} read {axes.count} axes", where="positions", hint=hint)


def _check_shape(
    spec: ProblemSpec, key: str, array: Array, letter: str, axes: PositionAxes | None, lengths: Lengths
) -> None:
    """Positions are [rows] or [b rows], before them the axes of a position."""
    count, batch = lengths[letter].size, spec.layout.batch
    leading = () if axes is None else (axes.count,)
    allowed = [(*leading, count), *([(*leading, batch, count)] if batch is not None else [])]
    if array.shape not in allowed:
        shapes = " or ".join(f"[{' '.join(map(str, shape))}]" for shape in allowed)
        found = " ".join(map(str, array.shape))
        raise AttnError(f"has the shape [{found}]; {lengths[letter].owner}", where=key, hint=f"expected {shapes}")


def _check_whole(key: str, array: Array, name: str) -> None:
    """Positions that count rows of a table are whole numbers."""
    if array.dtype.kind == "f":
        wrong = array[array != np.floor(array)][0]
        raise AttnError(f"{wrong:g} is not a whole number", where=key, hint=f"{name} has one row for each position")


def _check_same_rows(spec: ProblemSpec, lengths: Lengths) -> None:
    """Positions of the keys are those of the queries only where both are of one sequence."""
    queries, keys = lengths["n"], lengths[spec.new_key_letter]
    if spec.query_embeddings is not None or queries.size != keys.size:
        message = f"are those of the {keys.size} keys, and there are {queries.size} queries of their own"
        raise AttnError(message, where="positions", hint="give positions_of_queries too")


def position_range(spec: ProblemSpec) -> range:
    """The positions from the first to the last, as they are given, or those of the longest sequence after any cache."""
    given = [array for array in (spec.positions, spec.positions_of_queries) if array is not None]
    if given:
        return range(math.floor(min(x.min() for x in given)), math.ceil(max(x.max() for x in given)) + 1)
    sequences = (spec.embeddings, spec.query_embeddings, spec.query, spec.key, spec.query_source)
    first = spec.past_count
    return range(first, first + max(x.shape[-2] for x in sequences if x is not None))
