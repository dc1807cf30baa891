"""What the page knows of a result: steps, axes and numbers as one object, which its scripts read as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0
from attncli.base.program import __version__
from attncli.problem.results import WEIGHTS
from attncli.render.before_after import has_changed, shown_step
from attncli.render.color_map import ANCHORS
from attncli.render.edits_text import edits_text
from attncli.render.mask_signs import VISIBLE
from attncli.render.page.page_nodes import value_object
from attncli.render.page.page_plans import PagePlans
from attncli.render.page.page_settings import reason_of_no_changes, settings_object
from attncli.render.page.page_steps import PageSteps, page_steps
from attncli.render.page.plan_variants import PlanVariant, own_choices, plan_variants
from attncli.render.page.worked_cells import worked_cells
from attncli.render.view import View
from attncli.trace.steps import Step, Trace

FORMAT = "attn.page/1"


def page_object(view: View) -> dict[str, Any]:
    """The object that the scripts of the page read.

    - `title`, `pipeline`, `decimals`, `dtype`, `warnings`, and `left_out`: sentences on what the page does not have.
    - `axes`: by letter `{noun, length, labels, tokens}`; labels have numbers where tokens are equal, `the#2`, both are
      empty of axes that are counted as d1, d2 …
    - `start`: the `step`, its `cell` [row, column] or null, and the `positions` {b, h} that are in view first.
    - `settings`: `can_compute` is true, or a sentence on why nothing can be changed; `causal`; `scale` {value or null,
      own}; `normalizer`, and `normalizers`, those to choose from: `{name, parameters: [{name, value, above, least,
      is_integer}]}`. Null where there is nothing to choose.
    - `edits`: what --set replaced, `set w_q[0,1]: 0 → 3`, or an empty text; `before`: the numbers before a change, of
      the steps that changed.
    - `nodes`: what is known of steps. `formula` is text, `mathml` markup, `formulas` null or the forms of it by the
      number of a setting, `{setting, forms: [{value, mathml}]}`, of which the first holds whose value is that of the
      setting, or null. In both a number that follows a setting stands in an element with `data-setting`. `shapes` is
      the text of --explain, `labels` has those of rows and of columns, `settings` the setting that an option follows.
      `edit_key` is the key by which --set changes the numbers of an input, or null.
      `function` is null of what was given and of inner quantities, and has dots where it is another package's. `signs`
      are those of masks: `{input, sign, meaning}`; a cell has the sign of the first whose input is 0 there,
      `visible_sign` where none is. `value` has the numbers of a node of a variant that no number of the problem
      reaches; they hold as soon as its plan is in force.
    - `plans`: the first is the problem's own; the others are what it is with other choices, `causal`, `has_scale` and
      `normalizer`. `nodes` are positions in the list of nodes: what two plans share has one position. `results` has
      the node of each result, `sections` what is shown in order: `{number, names, remarks}`, number null of inputs;
      `formula`, `mathml` and `purpose` where several names are one section (Q = K = V = X), else those of the node.
    - `colors`: [red, green, blue] at equal distances from the least number of a table to the largest.
    - `worked`: the lines of steps whose function the page does not have, by name: `{axes, lines}`, a list of lines for
      each cell in the order of rows over those axes.
    - `values`: `{shape, data}` of every step of the first plan by name, data in the order of rows.
    """
    trace, steps = view.result.trace, page_steps(view)
    plans = PagePlans(trace, view.result.select)
    worked: dict[str, Any] = {}
    left_out = [steps.left_out] if steps.left_out else []
    if steps.are_all:
        can_change = not reason_of_no_changes(trace.problem, steps)
        own = [PlanVariant(own_choices(trace.problem), trace.problem)]
        for variant in plan_variants(trace.problem) if can_change else own:
            plans.add_variant(variant)
        worked, too_many = worked_cells(view, steps.steps)
        left_out += [too_many] if too_many else []
    else:
        plans.add_results(steps.steps)
    return {
        "format": FORMAT,
        "version": __version__,
        "title": view.title or view.heading,
        "pipeline": view.heading,
        "decimals": view.decimals,
        "dtype": trace.precision.name,
        "warnings": list(trace.notes),
        "left_out": left_out,
        "axes": _axes(trace, steps.steps, {} if steps.are_all else view.positions),
        "start": _start(view, steps),
        "settings": settings_object(trace.problem, steps),
        "visible_sign": VISIBLE,
        "colors": [list(rgb) for rgb in ANCHORS],
        "edits": edits_text(view.edited_cells, view.decimals) if view.edited_cells else "",
        "nodes": plans.nodes,
        "plans": plans.plans,
        "worked": worked,
        "before": _values_before(view, steps.steps),
        "values": {step.name: value_object(step.value) for step in steps.steps},
    }


def _axes(trace: Trace, steps: Sequence[Step], positions: Mapping[str, int]) -> dict[str, Any]:
    """The axes of steps by letter: the noun of an entry, the length, the labels, and the tokens without numbers.

    Where one head or batch item was cut out, at the positions, the axis has its label alone.
    """
    lengths: dict[str, int] = {}
    for step in steps:
        for letter, size in zip(step.axes, step.value.shape, strict=True):
            lengths[letter] = max(size, lengths.get(letter, 0))
    axes = {}
    for letter, length in lengths.items():
        noun = AXIS_NOUNS.get(letter, letter)
        first = positions.get(letter, 0) if length == 1 else 0
        counted = [f"{noun} {first + at}" for at in range(length)] if letter in COUNTED_FROM_0 else []
        axes[letter] = {
            "noun": noun,
            "length": length,
            "labels": list(trace.numbered_labels.get(letter, counted)),
            "tokens": list(trace.labels.get(letter, ())),
        }
    return axes


def _start(view: View, steps: PageSteps) -> dict[str, Any]:
    """What is in view first: a step, the cell of it that was chosen, and the batch item and head."""
    trace, names = view.result.trace, {step.name for step in steps.steps}
    step = shown_step(trace, view.result.select[-1])
    step = step if step.name in names else trace[view.result.select[-1]]
    cell = None
    if view.cells:
        if not {"n", "m"} <= set(step.axes) and trace.plan.results[WEIGHTS] in names:
            step = trace[WEIGHTS]
        at = {"n": view.cells[0].query or 0, "m": view.cells[0].key or 0}
        cell = [at.get(letter, 0) for letter in step.axes[-2:]]
    are_cut = not steps.are_all
    positions = {letter: 0 if are_cut else view.positions.get(letter, 0) for letter in ("b", "h")}
    return {"step": step.name, "cell": cell, "positions": positions}


def _values_before(view: View, steps: Sequence[Step]) -> dict[str, Any]:
    """The numbers before a change, of the steps in which it changed some; none where nothing was before."""
    if view.before is None:
        return {}
    before = view.before.trace
    return {
        step.name: value_object(before[step.name].value)
        for step in steps
        if step.name in before and before[step.name].value.shape == step.value.shape and has_changed(view, step)
    }
