"""The text that stands beside the numbers of a step: its shapes, the letters of its axes, what it is equal to."""

from collections.abc import Iterable, Iterator, Mapping

from attncli.base.axes import AXIS_NOUNS, LEGEND
from attncli.base.text import join_words
from attncli.ops.records import format_value
from attncli.trace.steps import Step, Trace

# The axes of which one position is shown by default, and the option that chooses it.
OPTION_OF_AXIS = {"b": "--batch", "h": "--head"}


def axis_legend(steps: Iterable[Step]) -> str:
    """The meaning of the letters of the axes: `n queries, m keys, d query features`."""
    letters = {letter for step in steps for letter in step.axes}
    return ", ".join(f"{letter} {meaning}" for letter, meaning in LEGEND.items() if letter in letters)


def format_shape(step: Step) -> str:
    """The axes of a step and their lengths: `[n d] 4 × 3`."""
    return f"[{' '.join(step.axes)}] {' × '.join(map(str, step.value.shape))}".rstrip()


def format_signature(trace: Trace, step: Step) -> str:
    """The shapes of a step's inputs and result, and its operator's options: `Q [n d] 4 × 3, … → [n m] 4 × 4`."""
    inputs = ", ".join(f"{trace[name].symbol} {format_shape(trace[name])}" for name in step.inputs.values())
    shapes = f"{inputs} → {format_shape(step)}" if inputs and step.tapped_from is None else format_shape(step)
    options = step.options if step.record is not None else {}  # one that is None does not take part
    texts = [f"{name} = {format_value(value)}" for name, value in options.items() if value is not None]
    return "; ".join([shapes, *texts])


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
    for other in trace.computed:
        if other.is_identity and other.stage != "project" and other.inputs["x"] == step.name:
            yield f"{other.name} = {step.name}"
    output = trace.plan.by_name.get("output")
    if output is not None and output.is_identity and output.inputs["x"] == step.name:
        heads = "" if step.name != "context" else "the heads stay apart, " if "h" in step.axes else "one head, "
        yield f"output = {step.name}: {heads}no w_o"


def word_remarks(trace: Trace, step: Step) -> Iterator[str]:
    """Of looked-up words the equal ones, which have the same vector: `the#1 and the#2 are one word: …`."""
    numbered, rows = trace.numbered_labels_of(step, -2), step.value.reshape(-1, *step.value.shape[-2:])[0]
    positions: dict[str, list[int]] = {}
    for at, word in enumerate(trace.labels_of(step, -2)):
        positions.setdefault(word, []).append(at)
    for equal in positions.values():
        if len(equal) > 1 and (rows[equal] == rows[equal[0]]).all():
            yield f"{join_words([numbered[at] for at in equal])} are one word, and have the same vector"
