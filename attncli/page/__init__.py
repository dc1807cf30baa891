"""The page of a result: an object with its steps, axes and numbers, which the scripts of the page read as JSON."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0, legend
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.base.program import __version__
from attncli.base.text import join_words
from attncli.io.documents import json_text, plain_value
from attncli.io.problem_text import values_to_write
from attncli.ops.records import Operator
from attncli.page.document import page_document
from attncli.page.exercise import PageExercise, exercise_object, find_exercise
from attncli.page.guide import guide_object
from attncli.page.page_plans import (
    PagePlans,
    PlanVariant,
    changeable_parameters,
    computing_function,
    is_computed_by_page,
    normalizers,
    own_choices,
    own_scale,
    plan_variants,
    value_object,
)
from attncli.page.structure import heads_object, words_object
from attncli.plan.graph import Plan
from attncli.plan.trace import Step, Trace
from attncli.problem.fields import WEIGHTS
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.render.by_hand import cell_lines, has_lines, positions_through
from attncli.render.color_map import ANCHORS, DOTS, SIGNED_ON_DARK, SIGNED_ON_LIGHT
from attncli.render.data_fit import data_fit_object, has_data_fit
from attncli.render.formats import EVERY_STEP
from attncli.render.masks import VISIBLE
from attncli.render.sections import edits_text, has_changed, shown_step
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View, selected_value

FORMAT = "attn.page/1"
PARTS_FORMAT = "attn.parts_page/1"
DTYPES = ("float64", "float32")  # types of numbers that the page computes
SELECTED = 2_000_000  # numbers of the selected results, all that a page of a larger problem has
LONGEST_TITLE = 80  # characters of a sentence used as the title
WORKED_CELLS = 1_500  # cells whose arithmetic the program writes, because the page lacks their function


def render(view: View, _target: TextTarget = TEXT_FILE) -> Iterator[str]:
    """The page of a view, or of the parts of its file, as a document of HTML, in chunks."""
    has_parts = bool(view.parts) and view.blanks is None  # an exercise is one problem
    content = parts_object(view) if has_parts else page_object(view)
    yield from page_document(content, content["title"])


@dataclass(frozen=True)
class PageSteps:
    """The steps of a page; if some are missing, `left_out` names them and gives the reason."""

    steps: tuple[Step, ...]
    left_out: str = ""

    @property
    def are_all(self) -> bool:
        """Whether they are all steps of the computation."""
        return not self.left_out


def page_steps(view: View, most: int | None = None) -> PageSteps:
    """The steps of a page: all if they have few numbers together, otherwise the selected results."""
    trace, most = view.result.trace, EVERY_STEP if most is None else most
    if trace.plan.size <= most and len(trace.steps) == len(trace.plan.nodes):
        return PageSteps(trace.steps)
    names = list(dict.fromkeys(trace[name].name for name in view.result.select))
    steps = tuple(replace(trace[name], value=selected_value(view, trace[name])) for name in names)
    reason = (
        f"the steps have {trace.plan.size:,} numbers together, and a page has every step up to {most:,}"
        if trace.plan.size > most
        else "the other steps were not kept"
    )
    return PageSteps(steps, f"Only {join_words(names)} can be seen: {reason}.")


def page_object(view: View, most: int | None = None, *, has_variants: bool = True) -> dict[str, Any]:
    """The object for the scripts of the page, with every step up to `most` numbers, by default EVERY_STEP.

    Without variants only its numbers can change.

    - `title`, `pipeline`, `decimals`, `dtype`, `warnings`, and `left_out`: sentences on content that the page lacks.
    - `axes`: by letter `{noun, meaning, length, labels, tokens}`, meaning of all entries; labels have numbers where
      tokens are equal, `the#2`, both are empty of axes that are counted as d1, d2 …
    - `start`: the `step`, its `cell` [row, column] or null, and the `positions` {b, h} that are in view first.
    - `settings`: `can_compute` is true, or a sentence on why nothing can be changed; `causal`; `scale` {value or null,
      own}; `normalizer`, and `normalizers`, those to choose from: `{name, parameters: [{name, value, above, least,
      is_integer}]}`. Null where there is nothing to choose.
    - `exercise`: null, or the numbers to fill in, from `exercise_object`; `values` lacks them.
    - `problem`: the keys of the problem's file and the command of it, as `problem_object` has them; null where steps or
      variants are left out.
    - `words`: the letters of the axes that have a position for each word, `{letters: […]}`, or why words can't be
      changed; `heads`: the numbers of heads to choose from, as `heads_object` has them.
    - `guide`: the object of `guide_object` if the page begins with a story; otherwise null.
    - `edits`: the replacements of --set, `set w_q[0,1]: 0 → 3`, or an empty text; `before`: the numbers before a
      change, of the steps that changed.
    - `nodes`: the facts about steps. `formula` is text, `mathml` markup, `formulas` null or its forms by the number of
      a setting, `{setting, forms: [{value, mathml}]}`; the first form with the setting's value, or with null, applies.
      In both a number that follows a setting is in an element with `data-setting`. `shapes` is the text of --explain,
      `labels` has the labels of rows and of columns, `settings` the setting that an option follows. `edit_key` is the
      key by which --set changes the numbers of an input, or null. `function` is null for inputs and inner quantities,
      and has dots if it comes from another package. `signs` are for masks: `{input, sign, meaning}`; a cell has the
      sign of the first whose input is 0 there, `visible_sign` where none is. `value` has the numbers of a node of a
      variant that no number of the problem reaches; they hold as soon as its plan is in force. `program` is the
      function's program if no script of the page has the function, otherwise null; `why_no_program` is the reason if
      there is neither.
    - `plans`: the first is the problem's own; the others have other choices, `causal`, `has_scale` and `normalizer`.
      `nodes` are positions in the list of nodes, `sections` in the list of sections, in display order, `results` is one
      in the list of results: two plans share the positions of common entries.
    - `results`: the node of each result by name.
    - `sections`: `{number, names, remarks}`, number null of inputs; `formula`, `mathml` and `purpose` if several names
      are one section (Q = K = V = X), else the node's.
    - `colors`: [red, green, blue] at equal distances from the least number of a table to the largest.
    - `curve`: of a problem whose values are points over an axis the object of `data_fit_object`; null of any other.
    - `worked`: the lines of steps whose function the page does not have, by name: `{axes, lines}`, a list of lines for
      each cell in the order of rows over those axes.
    - `values`: `{shape, data}` of every step of the first plan by name, data in the order of rows.
    """
    trace, steps = view.result.trace, page_steps(view, most)
    settings = _settings(trace.problem, steps)
    exercise = find_exercise(view, settings["can_compute"])
    hidden = frozenset(exercise.hidden if exercise else ())
    has_guide = view.guide and steps.are_all
    told = trace.problem.default_selection[-1:] if has_guide else ()  # the story's steps are among the visible ones
    plans = PagePlans(trace, (*view.result.select, *told), has_guide=has_guide)
    worked: dict[str, Any] = {}
    left_out = [steps.left_out] if steps.left_out else []
    if steps.are_all:
        can_change = has_variants and not _reason_of_no_changes(trace.problem, steps)
        own = [PlanVariant(own_choices(trace.problem), trace.problem)]
        for variant in plan_variants(trace.problem) if can_change else own:
            plans.add_variant(variant)
        worked, too_many = _worked_cells(view, steps.steps)
        left_out += [too_many] if too_many else []
    else:
        plans.add_results(steps.steps)
    return {
        "format": FORMAT,
        "version": __version__,
        "title": view.title or _sentence(trace.problem) or view.heading,
        "pipeline": view.heading,
        "decimals": view.decimals,
        "dtype": trace.precision.name,
        "warnings": list(trace.notes),
        "left_out": left_out,
        "axes": _axes(trace, steps.steps, {} if steps.are_all else view.positions),
        "start": _start(view, steps) if exercise is None else _start_of_exercise(exercise),
        "settings": settings,
        "exercise": None if exercise is None else exercise_object(exercise),
        "problem": _problem(view, plans) if steps.are_all and has_variants else None,
        "words": words_object(trace.problem) if settings["can_compute"] is True and has_variants else None,
        "heads": heads_object(trace.problem) if settings["can_compute"] is True and has_variants else [],
        "guide": guide_object(view, plans.stories, plans.told) if plans.told else None,
        "visible_sign": VISIBLE,
        "colors": [list(rgb) for rgb in ANCHORS],
        "signed_colors": {"light": SIGNED_ON_LIGHT, "dark": SIGNED_ON_DARK, "dots": DOTS},
        "edits": edits_text(view.edited_cells, view.decimals),
        "nodes": plans.nodes,
        "sections": plans.sections,
        "results": plans.results,
        "plans": plans.plans,
        "curve": data_fit_object(trace) if steps.are_all and has_data_fit(trace) else None,
        "worked": worked,
        "before": _values_before(view, steps.steps) if exercise is None else {},
        "values": {step.name: value_object(step.value) for step in steps.steps if step.name not in hidden},
    }


def _sentence(problem: ProblemSpec) -> str:
    """The words of a problem without a title: its sentence, or its tokens; empty if it has neither."""
    words = problem.sentence or " ".join(problem.tokens or ())
    return words if len(words) <= LONGEST_TITLE else f"{words[:LONGEST_TITLE].rsplit(' ', 1)[0]} …"


def _problem(view: View, plans: PagePlans) -> dict[str, Any]:
    """The problem, with only those arrays that the page can change."""
    own = (plans.nodes[at] for at in plans.plans[0]["nodes"])
    return problem_object(view, {node["name"]: node["edit_key"] for node in own})


def _axes(trace: Trace, steps: Sequence[Step], positions: Mapping[str, int]) -> dict[str, Any]:
    """The axes of steps by letter: the noun of an entry, the length, the labels, and the tokens without numbers.

    If one head or batch item was cut out, at the positions, the axis has only its label.
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
            "meaning": legend([letter]).removeprefix(f"{letter} "),
            "length": length,
            "labels": list(trace.numbered_labels.get(letter, counted)),
            "tokens": list(trace.labels.get(letter, ())),
        }
    return axes


