"""Work sheets as spreadsheets: a sheet for each step, with a formula in each computed cell; needs openpyxl.

An input that is changed changes all that follows. Formulas are of single cells: no array formulas.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from attncli.base.errors import AttnError, missing_package
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import escape_control
from attncli.io.problem_files import parse_document
from attncli.io.spreadsheets import PROBLEM_SHEET
from attncli.ops.contexts import weighted_sum
from attncli.ops.distances import gaussian
from attncli.ops.elementwise import add, add_bias, scale, softcap
from attncli.ops.masks import apply_mask
from attncli.ops.normalizers import softmax
from attncli.ops.scores import additive, cosine, dot, scaled_dot
from attncli.ops.structural import project
from attncli.plan.trace import Step, Trace
from attncli.problem.fields import EXPECTED
from attncli.render.explanation import explained_steps
from attncli.render.tables import leading_slices
from attncli.render.worksheet import Sheet, answer_text

HIDDEN = "−∞"  # the text of a hidden score: a cell has no infinity
MAX_TITLE = 31  # characters of the name of a sheet
MAX_FORMULA = 8000  # characters, a little less than spreadsheets take
FIRST_ROW = 5  # of tables: the title, the purpose and the formula stand above
BLANK_FILL, INPUT_FILL = "FFFFF2CC", "FFDDEBF7"
_FORBIDDEN = str.maketrans(dict.fromkeys("[]:*?/\\'", "_"))

Index = tuple[int, ...]


class _Cell(NamedTuple):
    """Where a number stands."""

    title: str
    row: int
    column: int

    def __str__(self) -> str:
        from openpyxl.utils import get_column_letter  # noqa: PLC0415 - an extra

        return f"'{self.title}'!{get_column_letter(self.column)}{self.row}"


class _Book:
    """The cells in which the numbers of steps stand."""

    def __init__(self, trace: Trace, names: frozenset[str]) -> None:
        self.trace = trace
        self.cells: list[_Cell] = []
        self.ids: dict[str, Array] = {}  # of cells, in the shape of each step's value
        self.sources: dict[str, Array] = {}  # the cells of the numbers that a step moves, in the shape of its value
        self.titles: dict[str, str] = {}
        shown = {step.name: entry.title for entry in explained_steps(trace, names) for step in entry.steps[:1]}
        copies = {step.name for entry in explained_steps(trace, names) if entry.are_copies for step in entry.steps}
        for step in trace.steps:
            source = self._moved(step)
            if source is not None:
                self.sources[step.name] = source
            if step.name in shown and step.name not in copies:
                self._place(step)
            elif source is not None:
                self.ids[step.name] = source

    def _place(self, step: Step) -> None:
        """Give a step a sheet of its own."""
        title = step.name.translate(_FORBIDDEN)[:MAX_TITLE]
        while title in self.titles.values():
            title = f"{title[: MAX_TITLE - 2]}_2"
        self.titles[step.name] = title
        value = np.atleast_1d(step.value)
        table = value.reshape(-1, *value.shape[-2:]) if value.ndim > 1 else value[None, None]
        first = len(self.cells)
        for at, rows in enumerate(table):
            top = FIRST_ROW + at * (len(rows) + 3) + 2
            self.cells += [_Cell(title, top + row, 2 + column) for row, column in np.ndindex(rows.shape)]
        self.ids[step.name] = first + np.arange(value.size).reshape(step.value.shape)

    def _moved(self, step: Step) -> Array | None:
        """The cells of a step that moves the numbers of another one, and computes none."""
        sources = [*step.inputs.values()]
        if not step.node.is_exact or step.function is None or not sources or not {*sources} <= self.ids.keys():
            return None
        moved: Array = step.function(**step.node.arguments(self.ids), **step.options)
        return moved

    def of(self, name: str, index: Sequence[Any]) -> Array:
        """The cells of a step at an index, of which axes broadcast."""
        ids = self.ids[name]
        own = [*index][len(index) - ids.ndim :]
        fitted = (0 if size == 1 and isinstance(at, int) else at for at, size in zip(own, ids.shape, strict=True))
        return np.asarray(ids[tuple(fitted)])

    def ref(self, name: str, index: Sequence[int]) -> str:
        """The cell of one number."""
        return str(self.cells[int(self.of(name, index))])

    def range(self, ids: Array) -> str:
        """The range of cells next to one another in a row; otherwise an empty text."""
        cells = [self.cells[at] for at in ids.tolist()]
        first = cells[0]
        if cells != [first._replace(column=first.column + at) for at in range(len(cells))]:
            return ""
        return f"{first}:{str(cells[-1]).rpartition('!')[2]}"

    def products(self, left: Array, right: Array) -> str:
        """The sum of the products of numbers."""
        ranges = self.range(left), self.range(right)
        if all(ranges):
            return f"SUMPRODUCT({','.join(ranges)})"
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return "+".join(f"{self.cells[one]}*{self.cells[other]}" for one, other in pairs)


Formula = Callable[[_Book, Step, Index], str]
# The activations of a hidden layer, of a sum.
ACTIVATIONS = {"tanh": "TANH({})", "relu": "MAX(0,{})", "sigmoid": "1/(1+EXP(-({})))", "identity": "{}"}


def _project(book: _Book, step: Step, at: Index) -> str:
    inputs, row = step.inputs, (*at[:-1], slice(None))
    x = inputs["x"]
    text = (
        book.products(book.of(x, row), book.of(inputs["w"], (*at[:-2], slice(None), at[-1]))) if "w" in inputs else ""
    )
    text = text or book.ref(x, at)
    return f"{text}+{book.ref(inputs['b'], at[-1:])}" if "b" in inputs else text


def _dot_products(book: _Book, step: Step, at: Index) -> str:
    query, key = step.inputs["query"], step.inputs["key"]
    return book.products(book.of(query, (*at[:-1], slice(None))), book.of(key, (*at[:-2], at[-1], slice(None))))


def _scaled_dot(book: _Book, step: Step, at: Index) -> str:
    products = step.node.taps.get("dot_products", "")
    text = book.ref(products, at) if products in book.titles else _dot_products(book, step, at)
    return f"{text}/SQRT({book.ids[step.inputs['query']].shape[-1]})"


def _squared_distances(book: _Book, step: Step, at: Index) -> str:
    query, key = step.inputs["query"], step.inputs["key"]
    left, right = book.of(query, (*at[:-1], slice(None))), book.of(key, (*at[:-2], at[-1], slice(None)))
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return "+".join(f"({book.cells[one]}-{book.cells[other]})^2" for one, other in pairs)


def _gaussian(book: _Book, step: Step, at: Index) -> str:
    distances = step.node.taps.get("squared_distances", "")
    text = book.ref(distances, at) if distances in book.titles else f"({_squared_distances(book, step, at)})"
    return f"0-{text}/(2*{_number(step.options['sigma'])}^2)"


def _additive(book: _Book, step: Step, at: Index) -> str:
    hidden, vector = step.node.taps["hidden"], step.inputs["v"]
    return book.products(book.of(hidden, (*at, slice(None))), book.of(vector, (slice(None),)))


def _hidden(book: _Book, step: Step, at: Index) -> str:
    taps, (*leading, query, key, feature) = step.node.taps, at
    terms = [
        book.ref(taps["projected_key"], (*leading, key, feature)),
        book.ref(taps["projected_query"], (*leading, query, feature)),
    ]
    terms += [book.ref(step.inputs["b"], (feature,))] if "b" in step.inputs else []
    return ACTIVATIONS[step.options["activation"]].format("+".join(terms))


def _projected(sequence: str, matrix: str) -> Formula:
    """What projects a sequence by a matrix that is a parameter."""

    def write(book: _Book, step: Step, at: Index) -> str:
        row = book.of(step.inputs[sequence], (*at[:-1], slice(None)))
        return book.products(row, book.of(step.inputs[matrix], (*at[:-2], slice(None), at[-1])))

    return write


def _unit(sequence: str) -> Formula:
    """What divides a vector of a sequence by its length."""

    def write(book: _Book, step: Step, at: Index) -> str:
        row = book.range(book.of(step.inputs[sequence], (*at[:-1], slice(None))))
        return f"IF(SUMSQ({row})=0,0,{book.ref(step.inputs[sequence], at)}/SQRT(SUMSQ({row})))"

    return write


def _cosine(book: _Book, step: Step, at: Index) -> str:
    query, key = (book.of(step.node.taps[name], at) for name, at in _rows_of_pair(at))
    return f"{_number(step.options['beta'])}*{book.products(query, key)}"


def _rows_of_pair(at: Index) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The vectors of the query and of the key of a pair, by the names of the inner quantities."""
    yield "unit_query", (*at[:-1], slice(None))
    yield "unit_key", (*at[:-2], at[-1], slice(None))


