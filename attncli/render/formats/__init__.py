"""Output formats: one row of a table for each; its function is imported when it is called."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, import_object
from attncli.render.target import TEXT_FILE, TextTarget

if TYPE_CHECKING:
    from attncli.plan.graph import Plan
    from attncli.render.document import Answer
    from attncli.render.view import Drawable, View

Chunks = Iterable[str]

DEFAULT_FORMAT, JSON, PAGE = "table", "json", "html"
EVERY_STEP = 200_000  # numbers of all steps together up to which a page has every step
FIGURE_DECIMALS = 2  # cells of a figure have room for so many
PICTURE_SUFFIX = ".svg"


_HERE, _OBJECT = "attncli.render.formats", "attncli.render.objects"
_FIGURE, _PAGE = "attncli.figure", "attncli.page"
_SCRIPT, _NOTEBOOK = "attncli.code.script", "attncli.code.notebook"

# What a format writes of a view: "module:function" that makes it, or the view itself. Other answers have a document and
# an object.
VIEW = ""
DOCUMENT, MARKED_DOCUMENT = "attncli.render.sections:document_of", "attncli.render.sections:marked_document_of"
OBJECT = f"{_OBJECT}:result_object"
_LONG_TABLE = "attncli.comparisons.long_table"


@dataclass(frozen=True, eq=False)
class OutputFormat:
    """One way to write the view of a result: all that distinguishes it from other formats is in its row.

    The function of a text format is `write(content, target: TextTarget) -> Iterable[str]`; that of a binary format
    `write(content, stream: IO[bytes]) -> None`.
    """

    name: str
    suffixes: tuple[str, ...]  # of the files that are written in this format, with the dot, in lower case
    function: str  # "module:function"
    content: str = VIEW
    is_binary: bool = False
    is_lossless: bool = True  # programs read every number back; otherwise numbers are rounded for a reader
    holds_one_array: bool = False
    is_figure: bool = False  # a picture of the results, with the size of the view, and without worked lines
    has_title: bool = False  # whether it shows the title of the view
    decimals: int | None = None  # of rounded numbers, where no others are asked for; None for the usual ones
    every_step_size: int = 0  # numbers of all steps together up to which it shows every step unasked
    has_heatmaps: bool = False  # whether it draws tables as blocks of colour where that is asked for
    has_matrices: bool = False  # whether it writes tables as matrices where that is asked for
    has_curves: bool = False  # whether it draws a data fit where that is asked for
    memory_per_number: int = 0  # bytes that writing takes for each number, where it can't be done a few rows at a time
    divider: str | None = ""  # the line between two results on standard output; None: each is on one line
    is_choice: bool = True  # whether `--format` offers it; a format that it does not offer is picked by suffix
    # "module:class" whose instance, made from the stream of the file, is given as `RunOptions.allocate`, so that a
    # large result is computed in the file itself; afterwards its `is_used` is true where the file holds the result.
    file_allocator: str | None = None
    # "module:function" that writes a comparison itself, with a row for each query and key, so that each result has a
    # number for them: `write(comparison: Comparison, target: TextTarget) -> Iterable[str]`.
    long_table: str | None = None
    row_table: str | None = None  # "module:function" that writes the rows of an answer that is one table
    page: str | None = None  # "module:function" that writes the page of an answer: `write(content) -> Iterable[str]`
    picture: str | None = None  # "module:function" that draws the text as a picture of a terminal, an SVG
    # "module:function" that raises AttnError before the work where the format can't show some results:
    # `check(plan: Plan, names: Iterable[str], cut_axes: Collection[str]) -> None`.
    check: str | None = None
    # "module:function" for what is lost of a view in the format: `warnings(view: View) -> Sequence[str]`.
    warnings: str | None = None
    # "module:function" that raises AttnError where a problem has no story: `check(problem: ProblemSpec) -> None`.
    story: str | None = None
    has_parts: bool = False  # whether a worked example has a section for each of its parts
    # "module:function" for the arrays that the text loads from files, by their names: they are written beside it:
    # `files(view: View, target: TextTarget) -> Mapping[str, Array]`.
    files_beside: str | None = None

    @property
    def is_code(self) -> bool:
        """Whether it is code that computes the results again."""
        return self.files_beside is not None

    @property
    def is_object(self) -> bool:
        """Whether it is an object: with `explain` it has the selected results by name, and the steps in addition."""
        return self.content == OBJECT

    @property
    def is_text_for_readers(self) -> bool:
        """Whether it is a text for people, which has room for worked lines and statistics."""
        return not self.is_lossless and not self.is_figure

    @property
    def has_every_digit(self) -> bool:
        """Whether its numbers can't be rounded: a table of CSV is for people too, who may ask for so many decimals."""
        return self.is_lossless and not self.compares_cells

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

    def keeps_every_step(self, plan: "Plan") -> bool:
        """Whether it reads the values of every step of a plan, unasked."""
        return self.has_room_for_steps(plan) or (self.is_code and plan.size <= EVERY_STEP)

    @property
    def shows_before(self) -> bool:
        """Whether it has room for an earlier result in addition to that of the view: objects and readers have."""
        return self.is_object or not self.is_lossless

    @property
    def compares_cells(self) -> bool:
        """Whether a comparison has a row for each query and key."""
        return self.long_table is not None

    @property
    def writes_documents(self) -> bool:
        """Whether it can write an answer that is not the view of a result: its document, or its object."""
        return self.is_object or self.content in (DOCUMENT, MARKED_DOCUMENT)

    def render(self, view: "View", target: TextTarget) -> Chunks:
        """The view as text for a target, in chunks; only of a text format."""
        text: Chunks = import_object(self.function)(self._content(view), target)
        return text

    def render_answer(self, answer: "Answer", target: TextTarget) -> Chunks:
        """An answer as text for a target, in chunks: its object, rows, page or document, which the format has."""
        if self.page is not None and answer.page is not None:
            page: Chunks = import_object(self.page)(answer.page())
            return page
        if self.row_table is not None and answer.rows is not None:
            rows: Chunks = import_object(self.row_table)(answer.rows(), target)
            return rows
        text: Chunks = import_object(self.function)((answer.object if self.is_object else answer.document)(), target)
        return text

    def arrays_beside(self, view: "View", target: TextTarget) -> "Mapping[str, Array]":
        """The arrays that the text of a view loads, by the names of their files."""
        arrays: Mapping[str, Array] = {}
        return arrays if self.files_beside is None else import_object(self.files_beside)(view, target)

    def write(self, view: "Drawable", stream: IO[bytes]) -> None:
        """Write the view to a stream of bytes; only of a binary format."""
        import_object(self.function)(self._content(view), stream)

    def _content(self, view: "Drawable") -> Any:
        """What its function writes of a view."""
        return import_object(self.content)(view) if self.content else view

    def check_results(self, plan: "Plan", names: Iterable[str], cut_axes: Collection[str]) -> None:
        """Raise AttnError where it can't show some results, of whose axes in `cut_axes` one position is shown."""
        if self.check is not None:
            import_object(self.check)(plan, names, cut_axes)

    def warnings_of(self, view: "Drawable") -> Sequence[str]:
        """Warnings of what it can't show of a view."""
        warnings: Sequence[str] = () if self.warnings is None else import_object(self.warnings)(view)
        return warnings

    def make_file_allocator(self, stream: IO[bytes]) -> Any:
        """The allocator of results in the file of the stream, or None where the format has none."""
        return None if self.file_allocator is None else import_object(self.file_allocator)(stream)


