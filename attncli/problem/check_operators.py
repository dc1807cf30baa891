"""Checks of operators against the problem: required parameters, shapes of arrays, norms, positions."""

import math
import re
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.axes import Length, bind_axes
from attncli.base.errors import AttnError, ErrorPath
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, there_are
from attncli.ops.norms import USES, array_letters, arrays_by_role, is_over_all
from attncli.ops.records import Operator, OperatorUse, Parameter, PositionAxes
from attncli.ops.registry import failures_named, operators
from attncli.problem.inputs import is_read
from attncli.problem.lengths import Lengths, context_features
from attncli.problem.mask_expressions import MaskExpression, column_path
from attncli.problem.recurrences import check_recurrence
from attncli.problem.spec import OPERATOR_FIELDS, ProblemSpec, position_axes, rotated_features, rotated_lengths


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that a norm is applied to: the letter and the number of heads, and the features of a head."""

    head_letter: str
    heads: int
    features: Length

    @property
    def all_features(self) -> int:
        """The features of all heads together."""
        return self.heads * self.features.size


def shape_norms(spec: ProblemSpec, lengths: Lengths) -> ProblemSpec:
    """The problem with norms' vectors reshaped: [h d] for norms of each head, [h·d] for a norm of all heads together.

    Either shape may be given.
    """
    shaped: dict[str, Any] = {}
    for key in USES:
        operator = getattr(spec, key)
        if operator is not None and operator.arrays:
            arrays = {
                name: _shaped(array, is_over_all(operator), _rows(role, spec, lengths))
                for role, name, array in arrays_by_role(key, operator)
            }
            shaped[key] = Operator(operator.record, {**operator.given, **arrays})
    return replace(spec, **shaped) if shaped else spec


def _shaped(array: Array, is_over_all: bool, rows: _Rows | None) -> Array:
    """An array with an axis of heads if each head is normalized, without one if all heads are together."""
    if rows is None or rows.heads == 1:
        return array
    if is_over_all:
        return array.reshape(-1) if array.shape == (rows.heads, rows.features.size) else array
    return array.reshape(rows.heads, -1) if array.shape == (rows.all_features,) else array


def split_parameters(spec: ProblemSpec, lengths: Lengths) -> ProblemSpec:
    """The problem with position arrays of each head as [h …] instead of [… h·d]."""
    operator, heads = spec.position, spec.leading.heads
    if operator is None or heads == 1 or "d" not in lengths:
        return spec
    width, split = lengths["d"].size, dict[str, Array]()
    for name, array in operator.arrays.items():
        parameter = operator.record.parameter(name)
        is_merged = array.ndim == len(parameter.letters) and array.shape[-1] == heads * width
        if "h" in parameter.leading and parameter.letters[-1] == "d" and is_merged:
            split[name] = np.moveaxis(array.reshape(*array.shape[:-1], heads, width), -2, 0)
    return replace(spec, position=Operator(operator.record, {**operator.given, **split})) if split else spec


def _bind_norm(key: str, operator: Operator, spec: ProblemSpec, lengths: Lengths) -> None:
    """Raise AttnError if a norm's array does not match its heads and features."""
    for role, name, array in arrays_by_role(key, operator):
        rows = _rows(role, spec, lengths)
        assert rows is not None  # a used key has rows to normalize
        letters, bound = array_letters(key, operator, name), dict(lengths)
        owner = f"all heads together have {count_of(rows.all_features, 'feature')} ({letters[-1]})"
        bound |= {operator.record.parameter(name).letters[-1]: rows.features}
        bound |= {letters[-1]: Length(rows.all_features, owner)} if is_over_all(operator) else {}
        leading = () if is_over_all(operator) or rows.heads == 1 else (rows.head_letter,)
        bind_axes(bound, (key, name), letters, array.shape, leading=leading)