def _apply_mask(book: _Book, step: Step, at: Index) -> str:
    score, visible = book.ref(step.inputs["scores"], at), book.ref(step.inputs["visible"], at)
    return f'IF({visible}=1,{score},"{HIDDEN}")'


def _add_bias(book: _Book, step: Step, at: Index) -> str:
    """One score and its bias; beyond the columns of the table, and where it masks the key, nothing is added."""
    score, inputs, trace = book.ref(step.inputs["scores"], at), step.inputs, book.trace
    row, column = int(trace.value(inputs["query_rows"])[at[-2]]), int(trace.value(inputs["key_positions"])[at[-1]])
    bias = trace.value(inputs["table"])
    place = (*at[:-2], row, column)
    is_added = column < bias.shape[-1] and bool(np.isfinite(bias[..., min(row, bias.shape[-2] - 1), column]).all())
    return f"{score}+{book.ref(inputs['table'], place)}" if is_added else score


def _exponential(book: _Book, step: Step, at: Index) -> str:
    score = book.ref(step.inputs["scores"], at)
    row = book.range(book.of(step.inputs["scores"], (*at[:-1], slice(None))))
    temperature = step.options.get("temperature", 1)
    divided = "" if temperature == 1 else f"/{_number(temperature)}"
    return f"IF(ISNUMBER({score}),EXP(({score}-MAX({row})){divided}),0)"