def _start(view: View, steps: PageSteps) -> dict[str, Any]:
    """The first view: a step, its chosen cell, and the batch item and head."""
    trace, names = view.result.trace, {step.name for step in steps.steps}
    step = shown_step(trace, view.result.select[-1])
    step = step if step.name in names else trace[view.result.select[-1]]
    cell = None
    is_of_pairs, has_weights = {"n", "m"} <= set(step.axes), trace.plan.results.get(WEIGHTS) in names
    is_default = tuple(view.result.select) == tuple(trace.problem.default_selection)
    if has_weights and (is_default or (view.cells and not is_of_pairs)):
        step = trace[WEIGHTS]
    if view.cells:
        at = {"n": view.cells[0].query or 0, "m": view.cells[0].key or 0}
        cell = [at.get(letter, 0) for letter in step.axes[-2:]]
    are_cut = not steps.are_all
    positions = {letter: 0 if are_cut else view.positions.get(letter, 0) for letter in ("b", "h")}
    return {"step": step.name, "cell": cell, "positions": positions}


def _start_of_exercise(exercise: PageExercise) -> dict[str, Any]:
    """The first view of an exercise: the first step to fill in."""
    return {"step": next(iter(exercise.cells)), "cell": None, "positions": {"b": 0, "h": 0}}


