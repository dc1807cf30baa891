"""The result of a computation from Python: its arrays, its explanation and display, and its files."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Unpack

from attncli.api.arguments import Cells, Position, ShownPart, to_name, to_title
from attncli.api.frames import STATISTICS, TO_PANDAS, statistics_frame, step_frame
from attncli.api.shown import view_html, view_text
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.base.text import join_words, repr_excerpt
from attncli.engine.run import run
from attncli.figure import check_figure, make_figure
from attncli.io.output_files import atomic_write
from attncli.numbers.arithmetic import MAX_TERMS
from attncli.plan.trace import RunResult
from attncli.problem.fields import WEIGHTS
from attncli.render.figure_style import FigureStyle, StyleKeywords, find_style
from attncli.render.formats import (
    FIGURE_DECIMALS,
    OutputFormat,
    format_of_suffix,
    known_suffixes,
    write_view,
)
from attncli.render.rows import RowStatistics
from attncli.render.statistics import statistics_of
from attncli.render.target import TEXT_FILE
from attncli.render.view import DECIMALS, View

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

    from attncli.api.page import NotebookPage


FilePath = str | PathLike[str]
FigureSize = str | tuple[float, float] | None  # "15x10cm", or a width and a height in inches


MAX_PRINTED = 20_000  # numbers of all selected results together: their text takes a second


class ExplanationText(str):
    """The worked steps of a result, as `attn compute --explain` writes them: a text of lines of at most 80 columns.

    A prompt shows the text, a notebook the same with shaded tables.

    >>> import attncli
    >>> text = attncli.attention([[2, 0]], [[1, 0], [0, 1]], score="dot").explain((0, 0))
    >>> "Q(query_1)·K(key_1) = 2·1 + 0·0 = 2" in text
    True
    """

    _view: View

    @classmethod
    def of_view(cls, view: View) -> "ExplanationText":
        """The explanation of a view."""
        explanation = cls(view_text(view))
        explanation._view = view
        return explanation

    def save(self, path: FilePath, *, title: str = "", size: FigureSize = None, **style: Unpack[StyleKeywords]) -> None:
        """Write the explanation to a file, whose suffix picks the format: `attn compute --explain -o`.

        Parameters and exceptions are the same as in `Result.save`; decimals come from the explanation, and the page
        begins at the worked cell.

        >>> import attncli
        >>> attncli.attention([[2, 0]], [[1, 0], [0, 1]]).explain().save("steps.md", size="6x4")
        Traceback (most recent call last):
            ...
        attncli.base.errors.AttnError: size: has no effect: markdown is not a figure; leave it out
        """
        file = SavedFile.of(path, title, {"size": size, **style})
        if self._view.cells and not file.format.is_text_for_readers:
            file.refuse("cells", "has no worked lines")
        file.save(self._view)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return view_html(self._view)


class Result(RunResult):
    """The selected results of one computation, as attributes.

    `result.weights` [n m] (or [b h n m]) is an array if `weights` was selected; likewise every other name of `select`.
    `query_tokens` and `key_tokens` are the labels of the queries and keys, `trace` has the steps. `print(result)` shows
    the tables of `attn compute` (above 20,000 numbers the shapes), a notebook the same with shaded weights, for large
    tables the first and last rows and columns. Raises AttributeError for a result that was not selected.

    >>> import attncli
    >>> result = attncli.attention([[1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], select=("weights", "output"))
    >>> result.weights.tolist()
    [[0.5, 0.5]]
    >>> result
    Result(weights (1, 2), output (1, 2))
    """

    # For type checkers and editors; an instance has the selected ones.
    scores: Array
    capped_scores: Array
    masked_scores: Array
    lse: Array
    weights: Array
    context: Array
    output: Array
    present_key: Array
    present_value: Array
    present_state: Array

    _before: "Result | None" = None

    @property
    def statistics(self) -> RowStatistics:
        """Statistics of the rows of weights: `support`, `entropy`, `effective_keys`, `largest`, `largest_key` [… n].

        Raises AttnError if the weights of a large problem were not selected.

        >>> import attncli
        >>> attncli.attention(scores=[[0, 0, -1000]], select="weights").statistics.effective_keys.tolist()
        [2.0]
        """
        self._check_kept(WEIGHTS)
        return statistics_of(self.trace)

    def explain(
        self,
        cells: Cells = None,
        *,
        head: Position = None,
        batch: Position = None,
        terms: int | Literal["all"] = MAX_TERMS,
        decimals: int = DECIMALS,
    ) -> ExplanationText:
        """Every step from the inputs to the results, with the arithmetic of some cells: `attn compute --explain`.

        `cells` are pairs of a query and a key, each a label, a position from 0, or "*" for all: `("cat", "sat")`, or a
        list of such pairs; the default is one instructive cell. `head` and `batch` are a position from 0, or "all";
        `terms` is the longest sum to write in full, or "all".

        The steps of a large problem are computed again, since its result does not keep them. Raises AttnError if there
        is no such cell, head or batch item, or not enough memory.

        >>> import attncli
        >>> result = attncli.attention(scores=[[2, 0]], tokens=["cat", "sat"], select="weights")
        >>> "0.1353/1.1353 = 0.1192" in result.explain(("query_1", "sat"))
        True
        """
        part = ShownPart(cells, head, batch, terms, decimals)
        return ExplanationText.of_view(self._view_of_steps(part, explain=True))

    def work_out(
        self,
        cells: Cells,
        *,
        head: Position = None,
        batch: Position = None,
        terms: int | Literal["all"] = MAX_TERMS,
        decimals: int = DECIMALS,
    ) -> ExplanationText:
        """The arithmetic of some cells in each step, without tables: `attn compute --cell`.

        Parameters and exceptions are the same as in `explain`.

        >>> import attncli
        >>> print(attncli.attention(weights=[[0.5, 0.5]], value=[[1], [3]]).work_out((0, 1)))
        weighted_sum
        <BLANKLINE>
        cell  query query_1, key key_2
        <BLANKLINE>
        context  C  Cᵢ = Σⱼ Aᵢⱼ Vⱼ
          C(query_1)[e1] = 0.5·1 + 0.5·3 = 2
        """
        part = ShownPart(cells, head, batch, terms, decimals)
        return ExplanationText.of_view(self._view_of_steps(part, explain=False))

    def figure(
        self,
        *,
        title: str = "",
        size: FigureSize = None,
        head: Position = None,
        batch: Position = None,
        decimals: int = FIGURE_DECIMALS,
        lines: bool = False,
        changes: bool = False,
        **style: Unpack[StyleKeywords],
    ) -> "matplotlib.figure.Figure":
        """The selected results as a figure of Matplotlib, a heat map for each head: `attn compute -o weights.svg`.

        `size` is a width and a height in inches, or a text such as "15x10cm"; by default a figure is as large as
        necessary. `head` and `batch` are a position from 0. Masked cells are hatched; an output over one-dimensional
        keys is a curve. Changes since an earlier result are marked, see `mark_changes_since`; with `changes` the figure
        has after − before instead. `lines` draws the weights as lines between words. `palette` is viridis, cividis,
        blues or grey, `font_size` the size of text in points, `dark` is for a dark ground, `transparent` for no ground.

        Raises AttnError if Matplotlib is not installed, there are too many heads for a figure, or the size is out of
        range or too small.

        >>> import attncli
        >>> result = attncli.attention(scores=[[2, 0]], tokens=["cat", "sat"], select="weights")
        >>> result.figure(title="Weights", size=(4, 3)).get_size_inches()  # doctest: +SKIP
        array([4., 3.])
        """
        part, look = ShownPart(None, head, batch, MAX_TERMS, decimals), find_style({"size": size, **style})
        if changes and self._before is None:
            raise AttnError("has no effect: there is no result before", where="changes", hint="see mark_changes_since")
        shown = self._with_lines() if lines else self
        view = part.view(shown, explain=False, before=self._before)
        view = replace(view, title=to_title(title), style=look, lines=lines, changes=changes)
        try:
            check_figure(self.trace.plan, shown.select, view.positions)
            figure: matplotlib.figure.Figure = make_figure(view)
        except AttnError as error:
            raise error.at("figure") from None
        return figure

    def _with_lines(self) -> RunResult:
        """The selected results whose tables are lines, or the weights."""
        self._check_kept(WEIGHTS)
        if WEIGHTS not in self.trace:
            raise AttnError("there are no weights to draw", where="lines")
        return self if WEIGHTS in self.select else RunResult(self.trace, (WEIGHTS,))

    def page(
        self,
        *,
        title: str = "",
        cells: Cells = None,
        head: Position = None,
        batch: Position = None,
        decimals: int = DECIMALS,
        guide: bool = False,
    ) -> "NotebookPage":
        """The page of the result, which a notebook shows in a frame, and `save` writes: `attn compute -o page.html`.

        Its numbers can be changed, and the page computes the consequences. It begins at the cell in `cells`, see
        `explain`, and shows the `head` and the `batch` item at these positions from 0 first; with `guide` it begins
        with the story of one cell, step by step. A page has every step if the problem is not too large, otherwise the
        selected results.

        Raises AttnError if there is no such cell, head or batch item, or the results are too large for a page.

        >>> import attncli
        >>> page = attncli.attention([[2, 0]], [[1, 0], [0, 1]], [[10], [20]]).page(title="One query")
        >>> page.html.startswith("<!DOCTYPE html>"), "One query" in page.html
        (True, True)
        """
        from attncli.api.page import NotebookPage  # noqa: PLC0415 - only a page needs its scripts

        part = ShownPart(cells, head, batch, MAX_TERMS, decimals)
        file = SavedFile.of("page.html", title, {})
        has_steps = file.format.keeps_every_step(self.trace.plan)
        view = self._view_of_steps(part, explain=False) if has_steps else part.view(self, explain=False, before=None)
        view = replace(view, title=file.title, guide=guide)
        try:
            file.check(view)
        except AttnError as error:
            raise error.at("page") from None
        return NotebookPage(view)

    def to_pandas(self, name: str) -> "pandas.DataFrame":
        """A selected result, or another kept step, as a data frame of pandas, with the tokens as its labels.

        `weights` [n m] have a row for each query and a column for each key; for [b h n m] the rows have a MultiIndex of
        batch, head and query, so that `frame.loc[0, 1]` is a head. Repeated tokens keep equal labels. "statistics" has
        the statistics of each row of the weights, a column each.

        Raises AttnError if pandas is not installed, or a step of a large problem was not kept, UnknownNameError if
        there is no such name.

        >>> import attncli
        >>> result = attncli.attention(weights=[[0.5, 0.5]], value=[[1], [3]], tokens=["cat", "sat"], select="weights")
        >>> result.to_pandas("weights").loc["query_1", "sat"]  # doctest: +SKIP
        0.5
        """
        if to_name(name, TO_PANDAS) == STATISTICS:
            statistics = self.statistics
            return statistics_frame(self.trace, self.trace[WEIGHTS], statistics)
        self._check_kept(name)
        return step_frame(self.trace, self.trace[name])

    def save(
        self,
        path: FilePath,
        *,
        head: Position = None,
        batch: Position = None,
        decimals: int | None = None,
        title: str = "",
        size: FigureSize = None,
        **style: Unpack[StyleKeywords],
    ) -> None:
        """Write the selected results to a file, whose suffix picks the format: `attn compute -o`.

        Tables are `.txt`, `.md` and `.tex`, data `.json`, `.yaml`, `.csv`, `.tsv`, `.npy`, `.npz` and `.safetensors`,
        figures `.svg`, `.png` and `.pdf`; `.html` is the page, which has every step if the problem is not too large;
        `.py` is a script of NumPy that computes them again, `.ipynb` a notebook. `head` and `batch` choose a head and a
        batch item by their positions from 0. `decimals` applies to rounded numbers, by default 4, in figures 2; CSV has
        every digit without it. `title` belongs to a figure, page or document, `size` to a figure: "15x10cm", or a width
        and a height in inches; so do `palette`, `font_size`, `dark` and `transparent`, see `figure`. An existing file
        is replaced only after everything is written.

        Raises AttnError if the suffix names no format, a parameter has no effect in the format, a required package is
        not installed, or the file can't be written.

        >>> import attncli
        >>> attncli.attention([[2, 0]], [[1, 0], [0, 1]]).save("output.npz", title="The output")
        Traceback (most recent call last):
            ...
        attncli.base.errors.AttnError: title: has no effect: npz has no title; leave it out
        """
        file = SavedFile.of(path, title, {"size": size, **style})
        is_rounded = decimals is not None
        if decimals is None:
            decimals = DECIMALS if file.format.decimals is None else file.format.decimals
        elif file.format.has_every_digit:
            file.refuse("decimals", "has every digit")
        part = ShownPart(None, head, batch, MAX_TERMS, decimals)
        if file.format.keeps_every_step(self.trace.plan):
            file.save(self._view_of_steps(part, explain=False))
        else:
            file.save(part.view(self, explain=False, before=self._before), is_rounded=is_rounded)

    def mark_changes_since(self, before: "Result") -> "Result":
        r"""The same result, whose tables mark the changed numbers: ▲ rose, ▼ fell, ◆ changed otherwise.

        A table whose shape changed has no marks; arrays are not copied. Raises AttnError unless `before` is a Result.

        >>> import attncli
        >>> problem = attncli.Problem(scores=[[2, 0]])
        >>> before, after = problem.compute("scores"), problem.replace(scores=[[2, 1]]).compute("scores")
        >>> print(after.mark_changes_since(before))
        softmax
        <BLANKLINE>
        scores
        n\m       key_1   key_2
        ───────────────────────
        query_1       2      1▲
        """
        marked = of_computed(self)
        marked._before = _earlier(before)
        return marked

    def _check_kept(self, name: str) -> None:
        """Raise AttnError if a step of a large problem was computed, but not kept."""
        if name not in self.trace and self.trace.plan.find(name) is not None:
            hint = f"select it too: select={(*self.select, name)}"
            raise AttnError("was not kept: the problem is large", where=name, hint=hint)

    def _view_of_steps(self, part: ShownPart, *, explain: bool) -> View:
        """The view of a slice of every step; steps that a large problem did not keep are computed again."""
        before = None if self._before is None else _with_every_step(self._before)
        return part.view(_with_every_step(self), explain=explain, before=before)

    def __str__(self) -> str:
        if sum(self.trace[name].value.size for name in self.select) > MAX_PRINTED:
            return repr(self)
        return view_text(View(self, before=self._before))

    def _repr_html_(self) -> str:
        return view_html(View(self, before=self._before))


def of_computed(result: RunResult) -> Result:
    """An engine's result for Python; it copies no arrays, and does not check names again."""
    shown = Result.__new__(Result)
    vars(shown).update(vars(result))
    return shown


def _earlier(before: object) -> Result:
    """The earlier result itself; raises AttnError for anything else."""
    if not isinstance(before, Result):
        hint = "give an earlier result of compute or attention"
        raise AttnError(f"{repr_excerpt(before)} is not a Result", where="before", hint=hint)
    return before


def _with_every_step(result: RunResult) -> RunResult:
    """The result with all of its steps: itself, or, if they were not kept, a recomputed one."""
    trace = result.trace
    if all(node.name in trace for node in trace.plan.nodes):
        return result
    return run(trace.problem, result.select, every_step=True)


@dataclass(frozen=True)
class SavedFile:
    """A file to write: its name, its format, and the user's title and style for a figure."""

    name: str
    format: OutputFormat
    title: str
    style: FigureStyle

    @classmethod
    def of(cls, path: object, title: object, style: Mapping[str, Any]) -> "SavedFile":
        """The file of a path.

        Raises AttnError if it is not a path with the suffix of a format, if title or style is invalid, or if the format
        has none.
        """
        if not isinstance(path, (str, PathLike)):
            hint = 'give the name of a file, such as "page.html"'
            raise AttnError(f"{repr_excerpt(path)} is not a path", where="path", hint=hint)
        row = format_of_suffix(str(path))
        if row is None:
            hint = f"expected one of {', '.join(known_suffixes())}"
            raise AttnError("the suffix names no format", where=str(path), hint=hint)
        file = cls(str(path), row, to_title(title), find_style(style))
        if title and not row.has_title:
            file.refuse("title", "has no title")
        given = [name for name, value in style.items() if value is not None]
        if given and not row.is_figure:
            file.refuse(given[0], "is not a figure")
        return file

    def refuse(self, parameter: str, reason: str) -> NoReturn:
        """Raise AttnError for a parameter that the format does not read."""
        raise AttnError(f"has no effect: {self.format.name} {reason}", where=parameter, hint="leave it out")

    def save(self, view: View, *, is_rounded: bool = False) -> None:
        """Write a view, replacing an existing file at the end; CSV has the view's decimals if rounding was requested.

        Warnings name the content that the format can't show. Raises AttnError if it can't hold the view, or the file
        can't be written.
        """
        view = replace(view, title=self.title, style=self.style)
        try:
            self.check(view)
            for message in self.format.warnings_of(view):
                warnings.warn(message, stacklevel=3)
        except AttnError as error:
            raise error.at(self.name) from None
        with atomic_write(self.name) as stream:
            target = replace(TEXT_FILE, file=self.name, decimals=view.decimals if is_rounded else None)
            write_view(view, self.format, stream, target=target)

    def check(self, view: View) -> None:
        """Raise AttnError if the format can't hold the view's content."""
        row, plan = self.format, view.result.trace.plan
        row.check_results(plan, view.names, view.positions)
        if row.holds_one_array and len(view.names) != 1:
            hint = "select one, or name a .npz file"
            raise AttnError(f"the file holds one array, and these are {join_words(view.names)}", hint=hint)
