"""The formulas of a spreadsheet: one number of a step, by the function that computes it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.ops.contexts import argmax
from attncli.ops.elementwise import add_bias
from attncli.ops.masks import apply_mask
from attncli.ops.normalizers import hardmax, none, relu, sigmoid, softmax, softmax1, sum_, topk
from attncli.ops.norms import l2, layer, rms
from attncli.ops.recording.arrays import NotRecordedError
from attncli.ops.sparse_normalizers import sparsemax
from attncli.plan.trace import Step
from attncli.worksheet.spreadsheet.cells import Book, Index
from attncli.worksheet.spreadsheet.recorded import RecordedFormulas

HIDDEN = "−∞"  # the text of a hidden score: a cell has no infinity

Formula = Callable[[Book, Step, Index], str]
# The activations of a hidden layer, for a sum.
ACTIVATIONS = {"tanh": "TANH({})", "relu": "MAX(0,{})", "sigmoid": "1/(1+EXP(-({})))", "identity": "{}"}


def _apply_mask(book: Book, step: Step, at: Index) -> str:
    score, visible = book.ref(step.inputs["scores"], at), book.ref(step.inputs["visible"], at)
    return f'IF({visible}=1,{score},"{HIDDEN}")'


def _add_bias(book: Book, step: Step, at: Index) -> str:
    """One score and its bias; beyond the table's columns, and where it masks the key, it adds nothing."""
    score, inputs, trace = book.ref(step.inputs["scores"], at), step.inputs, book.trace
    row, column = int(trace.value(inputs["query_rows"])[at[-2]]), int(trace.value(inputs["key_positions"])[at[-1]])
    bias = trace.value(inputs["table"])
    place = (*at[:-2], row, column)
    is_added = column < bias.shape[-1] and bool(np.isfinite(bias[..., min(row, bias.shape[-2] - 1), column]).all())
    return f"{score}+{book.ref(inputs['table'], place)}" if is_added else score


def _exponential(book: Book, step: Step, at: Index) -> str:
    score = book.ref(step.inputs["scores"], at)
    row = book.range(book.of(step.inputs["scores"], (*at[:-1], slice(None))))
    temperature = step.options.get("temperature", 1)
    divided = "" if temperature == 1 else f"/{_number(temperature)}"
    return f"IF(ISNUMBER({score}),EXP(({score}-MAX({row})){divided}),0)"


def _softmax(book: Book, step: Step, at: Index) -> str:
    exponentials = step.node.taps.get("exponentials", "")
    if exponentials in book.titles:
        row = book.range(book.of(exponentials, (*at[:-1], slice(None))))
        return f"IF(SUM({row})=0,0,{book.ref(exponentials, at)}/SUM({row}))"
    terms = [_exponential(book, step, (*at[:-1], key)) for key in range(step.value.shape[-1])]
    return f"{terms[at[-1]]}/({'+'.join(terms)})"


def _moved_number(book: Book, step: Step, at: Index) -> str:
    return str(book.cells[int(book.sources[step.name][at])])


def _number(value: Any) -> str:
    return repr(float(value))


def _row(book: Book, step: Step, at: Index, name: str = "scores") -> str:
    """The row of an input that contains a number; functions ignore hidden ones, which are texts."""
    return book.arguments(book.of(step.inputs[name], (*at[:-1], slice(None))))


def _where_visible(write: Formula) -> Formula:
    """A writer that gives the weight 0 to a hidden score."""

    def visible(book: Book, step: Step, at: Index) -> str:
        return f"IF(ISNUMBER({book.ref(step.inputs['scores'], at)}),{write(book, step, at)},0)"

    return visible


def _of_score(text: str) -> Formula:
    """A weight computed from the score `s` and its row `r`."""
    return _where_visible(
        lambda book, step, at: text.format(s=book.ref(step.inputs["scores"], at), r=_row(book, step, at))
    )


def _sigmoid(book: Book, step: Step, at: Index) -> str:
    shift = step.options.get("shift", 0)
    score = book.ref(step.inputs["scores"], at)
    return f"1/(1+EXP(-({score}{f'+{_number(shift)}' if shift else ''})))"


def _topk_exponential(book: Book, step: Step, at: Index) -> str:
    score, row = book.ref(step.inputs["scores"], at), _row(book, step, at)
    least = f"LARGE({row},MIN({step.options['k']},COUNT({row})))"
    return f"IF({score}>={least},EXP({score}-MAX({row})),0)"


def _softmax1(book: Book, step: Step, at: Index) -> str:
    exponentials = step.node.taps["exponentials"]
    row = book.arguments(book.of(exponentials, (*at[:-1], slice(None))))
    return f"{book.ref(exponentials, at)}/(EXP(-MAX({_row(book, step, at)},0))+SUM({row}))"


