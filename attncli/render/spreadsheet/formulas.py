"""The formulas of a spreadsheet: of one number of a step, by the function that computes it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.ops.contexts import argmax, attentional, weighted_sum
from attncli.ops.distances import euclidean, gaussian, laplacian
from attncli.ops.elementwise import add, add_bias, multiply, scale, softcap
from attncli.ops.gates import apply_gate, sigmoid_gate, silu_gate
from attncli.ops.masks import apply_mask
from attncli.ops.normalizers import hardmax, none, relu, sigmoid, softmax, softmax1, sum_, topk
from attncli.ops.norms import l2, layer, rms
from attncli.ops.positions import add_positions, learned
from attncli.ops.rope import pair_slices, rope, rope_frequencies
from attncli.ops.scores import additive, cosine, dot, general, location, scaled_dot
from attncli.ops.sparse_normalizers import sparsemax
from attncli.ops.structural import project, with_column, without_column
from attncli.plan.trace import Step
from attncli.render.spreadsheet.cells import Book, Index

HIDDEN = "−∞"  # the text of a hidden score: a cell has no infinity

Formula = Callable[[Book, Step, Index], str]
# The activations of a hidden layer, of a sum.
ACTIVATIONS = {"tanh": "TANH({})", "relu": "MAX(0,{})", "sigmoid": "1/(1+EXP(-({})))", "identity": "{}"}


def _project(book: Book, step: Step, at: Index) -> str:
    inputs, row = step.inputs, (*at[:-1], slice(None))
    x = inputs["x"]
    text = (
        book.products(book.of(x, row), book.of(inputs["w"], (*at[:-2], slice(None), at[-1]))) if "w" in inputs else ""
    )
    text = text or book.ref(x, at)
    return f"{text}+{book.ref(inputs['b'], at[-1:])}" if "b" in inputs else text


def _dot_products(book: Book, step: Step, at: Index) -> str:
    query, key = step.inputs["query"], step.inputs["key"]
    return book.products(book.of(query, (*at[:-1], slice(None))), book.of(key, (*at[:-2], at[-1], slice(None))))


def _scaled_dot(book: Book, step: Step, at: Index) -> str:
    products = step.node.taps.get("dot_products", "")
    text = book.ref(products, at) if products in book.titles else _dot_products(book, step, at)
    return f"{text}/SQRT({book.ids[step.inputs['query']].shape[-1]})"


def _differences(book: Book, step: Step, at: Index) -> list[str]:
    query, key = step.inputs["query"], step.inputs["key"]
    left, right = book.of(query, (*at[:-1], slice(None))), book.of(key, (*at[:-2], at[-1], slice(None)))
    return [f"{book.cells[a]}-{book.cells[b]}" for a, b in zip(left.tolist(), right.tolist(), strict=True)]


def _squared_distances(book: Book, step: Step, at: Index) -> str:
    return "+".join(f"({difference})^2" for difference in _differences(book, step, at))


def _gaussian(book: Book, step: Step, at: Index) -> str:
    distances = step.node.taps.get("squared_distances", "")
    text = book.ref(distances, at) if distances in book.titles else f"({_squared_distances(book, step, at)})"
    return f"0-{text}/(2*{_number(step.options['sigma'])}^2)"


def _additive(book: Book, step: Step, at: Index) -> str:
    hidden, vector = step.node.taps["hidden"], step.inputs["v"]
    return book.products(book.of(hidden, (*at, slice(None))), book.of(vector, (slice(None),)))


def _hidden(book: Book, step: Step, at: Index) -> str:
    taps, (*leading, query, key, feature) = step.node.taps, at
    terms = [
        book.ref(taps["projected_key"], (*leading, key, feature)),
        book.ref(taps["projected_query"], (*leading, query, feature)),
    ]
    terms += [book.ref(step.inputs["b"], (feature,))] if "b" in step.inputs else []
    return ACTIVATIONS[step.options["activation"]].format("+".join(terms))


def _projected(sequence: str, matrix: str) -> Formula:
    """What projects a sequence by a matrix that is a parameter."""

    def write(book: Book, step: Step, at: Index) -> str:
        row = book.of(step.inputs[sequence], (*at[:-1], slice(None)))
        return book.products(row, book.of(step.inputs[matrix], (*at[:-2], slice(None), at[-1])))

    return write


def _unit(sequence: str) -> Formula:
    """What divides a vector of a sequence by its length."""

    def write(book: Book, step: Step, at: Index) -> str:
        row = book.range(book.of(step.inputs[sequence], (*at[:-1], slice(None))))
        return f"IF(SUMSQ({row})=0,0,{book.ref(step.inputs[sequence], at)}/SQRT(SUMSQ({row})))"

    return write


def _cosine(book: Book, step: Step, at: Index) -> str:
    query, key = (book.of(step.node.taps[name], at) for name, at in _rows_of_pair(at))
    return f"{_number(step.options['beta'])}*{book.products(query, key)}"


def _rows_of_pair(at: Index) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The vectors of the query and of the key of a pair, by the names of the inner quantities."""
    yield "unit_query", (*at[:-1], slice(None))
    yield "unit_key", (*at[:-2], at[-1], slice(None))