def _softmax(book: _Book, step: Step, at: Index) -> str:
    exponentials = step.node.taps.get("exponentials", "")
    if exponentials in book.titles:
        row = book.range(book.of(exponentials, (*at[:-1], slice(None))))
        return f"IF(SUM({row})=0,0,{book.ref(exponentials, at)}/SUM({row}))"
    terms = [_exponential(book, step, (*at[:-1], key)) for key in range(step.value.shape[-1])]
    return f"{terms[at[-1]]}/({'+'.join(terms)})"


def _weighted_sum(book: _Book, step: Step, at: Index) -> str:
    weights = book.of(step.inputs["weights"], (*at[:-1], slice(None)))
    return book.products(weights, book.of(step.inputs["value"], (*at[:-2], slice(None), at[-1])))


def _moved_number(book: _Book, step: Step, at: Index) -> str:
    return str(book.cells[int(book.sources[step.name][at])])


def _number(value: Any) -> str:
    return repr(float(value))


def _cap(book: _Book, step: Step, at: Index) -> str:
    cap = _number(step.options["cap"])
    return f"{cap}*TANH({book.ref(step.inputs['scores'], at)}/{cap})"


# The formula of one number of a step, by the function that computes it, or by that and the inner quantity of it.
FORMULAS: Mapping[Any, Formula] = {
    project: _project,
    dot: _dot_products,
    scaled_dot: _scaled_dot,
    (scaled_dot, "dot_products"): _dot_products,
    additive: _additive,
    (additive, "projected_key"): _projected("key", "w1"),
    (additive, "projected_query"): _projected("query", "w2"),
    (additive, "hidden"): _hidden,
    cosine: _cosine,
    (cosine, "unit_query"): _unit("query"),
    (cosine, "unit_key"): _unit("key"),
    gaussian: _gaussian,
    (gaussian, "squared_distances"): _squared_distances,
    scale: lambda book, step, at: f"{book.ref(step.inputs['scores'], at)}*{_number(step.options['scale'])}",
    add_bias: _add_bias,
    add: lambda book, step, at: f"{book.ref(step.inputs['left'], at)}+{book.ref(step.inputs['right'], at)}",
    softcap: _cap,
    apply_mask: _apply_mask,
    softmax: _softmax,
    (softmax, "exponentials"): _exponential,
    weighted_sum: _weighted_sum,
}


def _formula_of(book: _Book, step: Step) -> tuple[Formula, Step]:
    """What writes the formulas of a step, and the step whose inputs it reads; raises AttnError where nothing does."""
    if step.name in book.sources:
        return _moved_number, step
    trace, outer, name = book.trace, step, ""
    if step.tapped_from is not None:
        outer = trace[step.tapped_from]
        name = next(inner for inner, node in outer.node.taps.items() if node == step.name)
    write = FORMULAS.get((outer.function, name) if name else outer.function)
    if write is None:
        hint = "write .md, .tex or .html"
        raise AttnError(f"{step.name} has no formulas of a spreadsheet", where="--output", hint=hint)
    return write, outer


def render(sheet: Sheet, names: frozenset[str], *, is_key: bool) -> bytes:
    """The workbook of an exercise, its blanks marked and empty, or of its key; raises AttnError without openpyxl."""
    try:
        from openpyxl import Workbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_package("openpyxl", "sheet", where="--output", needs="a spreadsheet needs") from None
    trace = sheet.result.trace
    book, workbook = _Book(trace, names), Workbook()
    cover = workbook.active
    lines = [sheet.title, f"Name: {sheet.name}", sheet.about]
    for row, line in enumerate(lines, 1):
        _put_text(cover.cell(row, 1), line)
    cover.title = "exercise"
    for name, title in book.titles.items():
        page = workbook.create_sheet(title)
        _write_step(book, trace[name], page, sheet, is_key=is_key)
    if not is_key:
        _write_problem(book, workbook.create_sheet(PROBLEM_SHEET), sheet)
    stream = io.BytesIO()
    workbook.save(stream)
    return stream.getvalue()


