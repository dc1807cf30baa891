"""Output formats: one row of a table for each; its function is imported when it is called."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import import_object

if TYPE_CHECKING:
    from attncli.analysis.compare import Comparison
    from attncli.plan.graph import Plan
    from attncli.render.target import TextTarget
    from attncli.render.view import View

DEFAULT_FORMAT, JSON, PAGE = "table", "json", "html"
EVERY_STEP = 200_000  # numbers of all steps together up to which a page has every step


@dataclass(frozen=True)
class OutputFormat:
    """One way to write the view of a result.

    A text format's function is `render(view: View, target: TextTarget) -> Iterable[str]`; a binary format's is
    `write(view: View, stream: IO[bytes]) -> None`.
    """

    name: str
    suffixes: tuple[str, ...]  # of the files that are written in this format, with the dot, in lower case
    function: str  # "module:function"
    is_binary: bool = False
    is_object: bool = False  # with `explain` it has the selected results under their names, and the steps beside them
    is_lossless: bool = True  # programs read every number back; otherwise numbers are rounded for a reader
    holds_one_array: bool = False
    is_figure: bool = False  # a picture of the results, with the size of the view, and without worked lines
    has_title: bool = False  # whether it shows the title of the view
    decimals: int | None = None  # of rounded numbers, where no others are asked for; None for the usual ones
    every_step_size: int = 0  # numbers of all steps together up to which it shows every step unasked
    has_heatmaps: bool = False  # whether it draws tables as blocks of colour where that is asked for
    has_curves: bool = False  # whether it draws a data fit where that is asked for
    memory_per_number: int = 0  # bytes that writing takes for each number, where it can't be done a few rows at a time
    divider: str | None = ""  # the line between two results on standard output; None: each is on one line
    is_choice: bool = True  # whether `--format` offers it; a format that it does not offer is picked by suffix
    # "module:class" whose instance, made from the stream of the file, is given as `RunOptions.allocate`, so that a
    # large result is computed in the file itself; afterwards its `is_used` is true where the file holds the result.
    file_allocator: str | None = None
    # "module:function" that writes a comparison of variants as text: `render(comparison: Comparison, target:
    # TextTarget, decimals: int) -> Iterable[str]`; None where the format has none.
    comparison: str | None = None
    # The module that draws the text as an SVG picture of a terminal, for a file with that suffix; its functions have
    # the names of those that write the text.
    picture: str | None = None
    # "module:function" that raises AttnError before the work where the format can't show some results:
    # `check(plan: Plan, names: Iterable[str], cut_axes: Collection[str]) -> None`.
    check: str | None = None
    # "module:function" for what is lost of a view in the format: `warnings(view: View) -> Sequence[str]`.
    warnings: str | None = None
    compares_cells: bool = False  # a comparison has a row for each query and key, and so each result a number for them

    @property
    def is_text_for_readers(self) -> bool:
        """Whether it is a text for people, which has room for worked lines and statistics."""
        return not self.is_lossless and not self.is_figure

    @property
    def is_picture(self) -> bool:
        """Whether its files are opened to look at them: figures, and the page."""
        return self.is_figure or self.name == PAGE

    @property
    def shows_every_step(self) -> bool:
        """Whether it shows every step unasked, of a problem that is not too large."""
        return self.every_step_size > 0

    def has_room_for_steps(self, plan: "Plan") -> bool:
        """Whether it shows every step of a plan unasked."""
        return self.shows_every_step and plan.size <= self.every_step_size

    @property
    def shows_before(self) -> bool:
        """Whether it has room for an earlier result beside that of the view: an object has, and a page for readers."""
        return self.is_object or not self.is_lossless

    def render(self, view: "View", target: "TextTarget") -> Iterable[str]:
        """The view as text for a target, in chunks; only of a text format."""
        text: Iterable[str] = import_object(self.function)(view, target)
        return text

    def render_comparison(self, comparison: "Comparison", target: "TextTarget", decimals: int) -> Iterable[str]:
        """A comparison of variants as text for a target, in chunks; only of a format that has one."""
        assert self.comparison is not None
        text: Iterable[str] = import_object(self.comparison)(comparison, target, decimals)
        return text

    def write(self, view: "View", stream: IO[bytes]) -> None:
        """Write the view to a stream of bytes; only of a binary format."""
        import_object(self.function)(view, stream)

    def check_results(self, plan: "Plan", names: Iterable[str], cut_axes: Collection[str]) -> None:
        """Raise AttnError where it can't show some results, of whose axes in `cut_axes` one position is shown."""
        if self.check is not None:
            import_object(self.check)(plan, names, cut_axes)

    def warnings_of(self, view: "View") -> Sequence[str]:
        """Warnings of what it can't show of a view."""
        warnings: Sequence[str] = () if self.warnings is None else import_object(self.warnings)(view)
        return warnings

    def make_file_allocator(self, stream: IO[bytes]) -> Any:
        """The allocator of results in the file of the stream, or None where the format has none."""
        return None if self.file_allocator is None else import_object(self.file_allocator)(stream)


_HERE, _FIGURE = "attncli.render.formats", "attncli.render.figure.figure"
PICTURE_SUFFIX = ".svg"
FIGURE_DECIMALS = 2  # cells of a figure have room for so many
_FONT_WARNINGS = f"{_FIGURE}:warnings_of_fonts"  # the viewer of an SVG has fonts of its own