def _apply_mask(book: Book, step: Step, at: Index) -> str:
    score, visible = book.ref(step.inputs["scores"], at), book.ref(step.inputs["visible"], at)
    return f'IF({visible}=1,{score},"{HIDDEN}")'


def _add_bias(book: Book, step: Step, at: Index) -> str:
    """One score and its bias; beyond the columns of the table, and where it masks the key, nothing is added."""
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


def _weighted_sum(book: Book, step: Step, at: Index) -> str:
    weights = book.of(step.inputs["weights"], (*at[:-1], slice(None)))
    return book.products(weights, book.of(step.inputs["value"], (*at[:-2], slice(None), at[-1])))


def _moved_number(book: Book, step: Step, at: Index) -> str:
    return str(book.cells[int(book.sources[step.name][at])])


def _number(value: Any) -> str:
    return repr(float(value))


def _cap(book: Book, step: Step, at: Index) -> str:
    cap = _number(step.options["cap"])
    return f"{cap}*TANH({book.ref(step.inputs['scores'], at)}/{cap})"


def _row(book: Book, step: Step, at: Index, name: str = "scores") -> str:
    """The numbers of the row of an input in which a number stands; functions leave out hidden ones, which are texts."""
    return book.arguments(book.of(step.inputs[name], (*at[:-1], slice(None))))


def _where_visible(write: Formula) -> Formula:
    """What gives the weight 0 to a hidden score."""

    def visible(book: Book, step: Step, at: Index) -> str:
        return f"IF(ISNUMBER({book.ref(step.inputs['scores'], at)}),{write(book, step, at)},0)"

    return visible


def _of_score(text: str) -> Formula:
    """A weight that follows from the score `s` and its row `r`."""
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
    """The score less the threshold: the largest of those of the best score, the two best, and so on."""
    score, row = book.ref(step.inputs["scores"], at), _row(book, step, at)
    ranks = range(1, step.value.shape[-1] + 1)
    best = [f"LARGE({row},{rank})" for rank in ranks]
    own = [f"({'+'.join(best[:rank])}-1)/{rank}" for rank in ranks]
    thresholds = own[:1] + [f"IF(COUNT({row})<{rank},{own[0]},{text})" for rank, text in enumerate(own[1:], 2)]
    return f"MAX(0,{score}-MAX({','.join(thresholds)}))"


def _with_gain(book: Book, step: Step, at: Index, text: str) -> str:
    """A vector's number times its gain, plus its bias, each of all vectors or of those of a head."""

    def own(name: str) -> str:
        index = at[-1:] if book.ids[step.inputs[name]].ndim == 1 else (*at[:-2], at[-1])
        return book.ref(step.inputs[name], index)

    if "gain" in step.inputs:
        gain = own("gain")
        text += f"*(1+{gain})" if step.options.get("gain_plus_one") else f"*{gain}"
    return f"{text}+{own('bias')}" if "bias" in step.inputs else text


def _norm(size: str, centre: str, book: Book, step: Step, at: Index) -> str:
    """A number of a vector, less its centre, divided by its size; a zero vector stays zero."""
    row, eps = _row(book, step, at, "x"), step.options.get("eps") or 0
    square = size.format(r=row, d=step.value.shape[-1]) + (f"+{_number(eps)}" if eps else "")
    divided = f"({book.ref(step.inputs['x'], at)}{centre.format(r=row)})/SQRT({square})"
    return _with_gain(book, step, at, divided if eps else f"IF({square}=0,0,{divided})")


def _rope(book: Book, step: Step, at: Index) -> str:
    """A feature and that with which it is a pair, turned by the position times the frequency of the pair."""
    inputs, options, x = step.inputs, step.options, step.inputs["x"]
    if "frequencies" in inputs:
        frequencies = book.trace.value(inputs["frequencies"])
    else:
        frequencies = rope_frequencies(options.get("dims") or step.value.shape[-1], options["base"])
    if frequencies.ndim != 1:
        raise _missing(step.name)
    features = np.arange(step.value.shape[-1])
    one, other = (features[half].tolist() for half in pair_slices(len(frequencies), options["interleaved"]))
    if at[-1] not in (*one, *other):
        return book.ref(x, at)
    is_first = at[-1] in one
    pair = (one if is_first else other).index(at[-1])
    first, second = (book.ref(x, (*at[:-1], half[pair])) for half in (one, other))
    angle = f"{_position(book, step, at)}*{_number(frequencies[pair])}"
    own, partner, sign = (first, second, "-") if is_first else (second, first, "+")
    turned = f"{own}*COS({angle}){sign}{partner}*SIN({angle})"
    factor = book.trace.value(inputs["attention_factor"]) if "attention_factor" in inputs else None
    return turned if factor is None else f"{_number(factor)}*({turned})"


