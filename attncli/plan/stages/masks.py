"""Masks: each rule on its own, all of them together, and −∞ where one of them hides the key."""

from attncli.base.axes import Letters
from attncli.engine.dense import Recorder
from attncli.ops import look_up, masks
from attncli.ops import structural as head_axis
from attncli.ops.registry import Operator, Quantity
from attncli.plan.stages.common import GIVEN, all_queries, give_arrays, table_axes
from attncli.problem.spec import ProblemSpec
from attncli.problem.validate.masks import table_letters
from attncli.trace.steps import Step


def mask(problem: ProblemSpec, recorder: Recorder) -> None:
    """Hide what any of the rules hides; minus infinity exists from here to the normalizer alone."""
    asked = {
        "mask": problem.mask is not None,
        "bias": problem.bias is not None,
        "causal": problem.causal,
        "window": problem.window is not None,
        "key_lengths": problem.key_lengths is not None,
    }
    rules = {name: _rule(problem, recorder, name) for name, wanted in asked.items() if wanted}
    if not rules:
        return
    axes = max((rule.axes for rule in rules.values()), key=len)
    visible = Quantity("visible", "M", "visible where every rule says so: " + ", ".join(rules), axes)
    recorder.step(visible, "mask", masks.and_masks, {name: rule.name for name, rule in rules.items()})
    before = recorder.now("scores")
    hidden = Quantity("masked_scores", "Sᵐ", f"{before.symbol} where visible, −∞ elsewhere", table_axes(problem))
    recorder.step(hidden, "mask", masks.apply_mask, {"scores": before.name, "visible": "visible"}, role="scores")


def _rule(problem: ProblemSpec, recorder: Recorder, name: str) -> Step:
    """One rule for every query and key."""
    own = problem.mask if name == "mask" and isinstance(problem.mask, Operator) else None
    record = look_up("mask", name) if own is None else own.record
    inputs = {argument: recorder.current[argument] for argument in record.shapes.arrays if argument in recorder.current}
    options = {}
    if own is not None:
        inputs |= give_arrays(recorder, "mask", own)
        options = own.options
    if "table" in record.shapes.arrays:
        inputs["table"] = give_table(problem, recorder, name).name
    if problem.window is not None and name == "window":
        options = dict(zip(("left", "right"), problem.window, strict=True))
    ahead = max((_leading(recorder.steps[source]) for source in inputs.values()), key=len)
    quantity = Quantity(f"visible_by_{name}", f"M_{name}", record.formula, (*ahead, "n", "m"))
    recorder.step(quantity, "mask", record.function, inputs, options=options, record=record)
    return recorder.steps[quantity.name]


def _leading(step: Step) -> Letters:
    """The axes of batch items and heads that a step has."""
    return tuple(letter for letter in step.axes if letter in ("b", "h"))


def give_table(problem: ProblemSpec, recorder: Recorder, name: str) -> Step:
    """A mask or a bias as the user gave it, without axes of length 1 that the scores do not have."""
    if name not in recorder.steps:
        table, layout = getattr(problem, name), problem.layout
        letters = table_letters(layout, table.ndim)
        missing = tuple(axis for axis, letter in enumerate(letters[:-2]) if letter not in layout.score_axes)
        kept = (*(letter for axis, letter in enumerate(letters[:-2]) if axis not in missing), all_queries(problem), "m")
        quantity = Quantity(name, "B⁺" if name == "bias" else "M", GIVEN, kept)
        keys = problem.past_count + problem.new_key_count
        alone = table.shape[-1] == 1 < keys  # elsewhere one column might stand for every key
        notes = (f"{name} has one column for {keys} keys: the others are hidden",) if alone else ()
        recorder.give(quantity, head_axis.drop_missing_axes(table, missing), notes=notes)
    return recorder.steps[name]
