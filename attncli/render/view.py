"""The view of a result: which slices of it to show, and with how many decimals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from attncli.base.errors import AttnError
from attncli.base.labels import EVERY, find_one_label, split_labels
from attncli.base.lazy_numpy import Array
from attncli.numbers.arithmetic import MAX_TERMS
from attncli.plan.graph import Plan
from attncli.plan.trace import AxisPositions, RunResult, Step, add_dependent_axes, slice_at, value_at
from attncli.problem.edits import EditedCell
from attncli.problem.fields import PIPELINE_STAGES
from attncli.problem.spec import ProblemSpec

if TYPE_CHECKING:
    from attncli.render.blank_request import BlankRequest
    from attncli.render.figure_style import FigureStyle

DECIMALS = 4
MAX_DECIMALS = 17  # more than any eight-byte number has


def explained_names(problem: ProblemSpec, plan: Plan, selection: Sequence[str]) -> frozenset[str]:
    """The names of the nodes that results depend on; for the default results, of every node."""
    return frozenset(plan.by_name) if selection == problem.default_selection else plan.needed_for(selection)


@dataclass(frozen=True)
class Cell:
    """The positions of a query and a key whose pair is worked out; None for all."""

    query: int | None = None
    key: int | None = None


class Drawable(Protocol):
    """The subject of a figure: a view, or a wing's replacement for it."""

    @property
    def title(self) -> str:
        """The title of the figure."""
        ...

    @property
    def style(self) -> "FigureStyle | None":
        """Its style; None for the usual one."""
        ...


@dataclass(frozen=True, eq=False)
class View:
    """A result, and how to show which slices of it.

    `explain` shows the selected results and the steps before them. `cells` are worked out; without them an explanation
    chooses one. `step_names` limits either to these steps. `positions` has the shown position of an axis, by the axis's
    letter (b batch items, h heads); `expanded_axes` has the axes that an explanation shows whole. `remark` is printed
    below the selected results. `max_terms` is the longest sum written in full; None for no limit. A longer vector is
    worked out at `feature`. `before` is an earlier result: formats for readers mark the numbers that changed since. If
    `edited_cells` made the change, tables before and after are shown together; for the default results, every changed
    step. `statistics` adds statistics of the weights, which the result must have, and `top` so many largest keys of
    each query. With `heatmap`, text has tables as blocks of colour, and an explanation has all heads; `curve` adds
    the data fit, which the result must have. With `transpose`, tables of queries and keys have a row for each key; with
    `matrices`, LaTeX and Markdown have tables without labels, if they fit a line. `title` belongs to a figure, a page
    or a document, `style` to a figure, if the user gave one; with `lines` a figure has weights as lines between words.
    With `changes`, the change of each number replaces the tables before and after. A notebook has the text `about` a
    problem, a section for each of the `parts` of its file, and `with_attn` computes by attn. `command` has the tokens
    of the command line that gives the problem, for the page; with `guide` a page begins with the story of a cell, and
    `blanks` are the numbers of a page to fill in.
    """

    result: RunResult
    explain: bool = False
    decimals: int = DECIMALS
    cells: tuple[Cell, ...] = ()
    step_names: tuple[str, ...] = ()
    positions: Mapping[str, int] = field(default_factory=dict)
    expanded_axes: frozenset[str] = frozenset()
    remark: str = ""
    max_terms: int | None = MAX_TERMS
    feature: int = 0
    before: RunResult | None = None
    edited_cells: tuple[EditedCell, ...] = ()
    statistics: bool = False
    top: int = 0
    heatmap: bool = False
    curve: bool = False
    transpose: bool = False
    matrices: bool = False
    title: str = ""
    style: "FigureStyle | None" = None
    lines: bool = False
    changes: bool = False
    about: str = ""
    parts: "tuple[View, ...]" = ()
    with_attn: bool = False
    command: tuple[str, ...] = ()
    blanks: "BlankRequest | None" = None
    guide: bool = False

    @property
    def steps(self) -> Sequence[Step]:
        """The steps that the selected results depend on, without inputs; for the default results, all steps.

        Programs read them; an explanation for people omits uninformative ones.
        """
        trace = self.result.trace
        names = explained_names(trace.problem, trace.plan, self.result.select)
        return [step for step in trace.computed if step.name in names]

    @property
    def names(self) -> Sequence[str]:
        """The names of the shown results: the steps to explain, otherwise the selected results."""
        return [step.name for step in self.steps] if self.explain else self.result.select

    @property
    def axis_positions(self) -> AxisPositions:
        """The positions of the view, with those that they imply: on key heads too."""
        return add_dependent_axes(self.result.trace, dict(self.positions))

    @property
    def heading(self) -> str:
        """The stages, and any convention: `scaled_dot → softmax → weighted_sum, as flash`."""
        trace = self.result.trace
        stages = " → ".join(trace.pipeline[stage] for stage in PIPELINE_STAGES if stage in trace.pipeline)
        reading = trace.problem.reading
        return f"{stages}, {reading}" if reading else stages


@dataclass(frozen=True, eq=False)
class ComparisonView:
    """How to show a comparison: with so many decimals, and whether with every table, however large.

    `statistics` says whether to show the statistics of the weights; None: if they are short, or everything is shown. A
    document, a page and a figure have a `title`, a figure a `style`.
    """

    decimals: int = DECIMALS
    shows_all: bool = True
    statistics: bool | None = None
    title: str = ""
    style: "FigureStyle | None" = None


def selected_value(view: View, step: Step) -> Array:
    """The value of a step at the positions of the view; whole if the view selects none, or the step lacks the axis.

    The output, whose heads are merged, has no axis of heads, so `--head` does not change it.
    """
    return value_at(view.result.trace, step, view.positions)


def selected_labels(view: View, step: Step, axis: int) -> tuple[str, ...]:
    """The labels along an axis (counted from the end) of the selection of a step."""
    labels = view.result.trace.labels_of(step, axis)
    return labels[slice_at(step.axes[axis], len(labels), view.axis_positions)] if labels else labels


def parse_cell(text: str, problem: ProblemSpec, where: str) -> Cell:
    """The cell that `word_1,word_3`, `word_1,*` or `*` names.

    Raises AttnError at `where` if the text is not a cell, or several tokens have the label.
    """
    if text.strip() == EVERY:
        return Cell()
    parts = split_labels(text)
    if len(parts) != 2:
        hint = f"expected QUERY,KEY, such as word_1,word_3, 'word_1,{EVERY}' for a row, or '{EVERY}' for all"
        raise AttnError(f"{text!r} is not a cell", where=where, hint=hint)
    query, key = parts
    return find_cell(query, key, problem, where)


def find_cell(query: str, key: str, problem: ProblemSpec, where: str) -> Cell:
    """The cell of the label or position of a query and a key.

    Raises AttnError at `where` if it does not exist, or several tokens have the label.
    """
    labels = (query, problem.selected_query_labels), (key, problem.key_labels)
    return Cell(*(None if text == EVERY else find_one_label(text, known, where=where) for text, known in labels))
