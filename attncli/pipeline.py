"""The stages in order: from a Problem to the Trace of every step.

project ─ split heads ─ SCORE (times scale) ─ NORMALIZE ─ CONTEXT ─ merge heads ─ w_o
"""

from collections.abc import Iterable
from dataclasses import dataclass

from attncli.arrays import Array
from attncli.catalogue import Chosen, Quantity
from attncli.ops import heads as head_axis
from attncli.ops import look_up
from attncli.ops.scores import scaled
from attncli.problem import Problem
from attncli.recorder import Recorder
from attncli.shapes import Letters
from attncli.trace import DEFAULT_SELECTION, Result, Trace, unchanged

HEADS: Letters = ("h",)
GIVEN = "given"


@dataclass(frozen=True)
class Projection:
    """What is projected: the step's name, its symbol (which its weights carry too), its source and its axes."""

    name: str
    symbol: str
    source: str
    axes: Letters


def run(problem: Problem, select: Iterable[str] = DEFAULT_SELECTION) -> Result:
    """Compute a problem and keep every step; raises AttnError where `select` names no result."""
    return Result(trace(problem), select)


def trace(problem: Problem) -> Trace:
    """Every step of the computation, in order."""
    recorder = Recorder()
    for stage in STAGES:
        stage(problem, recorder)
    queries, chosen = problem.query_labels, problem.chosen_queries
    return Trace(
        pipeline={stage: str(getattr(problem, stage)) for stage in ("score", "normalize", "context")},
        labels={
            "n": queries if chosen is None else tuple(queries[at] for at in chosen),
            "m": problem.key_labels,
        },
        steps=tuple(recorder.steps.values()),
    )


def _project(problem: Problem, recorder: Recorder) -> None:
    """Queries, keys and values: given, or projected from the sequences."""
    asking = _sequences(problem, recorder)
    key_features = problem.score.entry.shapes.arrays.get("key", ("m", "c"))[-1]  # d where it must be the query's
    _role(problem, recorder, Projection("query", "Q", asking, ("n", "d")))
    _role(problem, recorder, Projection("key", "K", "embeddings", ("m", key_features)))
    _role(problem, recorder, Projection("value", "V", "embeddings", ("m", "e")))


def _sequences(problem: Problem, recorder: Recorder) -> str:
    """The sequences as they were given; returns the name of the one whose rows ask."""
    whole = problem.chosen_queries is None
    if problem.embeddings is not None:
        rows = "n" if problem.asks_itself and whole else "m"
        recorder.give(Quantity("embeddings", "X", GIVEN, (rows, "x")), problem.embeddings)
    if problem.query_embeddings is not None:
        recorder.give(Quantity("query_embeddings", "Y", GIVEN, ("n", "y")), problem.query_embeddings)
    asking = "embeddings" if problem.query_embeddings is None else "query_embeddings"
    if whole or problem.query is not None:
        return asking
    source = recorder.steps[asking]
    chosen = Quantity("asking", f"{source.symbol}ₒ", f"the rows of {asking} that ask", ("n", source.axes[-1]))
    recorder.step(chosen, "given", head_axis.rows, {"x": asking}, options={"at": problem.chosen_queries})
    return "asking"


def _role(problem: Problem, recorder: Recorder, projection: Projection) -> None:
    """One of query, key and value, from where it comes."""
    given = getattr(problem, projection.name)
    if given is not None:
        chosen = problem.chosen_queries if projection.name == "query" else None
        quantity = Quantity(projection.name, projection.symbol, GIVEN, projection.axes)
        recorder.give(quantity, given if chosen is None else given[chosen])
    elif projection.name == "value" and problem.key is not None:
        recorder.step(Quantity("value", "V", "V = K", projection.axes), "project", unchanged, {"x": "key"})
    else:
        _apply_projection(problem, recorder, projection)


