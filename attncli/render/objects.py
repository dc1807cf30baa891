"""What is computed as objects of names and numbers: a result, a check, a comparison; and an object as JSON or YAML."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attncli.base.axes import AXIS_NOUNS
from attncli.base.program import __version__
from attncli.io.documents import json_text, plain_value
from attncli.io.results import FORMAT, VALUE
from attncli.ops.records import Operator, ParameterMapping
from attncli.plan.build import asks_where_queries_stand, keys_unread_by_plan
from attncli.plan.trace import Step, Trace, weight_rows_at
from attncli.problem.inputs import is_read
from attncli.problem.mask_expressions import MaskExpression
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.problem.weights import has_packed, has_weights, stored_values
from attncli.render.target import TextTarget
from attncli.render.view import View, selected_labels, selected_value

if TYPE_CHECKING:
    from attncli.analysis.check.report import CheckOutcome, CheckReport, NearestSlip, PartExplanation, QuantityCheck
    from attncli.analysis.compare import Comparison, OverSeeds
    from attncli.analysis.differences import Difference, FirstDifference, VariantResult

FIRST_STEPS = ("query", "key", "value")
CHECK_FORMAT, COMPARE_FORMAT, DEMO_FORMAT = "attn.check/1", "attn.compare/1", "attn.demo/1"
NOTHING_GIVEN = "no number is filled in"
LIST_FORMAT, TRY_FORMAT = "attn.list/1", "attn.try/1"
_OF_READINGS = (
    "may_be_computed",
    "is_partial",
    "is_of_sheet",
    "is_doubtful",
)  # which only decide whether mistakes are looked for
_ARRAYS = ("expected", "computed", "is_given", "differs")  # of a quantity


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
    """How the result came about, the labels, the selected results, their statistics, with `explain` also every step."""
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
        # A script finds query, key and value first, even where positions were added to embeddings before.
        steps = sorted(view.steps, key=lambda step: step.name not in FIRST_STEPS)
        content["steps"] = [_step_object(view, step) for step in steps]
    return content


def _statistics(view: View) -> Mapping[str, Any]:
    """The statistics of a view: `visible_keys` where these are selected, and `statistics` of the weights."""
    from attncli.render import visible_statistics as visible  # noqa: PLC0415 - only `--stats` needs it
    from attncli.render.statistics import statistics_object  # noqa: PLC0415 - only `--stats` needs it

    found = {"visible_keys": visible.visible_object(view)} if visible.has_visible_statistics(view) else {}
    return found | ({"statistics": statistics_object(view)} if visible.has_weight_statistics(view) else {})


def _largest_keys(view: View) -> Sequence[Any]:
    """The largest keys of each query of a view."""
    from attncli.render.statistics import largest_keys_object  # noqa: PLC0415 - only `--top` needs it

    return largest_keys_object(view)


def _step_object(view: View, step: Step) -> dict[str, Any]:
    """One step, or what the view selects of it, with the labels of its last two axes."""
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
    """The keys of the problem of a trace that are in force: those that were given and read, and the defaults that act.

    An array is `{"file": …, "shape": …}`, with "option" in place of "file" where an option has its numbers, and
    "generator" where it was drawn or made by rule; its shape is that in which it is stored, of a table that tokens are
    looked up in that of their rows. Its numbers are its "value", unless the file, or the entry of it that is named, has
    nothing else: the object can be computed again. An operator is `NAME:key=value`, or `{NAME: {key: value}}` where an
    array or a mapping is among its parameters. Shapes are lists of lengths.
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
    """The keys that nothing reads, flags that are off, and what a sentence replaces."""
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
    """A value by its key, or by `score.w1` of an operator's."""
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
    """The numbers of an array by the key `value`; none where its file alone has them."""
    origin = problem.origins.get(name)
    is_in_file = name not in problem.generators and origin is not None and origin.is_whole
    return {} if is_in_file else {VALUE: value}


def _origin(problem: ProblemSpec, name: str) -> dict[str, str]:
    """Where an array is from: its generator, or the file or option in which it, or its operator, was given."""
    if name in problem.generators:
        return {"generator": problem.generators[name].in_force}
    origin = problem.origins.get(name) or problem.origins.get(name.partition(".")[0])
    return {} if origin is None else {"option" if origin.is_option else "file": origin.name}


