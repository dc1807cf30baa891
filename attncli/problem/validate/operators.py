"""Checks of operators: required parameters are given, and their arrays fit queries, keys and values."""

import re

from attncli.base.axes import bind_axes
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.norms import USES
from attncli.ops.records import Operator, OperatorUse, Parameter
from attncli.ops.registry import failures_named, operators
from attncli.problem.spec import OPERATOR_FIELDS, ProblemSpec
from attncli.problem.unread import is_read
from attncli.problem.validate.lengths import Lengths
from attncli.problem.validate.norms import bind_norm
from attncli.problem.validate.positions import position_range

PER_HEAD_FIELDS = ("score", "context")  # the operators whose arrays may have a head axis


def check_operators(spec: ProblemSpec, lengths: Lengths) -> None:
    """Raise AttnError where an operator lacks a parameter, or does not fit what it is applied to.

    An operator that nothing reads, because scores or weights are given, is not checked.
    """
    values = {name: getattr(spec, name) for name in OPERATOR_FIELDS}
    by_field = {name: value for name, value in values.items() if isinstance(value, Operator) and is_read(spec, name)}
    for name, operator in by_field.items():
        _check_operator(name, operator, lengths, spec)
    if "context" in by_field:
        _check_distribution(spec)
    if "position" in by_field:
        _check_position(spec, by_field["position"])
    if "mask" in by_field:
        _check_mask(spec, by_field["mask"])
    for name, operator in by_field.items():
        if operator.record.check is not None:
            try:
                with failures_named(operator.record, "check"):
                    operator.record.check(OperatorUse(operator.parameters, spec.lengths, position_range(spec)))
            except AttnError as error:
                raise error.at(name) from None


def _check_operator(name: str, operator: Operator, lengths: Lengths, spec: ProblemSpec) -> None:
    """The parameters that an operator requires are given, and its arrays fit."""
    record = operator.record
    for parameter in record.parameters:
        _check_parameter(name, operator, parameter)
    for argument, plural in (("query", "queries"), ("key", "keys")):
        if spec.given_table is not None and argument in record.shapes.arrays:
            message = f"{record.name} reads the {plural}, and {spec.given_table} are given in place of them"
            raise AttnError(message, where=name, hint=f"leave out {spec.given_table}, or choose another {name}")
    bound = dict(lengths)
    for argument, letter in (("query", "d"), ("key", "c"), ("value", "e")):
        letters = record.shapes.arrays.get(argument)
        if letters and letters[-1] != letter:
            own, other = lengths[letter], bound.setdefault(letters[-1], lengths[letter])
            if own.size != other.size:
                owner = re.sub(r"\(\w\)", f"({letters[-1]})", own.owner)  # the letter that the operator has for it
                raise AttnError(f"{owner}; {other.owner}")
    is_out_in = spec.weight_layout == "out_in"
    leading = ("h",) if spec.layout.has_heads and name in PER_HEAD_FIELDS else ()
    if name in USES:
        bind_norm(name, operator, spec.context, spec.layout, lengths)
        return
    for parameter_name, array in operator.arrays.items():
        parameter, shape = record.parameter(parameter_name), array.shape
        if array.size == 0:
            raise AttnError("has no numbers", where=(name, parameter_name))
        letters = parameter.letters
        if parameter.is_weight and is_out_in:  # an error has the rows and columns as they are stored
            letters, shape = letters[::-1], (*shape[:-2], *shape[:-3:-1])
        bind_axes(bound, (name, parameter_name), letters, shape, leading=(*leading, *parameter.leading))


def _check_parameter(name: str, operator: Operator, parameter: Parameter) -> None:
    """A required parameter is given, and an array is no single number where it has axes."""
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
    """A context that reads the weights as probabilities is given a distribution."""
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
    """The weights of each query are probabilities, or all 0 where it attends to nothing."""
    totals = weights.sum(axis=-1, dtype=np.float64)
    are_probabilities = (weights >= 0).all(axis=-1) & (np.isclose(totals, 1, rtol=0, atol=1e-2) | (totals == 0))
    if not are_probabilities.all():
        at = np.argwhere(~are_probabilities)[0]
        message = f"{context} draws with the weights as probabilities; these are none"
        hint = "give numbers from 0 that add to 1 in each row"
        raise AttnError(message, where=("weights", f"row {at[-1] + 1}"), hint=hint)


def _check_position(spec: ProblemSpec, position: Operator) -> None:
    """The problem has what its position scheme acts on: embeddings, or a score that is a dot product."""
    record, score = position.record, spec.score.record
    if record.acts_on == "embeddings":
        for name in ("query", "key"):
            if getattr(spec, name) is not None:
                message = f"{record.name} is added to embeddings, and {name} is given already projected"
                raise AttnError(message, where="position", hint="give embeddings")
        if spec.embeddings is None and spec.query_embeddings is None:
            raise AttnError(f"{record.name} is added to embeddings, and there are none", where="position")
    if record.acts_on == "products" and "dot" not in (score.name, score.unscaled):
        message = f"{record.name} adds keys to a dot product; the score is {score.name}"
        raise AttnError(message, where="position", hint="score with dot or scaled_dot")


def _check_mask(spec: ProblemSpec, mask: Operator) -> None:
    """A mask operator has no table of the user's, and reads key lengths only where they are given."""
    inputs = mask.record.shapes.arrays
    if "table" in inputs:
        raise AttnError(f"{mask.record.name} needs a table of the scores' shape", where="mask", hint="give the table")
    for name, verb in (("key_lengths", "are"), ("key_mask", "is")):
        if name in inputs and getattr(spec, name) is None:
            raise AttnError(f"{mask.record.name} needs {name}, which {verb} not given", where="mask")