_FOR_READERS = OutputFormat("", (), "", DOCUMENT, is_lossless=False, memory_per_number=50)
_MARKUP = replace(_FOR_READERS, content=MARKED_DOCUMENT, has_title=True, has_matrices=True)
_ARRAYS = OutputFormat("", (), "", is_binary=True, is_choice=False)
_SCRIPTS = OutputFormat("", (".py",), "", has_title=True)
_FIGURES = replace(
    _ARRAYS,
    is_lossless=False,
    is_figure=True,
    has_title=True,
    has_curves=True,
    decimals=FIGURE_DECIMALS,
    check=f"{_FIGURE}:check_figure",
    warnings=f"{_FIGURE}:warnings_of_fonts",
)

FORMATS: tuple[OutputFormat, ...] = (
    replace(
        _FOR_READERS,
        name=DEFAULT_FORMAT,
        suffixes=(".txt",),
        function=f"{_HERE}.terminal:render",
        has_heatmaps=True,
        has_curves=True,
        memory_per_number=70,
        picture=f"{_HERE}.terminal:render_picture",
    ),
    OutputFormat(JSON, (".json",), f"{_OBJECT}:write_json", OBJECT, divider=None),
    OutputFormat("yaml", (".yaml", ".yml"), f"{_OBJECT}:write_yaml", OBJECT, divider="---"),
    OutputFormat(
        "csv",
        (".csv",),
        f"{_HERE}.csv:write_csv",
        long_table=f"{_LONG_TABLE}:write_long_csv",
        row_table=f"{_HERE}.csv:write_csv_rows",
    ),
    OutputFormat(
        "tsv",
        (".tsv",),
        f"{_HERE}.csv:write_tsv",
        is_choice=False,
        long_table=f"{_LONG_TABLE}:write_long_tsv",
        row_table=f"{_HERE}.csv:write_tsv_rows",
    ),
    replace(_MARKUP, name="markdown", suffixes=(".md",), function=f"{_HERE}.markdown:render"),
    replace(_MARKUP, name="latex", suffixes=(".tex",), function=f"{_HERE}.latex:render", has_heatmaps=True),
    replace(_SCRIPTS, name="numpy", function=f"{_SCRIPT}:render_numpy", files_beside=f"{_SCRIPT}:numpy_files"),
    replace(_SCRIPTS, name="torch", function=f"{_SCRIPT}:render_torch", files_beside=f"{_SCRIPT}:torch_files"),
    OutputFormat(
        "ipynb",
        (".ipynb",),
        f"{_NOTEBOOK}:render",
        has_title=True,
        has_parts=True,
        files_beside=f"{_NOTEBOOK}:files_beside",
    ),
    OutputFormat(
        PAGE,
        (".html", ".htm"),
        f"{_PAGE}:render",
        is_lossless=False,
        is_choice=False,
        has_title=True,
        page=f"{_PAGE}.document:answer_document",
        has_parts=True,
        every_step_size=EVERY_STEP,
        check=f"{_PAGE}:check_page_size",
        warnings=f"{_PAGE}:warnings_of_size",
        story=f"{_PAGE}.guide:check_story",
    ),
    # The viewer of an SVG has fonts of its own.
    replace(_FIGURES, name="svg", suffixes=(".svg",), function=f"{_FIGURE}.files:write_svg", warnings=None),
    replace(_FIGURES, name="png", suffixes=(".png",), function=f"{_FIGURE}.files:write_png"),
    replace(_FIGURES, name="tikz", suffixes=(".tikz", ".pgf"), function=f"{_FIGURE}.tikz:write_tikz", warnings=None),
    replace(_FIGURES, name="pdf", suffixes=(".pdf",), function=f"{_FIGURE}.files:write_pdf"),
    replace(
        _ARRAYS,
        name="npy",
        suffixes=(".npy",),
        function=f"{_HERE}.files:write_npy",
        holds_one_array=True,
        is_choice=False,
        file_allocator="attncli.io.npy:NpyTarget",
    ),
    replace(_ARRAYS, name="npz", suffixes=(".npz",), function=f"{_HERE}.files:write_npz"),
    replace(
        _ARRAYS,
        name="safetensors",
        suffixes=(".safetensors",),
        function=f"{_HERE}.files:write_safetensors",
        memory_per_number=8,
    ),
)


