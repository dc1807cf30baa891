"""The chosen operators: their parameters are there, and their arrays fit queries, keys and values."""

from typing import TYPE_CHECKING

from attncli.base.axes import bind
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.ops.registry import Operator, Parameter
from attncli.ops.rules import OperatorUse
from attncli.problem.layout import Layout
from attncli.problem.validate.lengths import Lengths

if TYPE_CHECKING:
    from attncli.problem.spec import Problem

STAGES = ("score", "normalize", "context", "position", "qk_norm")


def check_operators(problem: "Problem", layout: Layout, lengths: Lengths) -> None:
    """Raise AttnError where a chosen operator lacks a parameter or does not fit what it works on."""
    for stage in STAGES:
        chosen = getattr(problem, stage)
        if chosen is not None:
            _operator(chosen, stage, lengths, problem, layout)
    needs_distribution = problem.context.record.needs_distribution
    if needs_distribution and not problem.normalize.record.is_distribution:
        raise AttnError(
            f"{problem.context.record.name} draws with the weights as probabilities; "
            f"{problem.normalize.record.name} makes none",
            where="context",
            hint="normalize with softmax, sparsemax, entmax, topk or hardmax",
        )
    if needs_distribution and problem.sink is not None:
        raise AttnError(f"{problem.context.record.name} draws one key; with a sink there may be none", where="sink")
    if problem.position is not None:
        _position(problem, problem.position)
    sizes = {letter: length.size for letter, length in lengths.items()}
    for chosen in (getattr(problem, stage) for stage in STAGES):
        if chosen is not None and chosen.record.check is not None:
            chosen.record.check(OperatorUse(chosen.parameters, sizes, _positions(problem)))


def _operator(chosen: Operator, where: str, lengths: Lengths, problem: "Problem", layout: Layout) -> None:
    """The parameters that an operator needs are there, and its arrays fit."""
    record = chosen.record
    for parameter in record.parameters:
        if parameter.required and parameter.name not in chosen.given:
            raise AttnError(
                f"{record.name} needs {parameter.name}",
                where=where,
                hint=f"for example {record.name}:{_example(parameter.name, parameter.kind)}",
            )
        value = chosen.given.get(parameter.name)
        if parameter.kind == "array" and isinstance(value, float) and not isinstance(parameter.default, float):
            hint = f"expected [{' '.join(parameter.letters)}]"
            raise AttnError("is one number", where=f"{where}, {parameter.name}", hint=hint)
    bound = dict(lengths)
    for name, letter in (("query", "d"), ("key", "c"), ("value", "e")):
        wanted = record.shapes.arrays.get(name)
        if wanted and wanted[-1] != letter:
            bind(bound, name, wanted, (lengths[wanted[0]].size, lengths[letter].size))
    for name, value in chosen.arrays.items():
        parameter = record.parameter(name)
        leading = ("h",) if layout.has_heads and where in ("score", "context") else ()
        bind(bound, f"{where}, {name}", parameter.letters, _shape(parameter, value, problem), leading=leading)


def _shape(parameter: Parameter, value: Array, problem: "Problem") -> tuple[int, ...]:
    """The shape of an operator's array as it is multiplied: matrices are stored as `weight_layout` says."""
    if parameter.is_weight and problem.weight_layout == "out_in" and value.ndim > 1:
        return (*value.shape[:-2], value.shape[-1], value.shape[-2])
    return value.shape


def _position(problem: "Problem", chosen: Operator) -> None:
    """What a position acts on is there."""
    name = chosen.record.name
    if chosen.record.acts_on == "embeddings":
        for given in ("query", "key"):
            if getattr(problem, given) is not None:
                raise AttnError(
                    f"{name} is added to embeddings, and {given} is given already projected",
                    where="position",
                    hint="give embeddings",
                )
    if chosen.record.acts_on == "products" and "dot" not in (problem.score.record.name, problem.score.record.unscaled):
        raise AttnError(
            f"{name} adds keys to a dot product; the score is {problem.score.record.name}",
            where="position",
            hint="score with dot or scaled_dot",
        )


def _positions(problem: "Problem") -> range:
    """The positions of the longest sequence, counted from the first key."""
    sequences = (problem.embeddings, problem.query_embeddings, problem.query, problem.key)
    first = problem.past_count
    return range(first, first + max(x.shape[-2] for x in sequences if x is not None))


def _example(name: str, kind: str) -> str:
    """How a parameter is given on the command line."""
    return f"{name}={name}.csv" if kind == "array" else f"{name}=2"