def _object(leading: dict[str, Any], data: object, without: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass in order, behind those that lead; its tuples as lists."""
    fields = {name: value for name, value in vars(data).items() if name not in {*leading, *without}}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in (leading | fields).items()}


def check_object(outcome: "CheckOutcome") -> dict[str, Any]:
    """The object of one check."""
    return {"format": CHECK_FORMAT, "version": __version__, **_outcome(outcome)}


def suite_object(outcomes: "Sequence[CheckOutcome]", left_out: Sequence[str] = ()) -> dict[str, Any]:
    """The object of a suite: whether all agree, and the checks in order; one that could not be made has its error.

    `left_out` are files of folders in which nothing is expected.
    """
    return {
        "format": CHECK_FORMAT,
        "version": __version__,
        "agrees": all(outcome.agrees for outcome in outcomes),
        "checks": [_outcome(outcome) for outcome in outcomes],
        "left_out": list(left_out),
    }


def _outcome(outcome: "CheckOutcome") -> dict[str, Any]:
    """The problem and its report, or its error; with the numbers that were set, and what was found before."""
    agrees = outcome.agrees if outcome.has_verdict else None
    content: dict[str, Any] = {"problem": outcome.file or None, "part": outcome.part or None, "agrees": agrees}
    content["blank"] = sum(outcome.unanswered.values()) if outcome.report is None else outcome.report.blank_count
    if outcome.report is None:
        return content | {"error": NOTHING_GIVEN if outcome.error is None else outcome.error.typed}
    content |= report_object(outcome.report)
    if outcome.before is not None:
        before = outcome.before.report
        content["set"] = [vars(cell) for cell in outcome.before.cells]
        content["before"] = {
            "agrees": before.agrees if before.has_verdict else None,
            "results": [_quantity(before, result) for result in before.results],
            "first_difference": before.first_difference,
        }
    return content


def report_object(report: "CheckReport") -> dict[str, Any]:
    """The quantities in the order of the computation, and the slips; variants of a slip have one name."""
    unnoticed = [name for explanation in report.unnoticed or () for name in explanation.slips]
    return {
        "results": [_quantity(report, result) for result in report.results],
        "first_difference": report.first_difference,
        "reference": report.reference,
        "explained_by": [_object({}, explanation) for explanation in report.explanations],
        "telling": None if report.telling is None else _object({}, report.telling),
        "explained_in_part": [_part(report, part) for part in report.parts],
        "nearest": None if report.nearest is None else _nearest(report.nearest),
        "tried": report.tried_count,
        "untried": list(report.untried),
        "searched": report.searched or None,
        "unnoticed": None if report.unnoticed is None else list(dict.fromkeys(unnoticed)),
    }


def _nearest(nearest: "NearestSlip") -> dict[str, Any]:
    """The slip that explains most of the numbers that differ in a result."""
    return _object({"result": nearest.name, "count": nearest.count}, nearest.explanation)


def _part(report: "CheckReport", part: "PartExplanation") -> dict[str, Any]:
    """What explains a part of the numbers: the axis with its positions, and the slips."""
    letter = report.trace[part.name].axes[part.part.axis]
    content = {"result": part.name, "axis": AXIS_NOUNS[letter], "positions": list(part.part.positions)}
    return _object(content | {"others_agree": part.others_agree}, part.explanation)


def _quantity(report: "CheckReport", result: "QuantityCheck") -> dict[str, Any]:
    """One quantity, without its arrays, and what its error looks like where nothing explains it."""
    from attncli.analysis.check.error_shapes import shapes_of  # noqa: PLC0415 - a result has no errors

    content = _object({"name": result.name, "agrees": result.agrees}, result, _ARRAYS)
    reading = result.reading
    content["reading"] = None if reading is None else _object({}, reading, _OF_READINGS)
    content["by_digits"] = [_object({}, group) for group in result.by_digits]
    content["error_shapes"] = [] if report.explanations else [_object({}, x) for x in shapes_of(report.trace, result)]
    worst = result.worst
    labels = {} if worst is None else {"labels": list(worst.labels)}
    return content | {"worst": None if worst is None else _object(labels, worst, ["allowed"])}


def compare_object(comparison: "Comparison") -> dict[str, Any]:
    """The variants with their results and statistics, the differences, and the first step of each that differs."""
    from attncli.analysis.compare import over_seeds  # noqa: PLC0415 - only a comparison needs it

    names = [one.variant.name for one in comparison.variants]
    return {
        "format": COMPARE_FORMAT,
        "version": __version__,
        "variants": [_variant(one, comparison) for one in comparison.variants],
        "differences": [_difference(difference, names) for difference in comparison.differences],
        "first_differences": [_first_difference(difference, names) for difference in comparison.first_differences],
        "seeds": [_over_seeds(found, names) for found in over_seeds(comparison)],
        "remarks": list(comparison.remarks),
    }


def _over_seeds(found: "OverSeeds", names: Sequence[str]) -> dict[str, Any]:
    """The mean and the standard deviation of each statistic of variants that differ in their seed alone."""
    return {**vars(found), "variants": [names[at] for at in found.variants]}


def _variant(one: "VariantResult", comparison: "Comparison") -> dict[str, Any]:
    """A variant: what was varied, how it came about, its labels, its selected results, and its statistics."""
    trace, view = one.result.trace, View(one.result, positions=comparison.positions)
    content: dict[str, Any] = {
        "name": one.variant.name,
        "keys": dict(one.variant.keys),
        "pipeline": dict(trace.pipeline),
        "query_tokens": list(trace.labels["n"]),
        "key_tokens": list(trace.labels["m"]),
    }
    content |= {name: selected_value(view, trace[name]) for name in one.result.select}
    content["statistics"] = None
    if one.statistics is not None:
        from attncli.render.statistics import object_of_statistics  # noqa: PLC0415 - only a comparison and `--stats` do

        rows = weight_rows_at(trace, comparison.positions)
        content["statistics"] = object_of_statistics(one.statistics, trace.numbered_labels["m"], rows)
    if trace.problem.convention is not None:
        content["convention"] = trace.problem.convention.as_object()
    return content


def _difference(difference: "Difference", names: Sequence[str]) -> dict[str, Any]:
    """The difference of a result of two variants; null where there is none to say."""
    leading = {
        "variants": [names[at] for at in difference.variants],
        "name": difference.name,
        "max_abs": difference.max_abs,
        "labels": difference.labels,
    }
    return _object(leading, difference) | {"reason": difference.reason or None}


def _first_difference(difference: "FirstDifference", names: Sequence[str]) -> dict[str, Any]:
    leading = {
        "variants": [names[at] for at in difference.variants],
        "step": difference.step,
        "only_in": None if difference.only_in is None else names[difference.only_in],
        "labels": difference.labels,
    }
    return _object(leading, difference)