def _position(book: Book, step: Step, at: Index) -> str:
    """The position of a row, as a cell where there is one, less the offset and divided by the scaling."""
    name, options = step.inputs["positions"], step.options
    position = np.broadcast_to(book.trace.value(name), step.value.shape[:-1])[at[:-1]]
    text = book.ref(name, at[:-1]) if name in book.titles else _number(position)
    text = f"({text}+{_number(options['offset'])})" if options.get("offset") else text
    scaling = options.get("scaling", 1)
    return f"{text}/{_number(scaling)}" if isinstance(scaling, (int, float)) and scaling != 1 else text


def _distances(book: Book, step: Step, at: Index) -> str:
    return "+".join(f"ABS({difference})" for difference in _differences(book, step, at))


def _general(book: Book, step: Step, at: Index) -> str:
    projected = book.of(step.node.taps["projected_query"], (*at[:-1], slice(None)))
    return book.products(projected, book.of(step.inputs["key"], (*at[:-2], at[-1], slice(None))))


def _with_column(book: Book, step: Step, at: Index) -> str:
    if at[-1] < step.value.shape[-1] - 1:
        return book.ref(step.inputs["scores"], at)
    return book.ref(step.inputs["sink"], at[-3:-2] if len(at) > 2 else (0,))


def _argmax(book: Book, step: Step, at: Index) -> str:
    """The value of the first key with the largest weight; where each weight is 0, 0."""
    row = _row(book, step, at, "weights")
    weights = book.of(step.inputs["weights"], (*at[:-1], slice(None))).tolist()
    values = book.of(step.inputs["value"], (*at[:-2], slice(None), at[-1])).tolist()
    text = "0"
    for weight, value in reversed([*zip(weights, values, strict=True)]):
        text = f"IF({book.cells[weight]}=MAX({row}),{book.cells[value]},{text})"
    return f"IF(MAX({row})=0,0,{text})"


def _attentional(book: Book, step: Step, at: Index) -> str:
    inputs, both = step.inputs, slice(None)
    sums = book.of(step.node.taps["context_vector"], (*at[:-1], both))
    w = book.of(inputs["w"], (*at[:-2], both, at[-1]))
    query = book.of(inputs["query"], (*at[:-1], both))
    return f"TANH({book.products(sums, w[: len(sums)])}+{book.products(query, w[len(sums) :])})"


def _learned(book: Book, step: Step, at: Index) -> str:
    row = int(book.trace.value(step.inputs["positions"])[at[:-1]]) + step.options.get("offset", 0)
    return book.ref(step.inputs["table"], (row, at[-1]))


def _apply_gate(book: Book, step: Step, at: Index) -> str:
    if book.ids[step.inputs["gate"]].shape != step.value.shape:  # a number of each head
        raise _missing(step.name)
    return f"{book.ref(step.inputs['x'], at)}*{book.ref(step.inputs['gate'], at)}"


def _product(book: Book, step: Step, at: Index) -> str:
    return f"{book.ref(step.inputs['x'], at)}*{_number(step.options['factor'])}"


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
    weighted_sum: _weighted_sum,
    argmax: _argmax,
    attentional: _attentional,
    (attentional, "context_vector"): _weighted_sum,
    general: _general,
    (general, "projected_query"): _projected("query", "w"),
    location: _projected("query", "w"),
    laplacian: lambda book, step, at: f"0-{book.ref(step.node.taps['distances'], at)}/{_number(step.options['sigma'])}",
    (laplacian, "distances"): _distances,
    euclidean: lambda book, step, at: f"0-SQRT({book.ref(step.node.taps['squared_distances'], at)})",
    (euclidean, "squared_distances"): _squared_distances,
    rope: _rope,
    l2: partial(_norm, "SUMSQ({r})", ""),
    rms: partial(_norm, "SUMSQ({r})/{d}", ""),
    layer: partial(_norm, "DEVSQ({r})/{d}", "-AVERAGE({r})"),
    add_positions: lambda book, step, at: f"{book.ref(step.inputs['x'], at)}+{book.ref(step.inputs['positions'], at)}",
    learned: _learned,
    multiply: _product,
    with_column: _with_column,
    without_column: lambda book, step, at: book.ref(step.inputs["weights"], at),
    apply_gate: _apply_gate,
    sigmoid_gate: lambda book, step, at: f"1/(1+EXP(-({book.ref(step.inputs['x'], at)})))",
    silu_gate: lambda book, step, at: "{0}/(1+EXP(-({0})))".format(book.ref(step.inputs["x"], at)),
}


def formula_of(book: Book, step: Step) -> tuple[Formula, Step]:
    """What writes the formulas of a step, and the step whose inputs it reads; raises AttnError where nothing does."""
    if step.name in book.sources:
        return _moved_number, step
    trace, outer, name = book.trace, step, ""
    if step.tapped_from is not None:
        outer = trace[step.tapped_from]
        name = next(inner for inner, node in outer.node.taps.items() if node == step.name)
    write = FORMULAS.get((outer.function, name) if name else outer.function)
    if write is None:
        raise _missing(step.name)
    return write, outer


def _missing(name: str) -> AttnError:
    """The error of a step whose numbers no formula of a cell gives."""
    return AttnError(f"{name} has no formulas of a spreadsheet", where="--output", hint="write .md, .tex or .html")