def _values_before(view: View, steps: Sequence[Step]) -> dict[str, Any]:
    """The numbers before a change, of the steps that it changed; none without an earlier result."""
    if view.before is None:
        return {}
    before = view.before.trace
    return {
        step.name: value_object(before[step.name].value)
        for step in steps
        if step.name in before and before[step.name].value.shape == step.value.shape and has_changed(view, step)
    }


def _settings(problem: ProblemSpec, steps: PageSteps) -> dict[str, Any]:
    """The choices of a problem, None for each that it lacks."""
    choices = own_choices(problem)
    offered = [
        {
            "name": operator.record.name,
            "parameters": [
                {
                    "name": parameter.name,
                    "value": operator.parameters[parameter.name],
                    "above": parameter.range.above,
                    "least": parameter.range.least,
                    "is_integer": parameter.kind == "integer",
                }
                for parameter in changeable_parameters(operator.record)
            ],
        }
        for operator in normalizers(problem)
    ]
    return {
        "can_compute": _reason_of_no_changes(problem, steps) or True,
        "causal": choices.causal,
        "scale": None if choices.has_scale is None else {"value": problem.scale, "own": own_scale(problem)},
        "normalizer": choices.normalizer,
        "normalizers": offered,
    }


def _reason_of_no_changes(problem: ProblemSpec, steps: PageSteps) -> str:
    """Why a page can't recompute anything; empty if it can."""
    if not steps.are_all:
        return "Nothing can be changed here: the page has only selected results of a large problem."
    if problem.precision.name not in DTYPES:
        return (
            f"Nothing can be changed here: the numbers are {problem.precision.name}, and a page computes "
            f"{' and '.join(DTYPES)}. With dtype: {DTYPES[0]} it does."
        )
    return ""