def _rows(role: str, spec: ProblemSpec, lengths: Lengths) -> _Rows | None:
    """The rows of a role's norm; None if scores are given instead."""
    layout = spec.leading
    *heads, letter = next(use.letters[role] for use in USES.values() if role in use.letters)
    features = lengths.get(letter)
    if features is not None and role == "context":
        features = context_features(spec.context, features)
    if features is None:
        return None
    if role == "context" and spec.difference is not None:
        owner = f"{features.owner}; the values of a pair have {2 * features.size} (e)"
        return _Rows("h", layout.heads // 2, Length(2 * features.size, owner, features.key))
    if not heads:  # a sequence, which is later split into heads
        return _Rows("h", 1, features)
    head_letter = heads[0] if layout.kv_heads < layout.heads else "h"
    return _Rows(head_letter, layout.kv_heads if head_letter == "g" else layout.heads, features)


def check_positions(spec: ProblemSpec, lengths: Lengths) -> None:
    """Raise AttnError if positions do not match the rows, or lack a required axis."""
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
        raise AttnError(f"the pairs of {scheme.name} read {count_of(axes.count, 'axis')}", where="positions", hint=hint)


def _check_shape(
    spec: ProblemSpec, key: str, array: Array, letter: str, axes: PositionAxes | None, lengths: Lengths
) -> None:
    """Positions must be [rows] or [b rows], after the axes of a position."""
    count, batch = lengths[letter].size, spec.leading.batch
    leading = () if axes is None else (axes.count,)
    allowed = [(*leading, count), *([(*leading, batch, count)] if batch is not None else [])]
    if array.shape not in allowed:
        shapes = " or ".join(f"[{' '.join(map(str, shape))}]" for shape in allowed)
        found = " ".join(map(str, array.shape))
        raise AttnError(f"has the shape [{found}]; {lengths[letter].owner}", where=key, hint=f"expected {shapes}")


def _check_whole(key: str, array: Array, name: str) -> None:
    """Positions that index rows of a table must be whole numbers."""
    if array.dtype.kind == "f":
        wrong = array[array != np.floor(array)][0]
        raise AttnError(f"{wrong:g} is not a whole number", where=key, hint=f"{name} has one row for each position")


def _check_same_rows(spec: ProblemSpec, lengths: Lengths) -> None:
    """Positions of keys serve the queries only if both come from one sequence."""
    queries, keys = lengths["n"], lengths[spec.new_key_letter]
    if spec.query_embeddings is not None or queries.size != keys.size:
        message = f"belong to {count_of(keys.size, 'key')}, and {there_are(queries.size, 'query')}"
        raise AttnError(message, where="positions", hint="give positions_of_queries too")


def position_range(spec: ProblemSpec) -> range:
    """The positions from the first to the last: given ones, or the longest sequence's after any cache."""
    given = [array for array in (spec.positions, spec.positions_of_queries) if array is not None]
    if given:
        return range(math.floor(min(x.min() for x in given)), math.ceil(max(x.max() for x in given)) + 1)
    sequences = (spec.embeddings, spec.query_embeddings, spec.query, spec.key, spec.query_source)
    first = spec.past_count
    return range(first, first + max(x.shape[-2] for x in sequences if x is not None))


PER_HEAD_FIELDS = ("score", "context")  # the operators whose arrays may have a head axis


def check_operators(spec: ProblemSpec, lengths: Lengths) -> None:
    """Raise AttnError if an operator lacks a parameter, or does not match its arguments.

    Unused operators (scores or weights are given) are not checked.
    """
    values = {name: getattr(spec, name) for name in OPERATOR_FIELDS}
    by_field = {name: value for name, value in values.items() if isinstance(value, Operator) and is_read(spec, name)}
    if "position_norm" in by_field:
        lengths = {**_width_of_table(spec), **lengths}
    for name, operator in by_field.items():
        _check_operator(name, operator, lengths, spec)
    if "context" in by_field:
        _check_distribution(spec)
    if "position" in by_field:
        _check_position(spec, by_field["position"])
        _check_index_rope(spec, lengths)
    if "recurrence" in by_field:
        check_recurrence(spec, lengths)
    if "difference" in by_field:
        _check_difference(spec)
    if "mask" in by_field:
        _check_mask(spec, by_field["mask"])
    for name, operator in by_field.items():
        _check_own(operator, spec, (name,))
    if isinstance(spec.mask, MaskExpression) and is_read(spec, "mask"):
        _check_leaves(spec, spec.mask, lengths)


def _width_of_table(spec: ProblemSpec) -> Lengths:
    """The width (x) of a position scheme's table, given or derived; raises AttnError without a table."""
    position = spec.position
    if position is None or position.record.acts_on != "products" or "table" not in position.record.shapes.arrays:
        hint = "give position transformer_xl, disentangled or shaw, or leave it out"
        raise AttnError("no position multiplies queries by a table", where="position_norm", hint=hint)
    table = position.arrays.get("table")
    if table is not None:
        width = table.shape[-1]
    else:
        width = position.record.derived["table"].lengths(position.parameters, spec.lengths)["x"]
    return {"x": Length(width, f"the table of position has {count_of(width, 'column')} (x)", "position")}


def _check_own(operator: Operator, spec: ProblemSpec, path: ErrorPath) -> None:
    """Call the check of an operator's record, if it has one."""
    if operator.record.check is None:
        return
    try:
        with failures_named(operator.record, "check"):
            lengths = rotated_lengths(spec) if path == ("position",) else spec.lengths
            operator.record.check(OperatorUse(operator.parameters, lengths, position_range(spec)))
    except AttnError as error:
        raise error.at(*path) from None


def _check_leaves(spec: ProblemSpec, expression: MaskExpression, lengths: Lengths) -> None:
    """The same for each mask of an expression; an error has its column."""
    for leaf in expression.leaves:
        if not isinstance(leaf.value, Operator):
            continue
        path = column_path("mask", leaf)
        try:
            _check_operator("mask", leaf.value, lengths, spec)
            _check_mask(spec, leaf.value)
        except AttnError as error:
            error.path, error.message = (*path, *error.path[1:]), error.message.removeprefix("mask, ")
            raise
        _check_own(leaf.value, spec, path)


def _check_operator(name: str, operator: Operator, lengths: Lengths, spec: ProblemSpec) -> None:
    """The required parameters must be given, and the operator's arrays must match."""
    record = operator.record
    for parameter in record.parameters:
        _check_parameter(name, operator, parameter)
    for argument, plural in (("query", "queries"), ("key", "keys")):
        if spec.given_table is not None and argument in record.shapes.arrays:
            message = f"{record.name} reads the {plural}, but {spec.given_table} are given instead"
            raise AttnError(message, where=name, hint=f"leave out {spec.given_table}, or choose another {name}")
    bound = dict(lengths)
    for argument, letter in (("query", "d"), ("key", "c"), ("value", "e")):
        letters = record.shapes.arrays.get(argument)
        if letters and letters[-1] != letter:
            own, other = lengths[letter], bound.setdefault(letters[-1], lengths[letter])
            if own.size != other.size:
                owner = re.sub(r"\(\w\)", f"({letters[-1]})", own.owner)  # the operator's own letter
                raise AttnError(f"{owner}; {other.owner}")
    is_out_in = spec.weight_layout == "out_in"
    leading = ("h",) if spec.leading.has_heads and name in PER_HEAD_FIELDS else ()
    if name in USES:
        _bind_norm(name, operator, spec, lengths)
        return
    for parameter_name, array in operator.arrays.items():
        parameter, shape = record.parameter(parameter_name), array.shape
        if array.size == 0:
            raise AttnError("has no numbers", where=(name, parameter_name))
        letters = parameter.letters
        if parameter.is_weight and is_out_in:  # an error names the stored rows and columns
            letters, shape = letters[::-1], (*shape[:-2], *shape[:-3:-1])
        before = tuple(letter for letter in parameter.leading if letter != "h" or spec.leading.has_heads)
        bind_axes(bound, (name, parameter_name), letters, shape, leading=(*leading, *before))


def _check_parameter(name: str, operator: Operator, parameter: Parameter) -> None:
    """A required parameter must be given, and an array with axes must not be a single number."""
    record = operator.record
    if parameter.required and parameter.name not in operator.given:
        value = f"{parameter.name}.csv" if parameter.kind == "array" else "2"
        raise AttnError(
            f"{record.name} needs {parameter.name}",
            where=name,
            hint=f"for example {record.name}:{parameter.name}={value}",
        )
    is_one_number = isinstance(operator.given.get(parameter.name), float)
    if parameter.kind == "array" and is_one_number and not isinstance(parameter.default, float):
        hint = f"expected [{' '.join(parameter.letters)}]"
        raise AttnError("is one number", where=(name, parameter.name), hint=hint)


def _check_distribution(spec: ProblemSpec) -> None:
    """A context that reads weights as probabilities needs a distribution."""
    context, normalizer = spec.context.record, spec.normalize.record
    if not context.needs_distribution:
        return
    if spec.weights is not None:
        _check_probabilities(context.name, spec.weights)
        return
    if not normalizer.is_distribution:
        *names, last = (name for name, record in operators("normalize").items() if record.is_distribution)
        raise AttnError(
            f"{context.name} draws with the weights as probabilities; {normalizer.name} makes none",
            where="context",
            hint=f"normalize with {', '.join(names)} or {last}",
        )
    if spec.sink is not None:
        raise AttnError(f"{context.name} draws one key; with a sink there may be none", where="sink")


def _check_probabilities(context: str, weights: Array) -> None:
    """Each query's weights must be probabilities, or all 0 if it sees no key."""
    totals = weights.sum(axis=-1, dtype=np.float64)
    are_probabilities = (weights >= 0).all(axis=-1) & (np.isclose(totals, 1, rtol=0, atol=1e-2) | (totals == 0))
    if not are_probabilities.all():
        at = np.argwhere(~are_probabilities)[0]
        message = f"{context} draws with the weights as probabilities; these weights are not"
        hint = "give numbers from 0 that add to 1 in each row"
        raise AttnError(message, where=("weights", f"row {at[-1] + 1}"), hint=hint)


def _check_position(spec: ProblemSpec, position: Operator) -> None:
    """The problem must have the input of its position scheme: embeddings, or a dot product as score."""
    record, score = position.record, spec.score.record
    if record.acts_on == "embeddings":
        for name in ("query", "key"):
            if getattr(spec, name) is not None:
                message = f"{record.name} is added to embeddings, and {name} is already projected"
                raise AttnError(message, where="position", hint="give embeddings")
        if spec.embeddings is None and spec.query_embeddings is None:
            raise AttnError(f"{record.name} is added to embeddings, and there are none", where="position")
    if record.acts_on == "products" and "dot" not in (score.name, score.unscaled):
        message = f"{record.name} adds keys to a dot product; the score is {score.name}"
        raise AttnError(message, where="position", hint="score with dot or scaled_dot")


def _check_difference(spec: ProblemSpec) -> None:
    """Heads must come in pairs, and only a weighted sum may read the weights of a difference."""
    layout = spec.leading
    for key, count, noun in (("heads", layout.heads, "head"), ("kv_heads", layout.kv_heads, "key head")):
        if count % 2:
            message = "subtracts the weights of one head of each pair from those of the other; "
            message += there_are(count, noun)
            hint = "give heads: 2, with the queries and keys of both maps side by side" if key == "heads" else None
            raise AttnError(message, where="difference", hint=hint, keys=("difference", key))
    if spec.context.record.name != "weighted_sum":
        message = f"weights of a difference may be negative, and {spec.context.record.name} is not a weighted sum"
        raise AttnError(message, where="context", hint="leave out context", keys=("context", "difference"))


def _check_index_rope(spec: ProblemSpec, lengths: Lengths) -> None:
    """The indexer must have at least as many features as rope rotates."""
    if spec.index_rope is None or not spec.has_indexer:
        return
    rotated, features = rotated_features(spec), lengths["η"]
    if rotated > features.size:
        message = f"rope rotates the indexer's first {count_of(rotated, 'feature')}; {features.owner}"
        raise AttnError(message, where="index_rope", hint="give rope dims, or leave index_rope out")


def _check_mask(spec: ProblemSpec, mask: Operator) -> None:
    """A mask operator must not need a user's table, and key lengths must be given if it reads them."""
    inputs = mask.record.shapes.arrays
    if "table" in inputs:
        raise AttnError(f"{mask.record.name} needs a table of the scores' shape", where="mask", hint="give the table")
    if "key_lengths" in inputs and spec.has_length_per_query:
        message = f"{mask.record.name} needs a length for each batch item; key_lengths has one for each query"
        raise AttnError(message, where="mask", hint="leave out mask: key_lengths hides the others by itself")
    for name, verb in (("key_lengths", "are"), ("query_key_lengths", "are"), ("key_mask", "is")):
        if name in inputs and getattr(spec, name, None) is None:
            raise AttnError(f"{mask.record.name} needs {name}, which {verb} not given", where="mask")