def _write_problem(book: _Book, page: Any, sheet: Sheet) -> None:
    """Write the hidden sheet by which the answers are read: the problem, and the cell of each number that it has."""
    page.sheet_state = "hidden"
    text = answer_text(sheet)
    for row, line in enumerate(text.splitlines(), 1):
        _put_text(page.cell(row, 1), line)
    for row, (path, cell) in enumerate(_cells_of_numbers(book, sheet, text), 1):
        for column, part in enumerate((json.dumps(path), cell.title, str(cell).rpartition("!")[2]), 2):
            _put_text(page.cell(row, column), part)


def _cells_of_numbers(book: _Book, sheet: Sheet, text: str) -> Iterator[tuple[list[str | int], _Cell]]:
    """The path in the problem of each input and each blank, and the cell that it is written in."""
    values = {key: raw.value for key, raw in parse_document(text, "sheet.yaml").items()}
    trace = book.trace
    for step in trace.steps:
        given = dict(_leaves(values.get(step.name)))
        numbers = [value if isinstance(value, (int, float)) else np.nan for value in given.values()]
        if step.node.is_input and step.name in book.titles and np.array_equal(numbers, step.value.ravel()):
            for path, at in zip(given, book.ids[step.name].ravel().tolist(), strict=True):
                yield [step.name, *path], book.cells[at]
    for name, asked in (values.get(EXPECTED) or {}).items():
        cells = book.ids[name][sheet.blanks.cells[name]].tolist()
        for (path, _), at in zip(_leaves(asked), cells, strict=True):
            yield [EXPECTED, name, *path], book.cells[at]


def _leaves(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The values in nested lists and mappings, in order, with their paths."""
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if parts is None:
        yield (), value
        return
    for key, part in parts:
        yield from (((key, *path), leaf) for path, leaf in _leaves(part))


def _put_text(cell: Any, text: str) -> None:
    """Put a text into a cell, as text: one that begins with `=` is not a formula."""
    cell.value = escape_control(text)
    cell.data_type = "s"


def _write_step(book: _Book, step: Step, page: Any, sheet: Sheet, *, is_key: bool) -> None:
    """Write a sheet: what the step is, and its tables."""
    _put_text(page.cell(1, 1), f"{step.name}  {step.symbol}")
    if sheet.has_formulas:
        _put_text(page.cell(2, 1), step.node.purpose)
        _put_text(page.cell(3, 1), step.formula)
    for row, column, text in _labels(book, step):
        _put_text(page.cell(row, column), text)
    blank = sheet.blanks.of(step)
    is_constant = step.node.is_input or step.value.dtype.kind != "f"  # positions and masks follow from lengths
    write, outer = (None, step) if is_constant else _formula_of(book, step)
    decimals = sheet.decimals if np.any(step.value != np.rint(step.value)) else 0
    for at in np.ndindex(step.value.shape):
        place = book.cells[int(book.ids[step.name][at])]
        cell = page.cell(place.row, place.column)
        is_blank = blank is not None and bool(blank[at])
        if is_blank or write is None:
            _fill(cell, BLANK_FILL if is_blank else INPUT_FILL)
        if is_blank and not is_key:
            continue
        if write is None:
            number = step.value[at].item()
            cell.value = HIDDEN if not np.isfinite(number) else int(number) if isinstance(number, bool) else number
        else:
            cell.value = _checked(f"={write(book, outer, at)}", step.name)
            cell.number_format = f"0.{'0' * decimals}" if decimals else "General"


def _checked(formula: str, name: str) -> str:
    """A formula; raises AttnError where spreadsheets do not take one so long."""
    if len(formula) > MAX_FORMULA:
        raise AttnError(f"a formula of {name} is too long for a spreadsheet", where="--output", hint="write .md")
    return formula


def _fill(cell: Any, color: str) -> None:
    from openpyxl.styles import PatternFill  # noqa: PLC0415 - an extra

    cell.fill = PatternFill("solid", fgColor=color)


def _labels(book: _Book, step: Step) -> Iterator[tuple[int, int, str]]:
    """The row, the column and the text of each label: of slices, rows and columns."""
    trace, ids = book.trace, book.ids[step.name]
    columns = trace.numbered_labels_of(step, -1)
    slices = list(leading_slices(trace, step)) if ids.ndim > 1 else [((), "")]
    for index, label in slices:
        table = ids[index] if ids.ndim > 1 else np.atleast_1d(ids)[None]
        top = book.cells[int(table[0, 0])].row
        if label:
            yield top - 2, 1, label
        yield from ((top - 1, 2 + at, text) for at, text in enumerate(columns))
        rows = trace.numbered_labels_of(step, -2) if ids.ndim > 1 else (step.symbol,)
        yield from ((top + at, 1, text) for at, text in enumerate(rows))