def write_view(
    view: "View",
    output_format: OutputFormat,
    stream: IO[bytes],
    on_text: Callable[[Chunks], Chunks] = iter,
    target: TextTarget = TEXT_FILE,
) -> None:
    """Write a view to the stream of a file: as bytes where its format has them, otherwise as text in UTF-8.

    The chunks of a text pass through `on_text`, which may count or join them. Arrays that the text loads are written
    to files beside that of the target. Raises AttnError where the format can't hold the view, or a file can't be
    written.
    """
    if output_format.is_binary:
        output_format.write(view, stream)
        return
    for chunk in on_text(output_format.render(view, target)):
        stream.write(chunk.encode("utf-8", "surrogateescape"))
    for name, array in output_format.arrays_beside(view, target).items():
        import_object(f"{_HERE}.files:write_beside")(target.file, name, array)


def format_choices() -> Sequence[str]:
    """The names that `--format` offers, in the order of the table.

    >>> format_choices()
    ['table', 'json', 'yaml', 'csv', 'markdown', 'latex', 'numpy', 'torch', 'ipynb']
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

    Raises AttnError where the suffix is that of another format; any text may be in a .txt file.

    >>> format_in_file(find_format("table"), "table.svg").has_title
    True
    """
    suffix, picked = PurePath(file).suffix.lower(), format_of_suffix(file)
    if picked is None or suffix in row.suffixes or picked.name == DEFAULT_FORMAT:
        return row
    if row.picture is None or suffix != PICTURE_SUFFIX:
        drawn = f"{DEFAULT_FORMAT} is drawn in a {PICTURE_SUFFIX} file; " if row.picture and picked.is_picture else ""
        message = f"{row.name} and the suffix {suffix} contradict each other"
        hint = f"{drawn}leave out the format, or name a file with another suffix"
        raise AttnError(message, where=f"--output {file}", hint=hint)
    return replace(row, function=row.picture, has_title=True)


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
    return list(dict.fromkeys(suffix for row in FORMATS for suffix in row.suffixes))
