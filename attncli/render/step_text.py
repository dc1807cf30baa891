"""The text that stands beside the numbers of a step: its shapes, the letters of its axes, what it is equal to."""

import re
from collections.abc import Iterable, Iterator, Mapping

from attncli.base.axes import AXIS_NOUNS, format_lengths, legend
from attncli.base.text import join_words, transliterate
from attncli.ops import structural
from attncli.ops.records import format_value
from attncli.plan.graph import Node
from attncli.trace.steps import Step, Trace

# The axes of which one position is shown by default, and the option that chooses it.
OPTION_OF_AXIS = {"b": "--batch", "h": "--head"}


def axis_legend(steps: Iterable[Step]) -> str:
    """The meaning of the letters of the axes: `n queries, m keys, d query features`."""
    return legend(letter for step in steps for letter in step.axes)


def format_shape(step: Step) -> str:
    """The axes of a step and their lengths: `[n d] 4 × 3`."""
    return f"[{' '.join(step.axes)}] {format_lengths(step.value.shape)}".rstrip()


def format_signature(trace: Trace, step: Step) -> str:
    """The shapes of a step's inputs and result, and its operator's options: `Q [n d] 4 × 3, … → [n m] 4 × 4`."""
    inputs = ", ".join(f"{trace[name].symbol} {format_shape(trace[name])}" for name in step.inputs.values())
    shapes = f"{inputs} → {format_shape(step)}" if inputs and step.tapped_from is None else format_shape(step)
    return "; ".join([shapes, *_parameters_in_force(step)])


def _parameters_in_force(step: Step) -> Iterator[str]:
    """The parameters of an operator that were given, and those that its formula has: `sigma = 1`, where it has a σ."""
    if step.record is None:
        return
    names_in_formula = transliterate(step.formula, "ascii")
    for parameter in step.record.parameters:
        value = step.options.get(parameter.name)
        if value is None:  # an array, or one that does not take part
            continue
        if value != parameter.default or re.search(rf"\b{parameter.name}\b", names_in_formula):
            yield f"{parameter.name} = {format_value(value)}"


def slice_remarks(step: Step, slices: Mapping[str, int], announced_axes: set[str]) -> Iterator[str]:
    """At the first step with an axis of batch items or heads: which of them is shown, and which option chooses."""
    for letter, option in OPTION_OF_AXIS.items():
        count = dict(zip(step.axes, step.value.shape, strict=True)).get(letter, 1)
        if letter not in slices or letter in announced_axes or count == 1:
            continue
        announced_axes.add(letter)
        noun, shown = AXIS_NOUNS[letter], slices[letter]
        others = f"0 … {count - 1}" if count > 2 else str(1 - shown)
        yield f"{noun} {shown} of {count} is shown from here on; {option} {others} shows another, {option} all each"


def equality_remarks(trace: Trace, step: Step) -> Iterator[str]:
    """The steps after the projections that are the same as this one: `output = context: one head, no w_o`."""
    for node in trace.plan.nodes:
        if node.inputs.get("x") != step.name:
            continue
        if is_split_of_one(node):
            yield f"{node.name} {node.symbol} = {step.name}: one head"
        elif node.name == "output" and node.is_identity:
            heads = "" if step.name != "context" else "the heads stay apart, " if "h" in step.axes else "one head, "
            yield f"output = {step.name}: {heads}no w_o"
        elif node.is_identity and node.stage != "project":
            yield f"{node.name} = {step.name}"


def is_split_of_one(node: Node) -> bool:
    """Whether a node splits features into one head, which changes nothing."""
    return node.function is structural.split_heads and node.options["heads"] == 1


def word_remarks(trace: Trace, step: Step) -> Iterator[str]:
    """The row of the vocabulary of each looked-up word, and which words have the same vector."""
    numbered, rows = trace.numbered_labels_of(step, -2), step.value.reshape(-1, *step.value.shape[-2:])[0]
    row_of = {word: row for row, word in enumerate(trace.labels.get("v", ()))}
    positions: dict[str, list[int]] = {}
    looked_up = []
    for at, word in enumerate(trace.labels_of(step, -2)):
        positions.setdefault(word, []).append(at)
        row = row_of.get(numbered[at], row_of.get(word))
        if row is not None:  # the user's own tokens are not in the vocabulary
            looked_up.append(f"{numbered[at]} {row}")
    if looked_up:
        yield f"rows of the vocabulary, counted from 0: {', '.join(looked_up)}"
    for equal in positions.values():
        if len(equal) > 1 and (rows[equal] == rows[equal[0]]).all():
            yield f"{join_words([numbered[at] for at in equal])} are one word, and have the same vector"


def selection_remarks(trace: Trace, step: Step) -> Iterator[str]:
    """Which queries `only` selects, at the step that selects them."""
    selected = step.node.options.get("at")
    if step.node.function is structural.select_rows and selected is not None:
        names = join_words(
            [f"{label} (row {row})" for label, row in zip(trace.numbered_labels["n"], selected, strict=True)]
        )
        yield f"of {len(trace.labels['q'])} queries, `only` selects {names}, counted from 0"
