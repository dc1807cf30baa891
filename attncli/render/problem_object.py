"""The problem of a result as an object: every key in force, numbers and words as they are, arrays by their origin."""

from collections.abc import Mapping
from typing import Any

from attncli.io.json_text import plain_value
from attncli.ops.records import Operator, ParameterMapping
from attncli.plan.build import asks_where_queries_stand, keys_unread_by_plan
from attncli.plan.trace import Trace
from attncli.problem.inputs import is_read
from attncli.problem.spec import ProblemSpec
from attncli.problem.weights import has_packed, has_projection, has_weights, stored_values


def problem_object(trace: Trace) -> dict[str, Any]:
    """The keys of the problem of a trace that are in force: those that were given and read, and the defaults that act.

    An array is `{"file": …, "shape": …}`, with "option" in place of "file" where an option has its numbers, and
    "generator" where it was drawn or made by rule; its shape is that in which it is stored, of a table that tokens are
    looked up in that of their rows. An operator is `NAME:key=value`, or `{NAME: {key: value}}` where an array or a
    mapping is among its parameters. Shapes are lists of lengths.
    Where the words were read by a convention, "convention" has its name and version, the `changes` that it made (the
    other keys have them already), and the `remarks` on words that it does not have.
    """
    problem = trace.problem
    values = stored_values(problem) | {"dtype": problem.precision.name}
    ignored = _keys_not_in_force(trace)
    use = {} if problem.convention is None else {"convention": problem.convention.as_object()}
    return use | {
        name: _description(problem, name, value)
        for name, value in values.items()
        if value is not None and name not in ignored
    }


def _keys_not_in_force(trace: Trace) -> set[str]:
    """The keys that nothing reads, flags that are off, and what stands for a sentence."""
    problem = trace.problem
    values = stored_values(problem)
    ignored = {*keys_unread_by_plan(problem), *(name for name, value in values.items() if value is False)}
    ignored |= {name for name in values if not is_read(problem, name)}
    if not has_weights(values):
        ignored.add("weight_layout")
    if not has_packed(values):
        ignored.add("packing")
    if not has_projection(values, "g"):
        ignored.add("gate")
    if not any(generator.record.is_drawn for generator in problem.generators.values()):
        ignored.add("generator")
    if not asks_where_queries_stand(trace.plan):
        ignored.add("align")
    if trace.plan.empty_rows_fill is None:
        ignored.add("empty_rows")
    if problem.sentence is not None:
        ignored |= {"tokens", "embeddings"} - set(problem.origins)
    if problem.embeddings_source != "embeddings":
        ignored.add("embeddings")
    return ignored


def _description(problem: ProblemSpec, name: str, value: Any) -> Any:
    """A value by its key, or by `score.w1` of an operator's."""
    if isinstance(value, Operator):
        if not value.arrays and not any(isinstance(entry, ParameterMapping) for entry in value.given.values()):
            return value.in_force
        parameters = value.parameters.items()
        return {value.record.name: {key: _description(problem, f"{name}.{key}", entry) for key, entry in parameters}}
    if isinstance(value, Mapping):  # a vocabulary
        return _origin(problem, name) | {"shape": [len(value), *next(iter(value.values())).shape]}
    if getattr(value, "ndim", 0):
        return _origin(problem, name) | {"shape": list(value.shape)}
    return plain_value(value)


def _origin(problem: ProblemSpec, name: str) -> dict[str, str]:
    """Where an array is from: its generator, or the file or option in which it, or its operator, was given."""
    if name in problem.generators:
        return {"generator": problem.generators[name].in_force}
    origin = problem.origins.get(name) or problem.origins.get(name.partition(".")[0])
    return {} if origin is None else {"option" if origin.is_option else "file": origin.name}
