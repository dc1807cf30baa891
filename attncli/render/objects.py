"""Results as an object of names and numbers, and an object as JSON or YAML."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.program import __version__
from attncli.io.documents import json_text, plain_value
from attncli.io.results import FORMAT, VALUE
from attncli.ops.records import Operator, ParameterMapping
from attncli.plan.build import asks_where_queries_stand, keys_unread_by_plan
from attncli.plan.trace import Step, Trace
from attncli.problem.inputs import is_read
from attncli.problem.mask_expressions import MaskExpression
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.problem.weights import has_packed, has_weights, stored_values
from attncli.render.target import TextTarget
from attncli.render.view import View, selected_labels, selected_value

FIRST_STEPS = ("query", "key", "value")
LIST_FORMAT = "attn.list/1"


def write_json(content: Mapping[str, Any], target: TextTarget) -> Iterator[str]:
    """An object as JSON, in chunks, a row of numbers on each line; numbers that JSON can't hold are strings."""
    yield from json_text(content, ascii_only=not target.has_unicode)
    yield "\n"


def write_yaml(content: Mapping[str, Any], target: TextTarget) -> Iterator[str]:
    """The same object as one YAML document."""
    from attncli.io.yaml import yaml_text  # noqa: PLC0415 - JSON does not need PyYAML

    return map(target.escaped, yaml_text(content))


def list_object(groups: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> dict[str, Any]:
    """The names and summaries of each kind that is listed, under its plural."""
    return {"format": LIST_FORMAT} | {
        title: [{"name": name, "summary": summary} for name, summary in pairs] for title, pairs in groups
    }


def result_object(view: View) -> dict[str, Any]:
    """The facts about the run, the labels, the selected results, their statistics, with `explain` also every step."""
    trace = view.result.trace
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "problem": problem_object(trace),
        "pipeline": dict(trace.pipeline),
        "query_tokens": list(trace.labels["n"]),
        "key_tokens": list(trace.labels["m"]),
    }
    content |= {name: selected_value(view, trace[name]) for name in view.result.select}
    if view.statistics:
        content |= _statistics(view)
    if view.top:
        content["top"] = _largest_keys(view)
    if view.edited_cells and view.before is not None:
        before = replace(view, result=view.before)
        content["set"] = [vars(cell) for cell in view.edited_cells]
        names = dict.fromkeys((*view.result.select, *view.names))  # as far as there was such a step
        steps_before = {name: view.before.trace[name] for name in names if name in view.before.trace}
        content["before"] = {name: selected_value(before, step) for name, step in steps_before.items()}
        content["before"] |= _statistics(before) if view.statistics else {}
        content["before"] |= {"top": _largest_keys(before)} if view.top else {}
    if view.explain:
        # Scripts expect query, key and value first, even if positions were added to embeddings before.
        steps = sorted(view.steps, key=lambda step: step.name not in FIRST_STEPS)
        content["steps"] = [_step_object(view, step) for step in steps]
    return content


def _statistics(view: View) -> Mapping[str, Any]:
    """The statistics of a view: `visible_keys` if they are selected, and `statistics` of the weights."""
    from attncli.render import visible_statistics as visible  # noqa: PLC0415 - only `--stats` needs it
    from attncli.render.statistics import statistics_object  # noqa: PLC0415 - only `--stats` needs it

    found = {"visible_keys": visible.visible_object(view)} if visible.has_visible_statistics(view) else {}
    return found | ({"statistics": statistics_object(view)} if visible.has_weight_statistics(view) else {})


def _largest_keys(view: View) -> Sequence[Any]:
    """The largest keys of each query of a view."""
    from attncli.render.statistics import largest_keys_object  # noqa: PLC0415 - only `--top` needs it

    return largest_keys_object(view)


def _step_object(view: View, step: Step) -> dict[str, Any]:
    """One step, or the view's selection of it, with the labels of its last two axes."""
    value = selected_value(view, step)
    return {
        "name": step.name,
        "symbol": step.symbol,
        "formula": step.formula,
        "shape": list(value.shape),
        "rows": list(selected_labels(view, step, -2)),
        "columns": list(selected_labels(view, step, -1)),
        "value": value,
    }


def problem_object(trace: Trace) -> dict[str, Any]:
    """The keys of a trace's problem that are in force: those given and read, and active defaults.

    An array is `{"file": …, "shape": …}`, with "option" in place of "file" if an option has its numbers, and
    "generator" if it was drawn or made by rule. Its shape is the stored one, or the rows' shape in a table for token
    look-up. Its numbers are its "value", unless the file, or the named entry, has nothing else: attn can compute the
    object again. An operator is `NAME:key=value`, or `{NAME: {key: value}}` if its parameters include an array or a
    mapping. Shapes are lists of lengths. If a convention read the words, "convention" has its name and version, the
    `changes` that it made (the other keys have them already), and `remarks` on words unknown to it.
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
    """Unused keys, flags that are off, and keys that a sentence replaces."""
    problem = trace.problem
    values = stored_values(problem)
    ignored = {*keys_unread_by_plan(problem), *(name for name, field in FIELDS.items() if field.says_how_given)}
    ignored |= {name for name, value in values.items() if value is False}
    ignored |= {name for name in values if not is_read(problem, name)}
    acts = {
        "weight_layout": has_weights(values),
        "packing": has_packed(values),
        "head_pairs": values["difference"] is not None,
        "generator": any(generator.record.is_drawn for generator in problem.generators.values()),
        "align": asks_where_queries_stand(trace.plan),
        "empty_rows": trace.plan.empty_rows_fill is not None,
        "embeddings": problem.embeddings_source == "embeddings",
    }
    ignored |= {name for name, is_in_force in acts.items() if not is_in_force}
    return ignored if problem.sentence is None else ignored | ({"tokens", "embeddings"} - set(problem.origins))


def _description(problem: ProblemSpec, name: str, value: Any) -> Any:
    """A value by its key, or by `score.w1` for an operator's parameter."""
    if isinstance(value, Operator):
        if not value.arrays and not any(isinstance(entry, ParameterMapping) for entry in value.given.values()):
            return value.in_force
        parameters = value.parameters.items()
        return {value.record.name: {key: _description(problem, f"{name}.{key}", entry) for key, entry in parameters}}
    if isinstance(value, MaskExpression):
        return str(value)
    if isinstance(value, Mapping) and FIELDS[name].is_array:  # a vocabulary
        shape = [len(value), *next(iter(value.values())).shape]
        return _origin(problem, name) | {"shape": shape} | _numbers(problem, name, dict(value))
    if getattr(value, "ndim", 0):
        return _origin(problem, name) | {"shape": list(value.shape)} | _numbers(problem, name, value)
    return plain_value(value)


def _numbers(problem: ProblemSpec, name: str, value: Any) -> dict[str, Any]:
    """The numbers of an array under the key `value`; none if only its file has them."""
    origin = problem.origins.get(name)
    is_in_file = name not in problem.generators and origin is not None and origin.is_whole
    return {} if is_in_file else {VALUE: value}


def _origin(problem: ProblemSpec, name: str) -> dict[str, str]:
    """The origin of an array: its generator, or the file or option of it or its operator."""
    if name in problem.generators:
        return {"generator": problem.generators[name].in_force}
    origin = problem.origins.get(name) or problem.origins.get(name.partition(".")[0])
    return {} if origin is None else {"option" if origin.is_option else "file": origin.name}


def record_object(leading: dict[str, Any], data: object, without: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass in order, after the leading ones; tuples become lists."""
    fields = {name: value for name, value in vars(data).items() if name not in {*leading, *without}}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in (leading | fields).items()}