def _sparsemax(book: Book, step: Step, at: Index) -> str:
    """The score minus the threshold: the largest of the thresholds from the best score, the two best, and so on."""
    score, row = book.ref(step.inputs["scores"], at), _row(book, step, at)
    ranks = range(1, step.value.shape[-1] + 1)
    best = [f"LARGE({row},{rank})" for rank in ranks]
    own = [f"({'+'.join(best[:rank])}-1)/{rank}" for rank in ranks]
    thresholds = own[:1] + [f"IF(COUNT({row})<{rank},{own[0]},{text})" for rank, text in enumerate(own[1:], 2)]
    return f"MAX(0,{score}-MAX({','.join(thresholds)}))"


def _with_gain(book: Book, step: Step, at: Index, text: str) -> str:
    """A number of a vector times its gain, plus its bias, shared by all vectors or by a head's."""

    def own(name: str) -> str:
        index = at[-1:] if book.ids[step.inputs[name]].ndim == 1 else (*at[:-2], at[-1])
        return book.ref(step.inputs[name], index)

    if "gain" in step.inputs:
        gain = own("gain")
        text += f"*(1+{gain})" if step.options.get("gain_plus_one") else f"*{gain}"
    return f"{text}+{own('bias')}" if "bias" in step.inputs else text


def _norm(size: str, centre: str, book: Book, step: Step, at: Index) -> str:
    """A number of a vector, minus its centre, divided by its size; a zero vector stays zero."""
    row, eps = _row(book, step, at, "x"), step.options.get("eps") or 0
    square = size.format(r=row, d=step.value.shape[-1]) + (f"+{_number(eps)}" if eps else "")
    divided = f"({book.ref(step.inputs['x'], at)}{centre.format(r=row)})/SQRT({square})"
    return _with_gain(book, step, at, divided if eps else f"IF({square}=0,0,{divided})")


def _argmax(book: Book, step: Step, at: Index) -> str:
    """The value of the first key with the largest weight; 0 if each weight is 0."""
    row = _row(book, step, at, "weights")
    weights = book.of(step.inputs["weights"], (*at[:-1], slice(None))).tolist()
    values = book.of(step.inputs["value"], (*at[:-2], slice(None), at[-1])).tolist()
    text = "0"
    for weight, value in reversed([*zip(weights, values, strict=True)]):
        text = f"IF({book.cells[weight]}=MAX({row}),{book.cells[value]},{text})"
    return f"IF(MAX({row})=0,0,{text})"


# The formula of one number of a step, by its function, or by that and its inner quantity.
FORMULAS: Mapping[Any, Formula] = {
    add_bias: _add_bias,
    apply_mask: _apply_mask,
    softmax: _softmax,
    (softmax, "exponentials"): _exponential,
    softmax1: _softmax1,
    (softmax1, "exponentials"): _of_score("EXP({s}-MAX({r},0))"),
    topk: _softmax,
    (topk, "exponentials"): _where_visible(_topk_exponential),
    sigmoid: _where_visible(_sigmoid),
    relu: _of_score("MAX(0,{s})"),
    hardmax: _of_score("IF({s}=MAX({r}),1/COUNTIF({r},MAX({r})),0)"),
    sum_: _of_score("IF(SUM({r})=0,0,{s}/SUM({r}))"),
    none: _of_score("{s}"),
    sparsemax: _where_visible(_sparsemax),
    l2: partial(_norm, "SUMSQ({r})", ""),
    rms: partial(_norm, "SUMSQ({r})/{d}", ""),
    layer: partial(_norm, "DEVSQ({r})/{d}", "-AVERAGE({r})"),
    argmax: _argmax,
}


def formula_of(book: Book, step: Step) -> tuple[Formula, Step]:
    """The writer of a step's formulas, and the step whose inputs it reads; raises AttnError if there is none."""
    if step.name in book.sources:
        return _moved_number, step
    trace, outer, name = book.trace, step, ""
    if step.tapped_from is not None:
        outer = trace[step.tapped_from]
        name = next(inner for inner, node in outer.node.taps.items() if node == step.name)
    write = FORMULAS.get((outer.function, name) if name else outer.function)
    return (write or _recorded(book, outer, name, step.name)), outer


def _recorded(book: Book, step: Step, inner: str, name: str) -> Formula:
    """The writer of a step's formulas from a recording of its function; raises AttnError if there is none."""
    try:
        formulas = RecordedFormulas(book, step, inner)
    except NotRecordedError as error:
        raise _missing(name, step, error) from None

    def write(_book: Book, _step: Step, at: Index) -> str:
        try:
            return formulas(at)
        except NotRecordedError as error:
            raise _missing(name, step, error) from None

    return write


def _missing(name: str, step: Step, reason: NotRecordedError) -> AttnError:
    """The error for numbers without a cell formula, from the recording of a step."""
    where = f" ({reason.where})" if reason.where else ""
    message = f"{name} has no formulas of a spreadsheet: in {step.node.title}, {reason.message}{where}"
    return AttnError(message, where="--output", hint="write .md, .tex or .html")
