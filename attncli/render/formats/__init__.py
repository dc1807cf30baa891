"""Output formats: one row of a table each. The table names each format's function, which is imported on call."""

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
EVERY_STEP = 200_000  # a page has every step if all steps together have at most so many numbers
FIGURE_DECIMALS = 2  # decimals that fit the cells of a figure
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
    """One way to write the view of a result; its row has everything that distinguishes it from other formats.

    A text format's function is `write(content, target: TextTarget) -> Iterable[str]`; a binary format's is
    `write(content, stream: IO[bytes]) -> None`.
    """

    name: str
    suffixes: tuple[str, ...]  # suffixes of its files, with the dot, in lower case
    function: str  # "module:function"
    content: str = VIEW
    is_binary: bool = False
    is_lossless: bool = True  # programs read every number back; otherwise numbers are rounded for readers
    holds_one_array: bool = False
    is_figure: bool = False  # a picture of the results, with the size of the view, without worked lines
    has_title: bool = False  # whether it shows the title of the view
    decimals: int | None = None  # decimals of rounded numbers by default; None for the usual number
    every_step_size: int = 0  # it shows every step by default if all have at most so many numbers
    has_heatmaps: bool = False  # whether it can draw tables as blocks of colour
    has_matrices: bool = False  # whether it can write tables as matrices
    has_curves: bool = False  # whether it can draw a data fit
    memory_per_number: int = 0  # bytes of memory per number, if it can't write a few rows at a time
    divider: str | None = ""  # the line between two results on standard output; None: each is one line
    is_choice: bool = True  # whether `--format` offers it; otherwise only a suffix picks it
    # "module:class" whose instance, made from the file's stream, becomes `RunOptions.allocate`, so that a large result
    # is computed in the file itself; afterwards `is_used` is true if the file holds the result.
    file_allocator: str | None = None
    # "module:function" that writes a comparison as a row for each query and key, with a number of each result:
    # `write(comparison: Comparison, target: TextTarget) -> Iterable[str]`.
    long_table: str | None = None
    row_table: str | None = None  # "module:function" that writes the rows of an answer that is one table
    page: str | None = None  # "module:function" that writes the page of an answer: `write(content) -> Iterable[str]`
    picture: str | None = None  # "module:function" that draws the text as a picture of a terminal, an SVG
    # "module:function" that raises AttnError before the work if the format can't show some results: `check(plan: Plan,
    # names: Iterable[str], cut_axes: Collection[str]) -> None`.
    check: str | None = None
    # "module:function" for what the format loses of a view: `warnings(view: View) -> Sequence[str]`.
    warnings: str | None = None
    # "module:function" that raises AttnError if a problem has no story: `check(problem: ProblemSpec) -> None`.
    story: str | None = None
    has_parts: bool = False  # whether a worked example has a section for each of its parts
    # "module:function" for the arrays that the text loads, by file name, written to files next to it: `files(view:
    # View, target: TextTarget) -> Mapping[str, Array]`.
    files_beside: str | None = None

    @property
    def is_code(self) -> bool:
        """Whether it is code that computes the results again."""
        return self.files_beside is not None

    @property
    def is_object(self) -> bool:
        """Whether it is an object: with `explain` it has the selected results by name, and also the steps."""
        return self.content == OBJECT

    @property
    def is_text_for_readers(self) -> bool:
        """Whether it is a text for people, with worked lines and statistics."""
        return not self.is_lossless and not self.is_figure

    @property
    def has_every_digit(self) -> bool:
        """Whether its numbers are never rounded; people read CSV too, and may ask for a number of decimals."""
        return self.is_lossless and not self.compares_cells

    @property
    def is_picture(self) -> bool:
        """Whether people open its files to look at them: figures, and the page."""
        return self.is_figure or self.name == PAGE

    @property
    def shows_every_step(self) -> bool:
        """Whether it shows every step by default, if the problem is not too large."""
        return self.every_step_size > 0

    def has_room_for_steps(self, plan: "Plan") -> bool:
        """Whether it shows every step of a plan by default."""
        return self.shows_every_step and plan.size <= self.every_step_size

    def keeps_every_step(self, plan: "Plan") -> bool:
        """Whether it reads the values of every step of a plan by default."""
        return self.has_room_for_steps(plan) or (self.is_code and plan.size <= EVERY_STEP)

    @property
    def shows_before(self) -> bool:
        """Whether it can show an earlier result next to the view's: objects and texts can."""
        return self.is_object or not self.is_lossless

    @property
    def compares_cells(self) -> bool:
        """Whether a comparison has a row for each query and key."""
        return self.long_table is not None

    @property
    def writes_documents(self) -> bool:
        """Whether it can write an answer other than the view of a result: its document, or its object."""
        return self.is_object or self.content in (DOCUMENT, MARKED_DOCUMENT)

    def render(self, view: "View", target: TextTarget) -> Chunks:
        """The view as text for a target, in chunks; only of a text format."""
        text: Chunks = import_object(self.function)(self._content(view), target)
        return text

    def render_answer(self, answer: "Answer", target: TextTarget) -> Chunks:
        """An answer as text for a target, in chunks: the object, rows, page or document that the format has."""
        if self.page is not None and answer.page is not None:
            page: Chunks = import_object(self.page)(answer.page())
            return page
        if self.row_table is not None and answer.rows is not None:
            rows: Chunks = import_object(self.row_table)(answer.rows(), target)
            return rows
        text: Chunks = import_object(self.function)((answer.object if self.is_object else answer.document)(), target)
        return text

    def arrays_beside(self, view: "View", target: TextTarget) -> "Mapping[str, Array]":
        """The arrays that the text of a view loads, by file name."""
        arrays: Mapping[str, Array] = {}
        return arrays if self.files_beside is None else import_object(self.files_beside)(view, target)

    def write(self, view: "Drawable", stream: IO[bytes]) -> None:
        """Write the view to a stream of bytes; only of a binary format."""
        import_object(self.function)(self._content(view), stream)

    def _content(self, view: "Drawable") -> Any:
        """The content that its function writes of a view."""
        return import_object(self.content)(view) if self.content else view

    def check_results(self, plan: "Plan", names: Iterable[str], cut_axes: Collection[str]) -> None:
        """Raise AttnError if it can't show some results; axes in `cut_axes` have one shown position."""
        if self.check is not None:
            import_object(self.check)(plan, names, cut_axes)

    def warnings_of(self, view: "Drawable") -> Sequence[str]:
        """Warnings of what it can't show of a view."""
        warnings: Sequence[str] = () if self.warnings is None else import_object(self.warnings)(view)
        return warnings

    def make_file_allocator(self, stream: IO[bytes]) -> Any:
        """The allocator of results in the file of the stream, or None if the format has none."""
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
    # An SVG viewer has its own fonts.
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
    """Write a view to a file's stream: as bytes in a binary format, otherwise as text in UTF-8.

    The chunks of a text pass through `on_text`, which may count or join them. Arrays that the text loads go to files
    next to the target's. Raises AttnError if the format can't hold the view, or a file can't be written.
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
    """The format that `--format` offers under a name; raises UnknownNameError for other names.

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
    """The format of a file for another format's content: in an SVG, the one that draws its text.

    Raises AttnError if the suffix belongs to another format; a .txt file may have any text.

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
    """The format that the suffix of a file's name picks; raises AttnError if it picks none.

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
    """The format that the suffix of a file's name picks, in any case; None if it picks none."""
    suffix = PurePath(file).suffix.lower()
    return next((row for row in FORMATS if suffix in row.suffixes), None)


def known_suffixes() -> Sequence[str]:
    """The suffixes that pick a format, in the order of the table."""
    return list(dict.fromkeys(suffix for row in FORMATS for suffix in row.suffixes))