def _apply_projection(problem: Problem, recorder: Recorder, projection: Projection) -> None:
    """`x @ w + b` with the weights that carry the projection's letter; nothing to do where there are none."""
    source, letter = recorder.steps[projection.source], projection.symbol
    inputs, formula = {"x": source.name}, f"{letter} = {source.symbol}"
    weights, bias = getattr(problem, f"w_{letter.lower()}"), getattr(problem, f"b_{letter.lower()}")
    axes = projection.axes
    if weights is not None:
        inputs["w"] = f"w_{letter.lower()}"
        quantity = Quantity(inputs["w"], f"W_{letter}", GIVEN, (source.axes[-1], axes[-1]))
        recorder.give(quantity, _in_out(problem, weights))
        formula += f" W_{letter}"
    if bias is not None:
        inputs["b"] = f"b_{letter.lower()}"
        recorder.give(Quantity(inputs["b"], f"b_{letter}", GIVEN, axes[-1:]), bias)
        formula += f" + b_{letter}"
    function = unchanged if weights is None and bias is None else head_axis.project
    recorder.step(Quantity(projection.name, letter, formula, axes), "project", function, inputs)


def _in_out(problem: Problem, weights: Array) -> Array:
    """A matrix as the pipeline multiplies it, from the right: what is stored out_in is turned."""
    return weights.swapaxes(-1, -2) if problem.weight_layout == "out_in" and weights.ndim > 1 else weights


def _split(problem: Problem, recorder: Recorder) -> None:
    """Each head gets its share of the features; one head has nothing to split."""
    if problem.heads == 1:
        return
    for role in ("query", "key", "value"):
        whole = recorder.steps[role]
        shared = f"the features of {whole.symbol}, shared among {problem.heads} heads"
        quantity = Quantity(f"{role}_heads", f"{whole.symbol}ₕ", shared, HEADS + whole.axes)
        recorder.step(quantity, "split", head_axis.split, {"x": role}, options={"heads": problem.heads})


def _score(problem: Problem, recorder: Recorder) -> None:
    """How well each key answers each query, times the scale where one is asked for."""
    chosen = problem.score
    if problem.scale is None:
        _apply(problem, recorder, "scores", "score", chosen, symbol="S")
        return
    if chosen.entry.unscaled:
        chosen = Chosen(look_up("score", chosen.entry.unscaled), chosen.parameters)
    _apply(problem, recorder, "unscaled_scores", "score", chosen, symbol="S₀")
    axes = recorder.steps["unscaled_scores"].axes
    quantity = Quantity("scores", "S", f"S = {problem.scale:g} S₀", axes)
    recorder.step(quantity, "scale", scaled, {"scores": "unscaled_scores"}, options={"scale": problem.scale})


def _normalize(problem: Problem, recorder: Recorder) -> None:
    """From scores to weights."""
    _apply(problem, recorder, "weights", "normalize", problem.normalize, symbol="A")


def _context(problem: Problem, recorder: Recorder) -> None:
    """From weights and values to what each head answers."""
    _apply(problem, recorder, "context", "context", problem.context, symbol="C")


def _apply(problem: Problem, recorder: Recorder, name: str, stage: str, chosen: Chosen, *, symbol: str) -> None:
    """Run one entry of the catalogue on the steps that its signature names, with its own parameters."""
    entry = chosen.entry
    per_head = "_heads" if problem.heads > 1 else ""
    inputs = {
        array: f"{array}{per_head}" if array in ("query", "key", "value") else array
        for array in entry.shapes.arrays
        if array in ("query", "key", "value", "scores", "weights")
    }
    for parameter, value in chosen.arrays.items():
        letters = entry.parameter(parameter).letters
        given = _in_out(problem, value) if len(letters) == 2 else value
        inputs[parameter] = f"{stage}.{parameter}"
        recorder.give(Quantity(inputs[parameter], parameter, GIVEN, (*HEADS, *letters)[-value.ndim :]), given)
    axes = (HEADS if problem.heads > 1 else ()) + entry.shapes.result
    quantity = Quantity(name, symbol, entry.formula, axes)
    recorder.step(quantity, stage, entry.function, inputs, options=chosen.scalars, entry=entry)


def _merge(problem: Problem, recorder: Recorder) -> None:
    """The heads side by side, through the output weights."""
    source = "context"
    features = recorder.steps["context"].axes[-1]
    if problem.heads > 1:
        quantity = Quantity("merged", "M", "M = the heads of C, side by side", ("n", features))
        recorder.step(quantity, "merge", head_axis.merge, {"x": "context"})
        source = "merged"
    axes = ("n", features if problem.w_o is None else "o")
    _apply_projection(problem, recorder, Projection("output", "O", source, axes))


STAGES = (_project, _split, _score, _normalize, _context, _merge)