FORMATS: tuple[OutputFormat, ...] = (
    OutputFormat(
        DEFAULT_FORMAT,
        (".txt",),
        f"{_HERE}.terminal:render",
        is_lossless=False,
        has_heatmaps=True,
        has_curves=True,
        memory_per_number=70,
        comparison="attncli.render.reports.compare:render_comparison",
        picture=f"{_HERE}.terminal_picture",
    ),
    OutputFormat(
        JSON,
        (".json",),
        f"{_HERE}.json:render",
        is_object=True,
        divider=None,
        comparison=f"{_HERE}.comparison_json:render",
    ),
    OutputFormat(
        "yaml",
        (".yaml", ".yml"),
        f"{_HERE}.yaml:render",
        is_object=True,
        divider="---",
        comparison=f"{_HERE}.comparison_yaml:render",
    ),
    OutputFormat(
        "csv", (".csv",), f"{_HERE}.csv:render", comparison=f"{_HERE}.comparison_csv:render", compares_cells=True
    ),
    OutputFormat(
        "tsv",
        (".tsv",),
        f"{_HERE}.csv:render_tsv",
        is_choice=False,
        comparison=f"{_HERE}.comparison_csv:render_tsv",
        compares_cells=True,
    ),
    OutputFormat(
        "markdown",
        (".md",),
        f"{_HERE}.markdown:render",
        is_lossless=False,
        memory_per_number=50,
        comparison="attncli.render.reports.compare:render_markdown",
    ),
    OutputFormat(
        "latex",
        (".tex",),
        f"{_HERE}.latex:render",
        is_lossless=False,
        memory_per_number=50,
        comparison="attncli.render.reports.compare:render_latex",
    ),
    OutputFormat(
        PAGE,
        (".html", ".htm"),
        "attncli.render.page.page_object:render",
        is_lossless=False,
        is_choice=False,
        has_title=True,
        every_step_size=EVERY_STEP,
        check="attncli.render.page.page_size:check_page_size",
        warnings="attncli.render.page.page_size:warnings_of_size",
    ),
    *(
        OutputFormat(
            name,
            (f".{name}",),
            f"{_HERE}.files:write_{name}",
            is_binary=True,
            is_figure=True,
            is_lossless=False,
            is_choice=False,
            has_title=True,
            has_curves=True,
            decimals=FIGURE_DECIMALS,
            check=f"{_FIGURE}:check_figure",
            warnings=warnings,
        )
        for name, warnings in (("svg", None), ("png", _FONT_WARNINGS), ("pdf", _FONT_WARNINGS))
    ),
    OutputFormat(
        "npy",
        (".npy",),
        f"{_HERE}.files:write_npy",
        is_binary=True,
        holds_one_array=True,
        is_choice=False,
        file_allocator="attncli.io.npy:NpyTarget",
    ),
    OutputFormat("npz", (".npz",), f"{_HERE}.files:write_npz", is_binary=True, is_choice=False),
    OutputFormat(
        "safetensors",
        (".safetensors",),
        f"{_HERE}.files:write_safetensors",
        is_binary=True,
        is_choice=False,
        memory_per_number=8,
    ),
)


def format_choices() -> Sequence[str]:
    """The names that `--format` offers, in the order of the table.

    >>> format_choices()
    ['table', 'json', 'yaml', 'csv', 'markdown', 'latex']
    """
    return [row.name for row in FORMATS if row.is_choice]


def find_format(name: str) -> OutputFormat:
    """The format that `--format` offers under a name; raises UnknownNameError where it offers none.

    >>> find_format("csv").suffixes
    ('.csv',)
    """
    row = next((row for row in FORMATS if row.name == name), None)
    if row is not None and row.is_choice:
        return row
    error = UnknownNameError("format", name, format_choices(), where="--format")
    if row is not None:
        error.hint = f"expected one of {', '.join(format_choices())}, or a file: --output FILE{row.suffixes[0]}"
    raise error


def format_in_file(row: OutputFormat, file: str) -> OutputFormat:
    """The format in which a file has what a format writes: where it is an SVG that which draws its text.

    Raises AttnError where the file is a figure or a page, which a format that is no picture does not write.

    >>> format_in_file(find_format("table"), "table.svg").has_title
    True
    """
    suffix, picked = PurePath(file).suffix.lower(), format_of_suffix(file)
    if picked is None or not picked.is_picture:
        return row
    if row.picture is None or suffix != PICTURE_SUFFIX:
        drawn = f"{DEFAULT_FORMAT} is drawn in a {PICTURE_SUFFIX} file; " if row.picture else ""
        message = f"{row.name} and the suffix {suffix} contradict each other"
        hint = f"{drawn}leave out the format, or name a file with another suffix"
        raise AttnError(message, where=f"--output {file}", hint=hint)
    comparison = f"{row.picture}:render_comparison"
    return replace(row, function=f"{row.picture}:render", comparison=comparison, has_title=True)


def format_of_file(file: str) -> OutputFormat:
    """The format that the suffix of a file's name picks; raises AttnError where it picks none.

    >>> format_of_file("folder/weights.TSV").name
    'tsv'
    """
    row = format_of_suffix(file)
    if row is None:
        hint = f"expected one of {', '.join(known_suffixes())}, or --format"
        raise AttnError(
            f"the suffix {PurePath(file).suffix.lower()!r} names no format", where=f"--output {file}", hint=hint
        )
    return row


def format_of_suffix(file: str) -> OutputFormat | None:
    """The format that the suffix of a file's name picks, in whatever case; None where it picks none."""
    suffix = PurePath(file).suffix.lower()
    return next((row for row in FORMATS if suffix in row.suffixes), None)


def known_suffixes() -> Sequence[str]:
    """The suffixes that pick a format, in the order of the table."""
    return [suffix for row in FORMATS for suffix in row.suffixes]
