"""Sequences: embeddings with their positions, projected to queries, keys and values."""

from dataclasses import dataclass

from attncli.base.axes import Letters
from attncli.engine.dense import Recorder
from attncli.ops import indices, positions
from attncli.ops import structural as head_axis
from attncli.ops.registry import Quantity
from attncli.plan.stages.common import GIVEN, all_queries, give_arrays
from attncli.problem.spec import ProblemSpec
from attncli.trace.steps import unchanged


@dataclass(frozen=True)
class Projection:
    """What is projected: the step's name, its symbol (which its weights carry too), its source and its axes."""

    name: str
    symbol: str
    source: str
    axes: Letters


def project(problem: ProblemSpec, recorder: Recorder) -> None:
    """Queries, keys and values: given, or projected from the sequences."""
    _sequences(problem, recorder)
    layout, rows = problem.layout, problem.new_key_letter
    of_queries, of_keys = layout.input_axes, layout.with_kv_heads(layout.input_axes)
    key_features = problem.score.record.shapes.arrays.get("key", ("m", "c"))[-1]  # d where it must be the query's
    current = recorder.current
    _role(problem, recorder, Projection("query", "Q", current.get("asking", ""), (*of_queries, "n", "d")))
    _role(problem, recorder, Projection("key", "K", current.get("embeddings", ""), (*of_keys, rows, key_features)))
    _role(problem, recorder, Projection("value", "V", current.get("embeddings", ""), (*of_keys, rows, "e")))


def _sequences(problem: ProblemSpec, recorder: Recorder) -> None:
    """The sequences as they were given, with their positions; `asking` are the rows that ask."""
    whole, items = problem.selected_queries is None, problem.layout.batch_axes
    if problem.embeddings is not None:
        rows = "n" if problem.is_self_attention and whole else problem.new_key_letter
        recorder.give(Quantity("embeddings", "X", GIVEN, (*items, rows, "x")), problem.embeddings)
        _add_positions(problem, recorder, "embeddings")
    if problem.query_embeddings is not None:
        axes = (*items, all_queries(problem), "y")
        recorder.give(Quantity("query_embeddings", "Y", GIVEN, axes), problem.query_embeddings)
        _add_positions(problem, recorder, "query_embeddings")
    name = "embeddings" if problem.query_embeddings is None else "query_embeddings"
    if problem.query is not None:
        return
    recorder.current["asking"] = recorder.current[name]
    if whole:
        return
    source = recorder.steps[recorder.current[name]]
    chosen = Quantity(
        "asking", f"{source.symbol}ₒ", f"the rows of {source.name} that ask", (*items, "n", source.axes[-1])
    )
    recorder.step(chosen, "given", head_axis.select_rows, {"x": source.name}, options={"at": problem.selected_queries})
    recorder.current["asking"] = "asking"


def _add_positions(problem: ProblemSpec, recorder: Recorder, name: str) -> None:
    """The vectors of the positions, added to a sequence, where the position is one that acts on embeddings."""
    recorder.current[name] = name
    chosen = problem.position
    if chosen is None or chosen.record.acts_on != "embeddings":
        return
    sequence = recorder.steps[name]
    rows, features, symbol = *sequence.axes[-2:], sequence.symbol
    start = {"first": problem.past_count, "length": sequence.value.shape[-2]}
    counted = Quantity(f"{name}_positions", "p", "counted from 0, after any cache", (rows,))
    recorder.step(counted, "index", indices.count, {}, options=start)
    vectors = Quantity(f"{name}_position_vectors", "P", chosen.record.formula, (rows, features))
    inputs = {"positions": counted.name, **give_arrays(recorder, "position", chosen)}
    options = {"features": sequence.value.shape[-1], **chosen.options}
    recorder.step(vectors, "position", chosen.record.function, inputs, options=options, record=chosen.record)
    positioned = Quantity(f"positioned_{name}", f"{symbol}⁺", f"{symbol}⁺ = {symbol} + P", sequence.axes)
    recorder.step(positioned, "position", positions.add_positions, {"x": name, "positions": vectors.name})
    recorder.current[name] = positioned.name


def _role(problem: ProblemSpec, recorder: Recorder, projection: Projection) -> None:
    """One of query, key and value, from where it comes."""
    recorder.current[projection.name] = projection.name
    given = getattr(problem, projection.name)
    if given is not None:
        chosen = problem.selected_queries if projection.name == "query" else None
        quantity = Quantity(projection.name, projection.symbol, GIVEN, projection.axes)
        recorder.give(quantity, given if chosen is None else given[..., chosen, :])
    elif projection.name == "value" and problem.key is not None:
        recorder.step(Quantity("value", "V", "V = K", projection.axes), "project", unchanged, {"x": "key"})
    else:
        apply_projection(problem, recorder, projection)


def apply_projection(problem: ProblemSpec, recorder: Recorder, projection: Projection) -> None:
    """`x @ w + b` with the weights that carry the projection's letter; nothing to do where there are none."""
    source, letter = recorder.steps[projection.source], projection.symbol
    inputs, formula = {"x": source.name}, f"{letter} = {source.symbol}"
    weights, bias = getattr(problem, f"w_{letter.lower()}"), getattr(problem, f"b_{letter.lower()}")
    axes = projection.axes
    if weights is not None:
        inputs["w"] = f"w_{letter.lower()}"
        recorder.give(Quantity(inputs["w"], f"W_{letter}", GIVEN, (source.axes[-1], axes[-1])), weights)
        formula += f" W_{letter}"
    if bias is not None:
        inputs["b"] = f"b_{letter.lower()}"
        recorder.give(Quantity(inputs["b"], f"b_{letter}", GIVEN, axes[-1:]), bias)
        formula += f" + b_{letter}"
    function = unchanged if weights is None and bias is None else head_axis.project
    recorder.step(Quantity(projection.name, letter, formula, axes), "project", function, inputs)