def _worked_cells(view: View, steps: Sequence[Step]) -> tuple[dict[str, Any], str]:
    """The lines of the steps whose function the page lacks, by name, and a sentence if they are too many.

    The `lines` of a step cover each cell, in the order of rows over the step's named `axes`.
    """
    computed = (step for step in steps if computing_function(step.node) is not None)
    lacking = (step for step in computed if not is_computed_by_page(view.result.trace, step))
    missing = [step for step in lacking if has_lines(step)]
    count = sum(math.prod(_cell_axes(step).values()) for step in missing)
    if count > WORKED_CELLS:
        names = ", ".join(step.name for step in missing)
        return {}, f"The arithmetic of {names} is left out: {count:,} cells, and a page has up to {WORKED_CELLS:,}."
    worked = {step.name: _lines_of_cells(view, step) for step in missing}
    return {name: cells for name, cells in worked.items() if any(cells["lines"])}, ""


def _cell_axes(step: Step) -> dict[str, int]:
    """The axes of a step along which its lines differ: letters and lengths."""
    axes = zip(step.axes, step.value.shape, strict=True)
    return {letter: size for letter, size in axes if letter in (*COUNTED_FROM_0, "n", "m", "k", "p")}


def _lines_of_cells(view: View, step: Step) -> dict[str, Any]:
    """The lines of each cell of a step."""
    axes = _cell_axes(step)
    cells = [dict(zip(axes, at, strict=True)) for at in np.ndindex(tuple(axes.values()))]
    return {
        "axes": list(axes),
        "lines": [cell_lines(view, step, positions_through(view.result.trace, cell)) for cell in cells],
    }


def check_page_size(plan: Plan, names: Iterable[str], cut_axes: Collection[str]) -> None:
    """Raise AttnError if a page has room neither for every step of a plan nor for its results.

    `cut_axes` are the letters of axes with one shown position.
    """
    names = list(names)
    count = _count(plan, names, cut_axes)
    if plan.size > EVERY_STEP and count > SELECTED:
        message = f"{join_words(names)} have {count:,} numbers together, and a page has room for {SELECTED:,}"
        raise AttnError(message, hint=", or ".join(_smaller(plan, names, cut_axes)))


def warnings_of_size(view: View) -> Sequence[str]:
    """A warning if a page lacks some steps, and the user did not name its results."""
    reason = page_steps(view).left_out
    is_default = tuple(view.result.select) == view.result.trace.problem.default_selection
    return [reason[0].lower() + reason[1:].removesuffix(".")] if reason and is_default else []


def _count(plan: Plan, names: Sequence[str], cut_axes: Collection[str]) -> int:
    """The numbers of some results, at one position on each cut axis."""
    nodes = {plan[name].name: plan[name] for name in names}  # two results may be one step
    return sum(math.prod(size for letter, size in node.axes if letter not in cut_axes) for node in nodes.values())


def _smaller(plan: Plan, names: Sequence[str], cut_axes: Collection[str]) -> Iterator[str]:
    """Hints to reduce the numbers enough."""
    fitting = [name for name in names if _count(plan, [name], cut_axes) <= SELECTED]
    if fitting and len(names) > 1:
        yield f"select {fitting[-1]} alone"
    if plan.axis_length("h") > 1 and _count(plan, names, {*cut_axes, "h"}) <= SELECTED:
        yield "show one head"
    yield "compute some of the queries with only"


