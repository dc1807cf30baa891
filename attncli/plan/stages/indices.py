"""Places: the indices of keys and queries, and beside which key each query stands, where anybody asks for them."""

from attncli.engine.dense import Recorder
from attncli.ops import contexts, indices, position_biases
from attncli.ops.registry import Quantity
from attncli.plan.stages.common import GIVEN
from attncli.problem.spec import Problem
from attncli.problem.validate.lengths import new_keys

RELATIVE = {"heads", "products", "scores"}  # what positions act on that need to know where queries stand


def place(problem: Problem, recorder: Recorder) -> None:
    """Record the indices that the masks and positions of this problem read."""
    relative = problem.position is not None and bool(problem.position.entry.traits & RELATIVE)
    standing = relative or problem.causal or problem.window is not None
    tables = problem.mask is not None or problem.bias is not None
    if problem.key_lengths is not None:
        _lengths(problem, recorder)
    if standing or tables or problem.key_lengths is not None:
        _keys(problem, recorder)
    if standing or tables:
        _rows(problem, recorder)
    if standing:
        _standing(problem, recorder)
    if problem.position is not None and "slopes" in problem.position.entry.traits:
        _slopes(problem, recorder)
    if "draws" in problem.context.entry.shapes.arrays:
        _draws(problem, recorder)


def _slopes(problem: Problem, recorder: Recorder) -> None:
    """How fast each head's scores fall with distance, where nobody says."""
    assert problem.position is not None
    if "slopes" not in problem.position.parameters:
        heads = problem.layout.heads
        quantity = Quantity("slopes", "m", f"the published ones of {heads} head{'s' if heads > 1 else ''}", ("h",))
        recorder.step(quantity, "place", position_biases.published_slopes, {}, options={"heads": heads}, role="slopes")


def _draws(problem: Problem, recorder: Recorder) -> None:
    """What chance says to each query."""
    sizes = {"b": problem.layout.batch, "h": problem.layout.heads}
    shape = (*(sizes[letter] for letter in problem.layout.leading), len(problem.selected_query_labels))
    quantity = Quantity("draws", "u", "u uniform in [0, 1)", (*problem.layout.leading, "n"))
    options = {"seed": problem.context.parameters.get("seed", 0), "shape": shape}
    recorder.step(quantity, "index", contexts.drawn, {}, options=options, role="draws")


def _lengths(problem: Problem, recorder: Recorder) -> None:
    """How many keys of each batch item are real; the same for every head."""
    assert problem.key_lengths is not None
    layout, lengths = problem.layout, problem.key_lengths
    if layout.batch is None:
        lengths = lengths.reshape(())
    elif layout.has_heads:
        lengths = lengths[:, None]
    axes = layout.leading if layout.batch is not None else ()
    recorder.give(Quantity("key_lengths", "L", GIVEN, axes), lengths, role="key_lengths")


def _keys(problem: Problem, recorder: Recorder) -> None:
    """Every key's index; with a cache also those of the new ones."""
    past, new = problem.past_count, problem.new_key_count
    every = Quantity("key_positions", "j", "j = 0, 1, … each key", ("m",))
    _count(recorder, every, 0, past + new)
    if past:
        _count(
            recorder, Quantity("new_key_positions", "jₖ", "the keys after the cache", (new_keys(problem),)), past, new
        )


def _count(recorder: Recorder, quantity: Quantity, first: int, count: int) -> None:
    options = {"first": first, "count": count}
    recorder.step(quantity, "index", indices.counted, {}, options=options, role=quantity.name)


def _rows(problem: Problem, recorder: Recorder) -> None:
    """The rows of the queries that ask."""
    quantity = Quantity("query_rows", "i", "i = 0, 1, … each query", ("n",))
    at = problem.selected_queries
    if at is None:
        _count(recorder, quantity, 0, problem.asking.shape[-2])
        return
    recorder.step(quantity, "index", indices.chosen, {}, options={"at": at}, role=quantity.name)


def _standing(problem: Problem, recorder: Recorder) -> None:
    """Beside which key each query stands, as `align` says."""
    count, keys = problem.asking.shape[-2], problem.past_count + problem.new_key_count
    at_end = problem.align == "bottom_right"
    end = ": the last query stands at the last real key" if at_end else ""
    if at_end and problem.key_lengths is not None:
        axes = (*recorder.now("key_lengths").axes, "n")
        quantity = Quantity("query_positions", "p", f"pᵢ = i − {count} + L{end}", axes)
        inputs, options = {"rows": "query_rows", "key_lengths": "key_lengths"}, {"first": -count}
        recorder.step(quantity, "place", indices.standing_at_end, inputs, options=options, role=quantity.name)
        return
    first = keys - count if at_end else problem.past_count
    said = f"i − {-first}" if first < 0 else f"i + {first}" if first else "i"
    quantity = Quantity("query_positions", "p", f"pᵢ = {said}{end}", ("n",))
    options = {"first": first}
    recorder.step(quantity, "place", indices.standing, {"rows": "query_rows"}, options=options, role=quantity.name)