STEP = "@step"  # replaces an array: the step with its numbers


def problem_object(view: View, steps: Mapping[str, str | None]) -> dict[str, Any]:
    """The problem of a view for a page; `steps` has the key that changes each input, or None.

    - `command`: the words of the command line that gives the problem; none where it is from no command.
    - `keys`: the keys of its file as JSON has them, with `{"@step": name, "is_transposed": …}` in place of each array
      whose numbers a step has.
    - `takes_mask`: whether its `mask` may be a table with 1 for visible cells.
    """
    trace = view.result.trace
    title = {"title": view.title} if view.title else {}
    values = values_to_write(trace.problem)
    by_key = {key: trace[name] for name, key in steps.items() if key is not None}
    keys = {key: _value(key, value, trace, by_key) for key, value in values.items()}
    takes_mask = trace.problem.convention is None  # a convention's mask may have 1 for hidden cells
    return {"command": list(view.command), "keys": {**title, **keys}, "takes_mask": takes_mask}


def _value(key: str, value: Any, trace: Trace, by_key: Mapping[str, Step]) -> Any:
    """The value of a key, with steps in place of arrays."""
    if isinstance(value, Operator):
        given = {name: _value(f"{key}.{name}", one, trace, by_key) for name, one in value.given.items()}
        return {value.record.name: given} if given else value.record.name
    return _array(key, value, trace, by_key) or plain_value(value)


def _array(key: str, value: Any, trace: Trace, by_key: Mapping[str, Step]) -> dict[str, Any] | None:
    """The step with the numbers of an array; None if there is none, or the value is not an array."""
    if not isinstance(value, np.ndarray):
        return None
    if key in by_key:
        return {STEP: by_key[key].name, "is_transposed": _is_transposed(key, trace.problem)}
    same = (step for step in trace if step.node.is_input and np.array_equal(step.value, value, equal_nan=True))
    step = next(same, None)
    return None if step is None else {STEP: step.name, "is_transposed": False}


def _is_transposed(key: str, problem: ProblemSpec) -> bool:
    """Whether the file swaps an array's last two axes, compared with its step."""
    name, _, parameter = key.partition(".")
    row = getattr(problem, name).record.parameter(parameter) if parameter else FIELDS[name]
    return row.is_weight and problem.weight_layout == "out_in"


def parts_object(view: View) -> dict[str, Any]:
    """The object for the scripts of the page.

    `about` is the file's. `nodes` and `plans` belong to all parts, each once. `parts` are objects of
    pages of a problem without nodes, whose `plans` are positions in the list; in addition each has its number `part`,
    from 1, its `about`, and in `show` the names of the steps that are shown of it. `guide`: whether one has a story.
    """
    nodes: dict[str, tuple[int, Mapping[str, Any]]] = {}
    plans: dict[str, tuple[int, Mapping[str, Any]]] = {}
    parts = []
    for number, part in enumerate(view.parts, 1):
        content = page_object(replace(part, title=part.title or f"Part {number}"))
        own = [_position(node, nodes) for node in content.pop("nodes")]
        moved = [{**plan, "nodes": [own[at] for at in plan["nodes"]]} for plan in content["plans"]]
        trace = part.result.trace
        shown = list(dict.fromkeys(trace[name].name for name in part.result.select))
        content |= {"plans": [_position(plan, plans) for plan in moved], "show": shown}
        parts.append({**content, "part": number, "about": part.about})
    return {
        "format": PARTS_FORMAT,
        "version": __version__,
        "title": view.title or view.heading,
        "about": view.about,
        "guide": any(part["guide"] for part in parts),
        "nodes": [node for _, node in nodes.values()],
        "plans": [plan for _, plan in plans.values()],
        "parts": parts,
    }


def _position(content: Mapping[str, Any], known: dict[str, tuple[int, Mapping[str, Any]]]) -> int:
    """The position of an object in a list, which gains it if it is new."""
    return known.setdefault("".join(json_text(content)), (len(known), content))[0]
