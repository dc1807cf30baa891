"""Places: the indices of keys and queries, and beside which key each query stands, where anybody asks for them."""

from attncli.engine.dense import Recorder
from attncli.ops import indices
from attncli.ops.registry import Operator, Quantity
from attncli.plan.stages.common import GIVEN
from attncli.problem.spec import ProblemSpec

RELATIVE = {"query_and_key", "products", "scores"}  # what positions act on that need to know where queries stand


def place(problem: ProblemSpec, recorder: Recorder) -> None:
    """Record the indices that the masks and positions of this problem read."""
    relative = problem.position is not None and problem.position.record.acts_on in RELATIVE
    own_mask = isinstance(problem.mask, Operator)  # which may read any of the indices
    standing = relative or problem.causal or problem.window is not None or own_mask
    tables = problem.mask is not None or problem.bias is not None
    if problem.key_lengths is not None:
        _lengths(problem, recorder)
    if standing or tables or problem.key_lengths is not None:
        _keys(problem, recorder)
    if standing or tables:
        _rows(problem, recorder)
    if standing:
        _standing(problem, recorder)
    if problem.position is not None:
        _derived(problem, recorder, problem.position, "place")
    _derived(problem, recorder, problem.context, "index")


def _derived(problem: ProblemSpec, recorder: Recorder, chosen: Operator, stage: str) -> None:
    """The arrays that an operator reads and that are computed where nobody gives them."""
    layout = problem.layout
    lengths = {"b": layout.batch or 1, "h": layout.heads, "n": len(problem.selected_query_labels)}
    for name, derived in chosen.record.derived.items():
        if name in chosen.given:
            continue
        axes = tuple(x for letter in derived.axes for x in (layout.score_axes if letter == "…" else (letter,)))
        shape = tuple(lengths[letter] for letter in axes)
        options = {parameter: chosen.parameters[parameter] for parameter in derived.parameters}
        quantity = Quantity(name, derived.symbol, derived.formula(shape), axes)
        recorder.step(quantity, stage, derived.function, {}, options={"shape": shape, **options}, role=name)


def _lengths(problem: ProblemSpec, recorder: Recorder) -> None:
    """How many keys of each batch item are real; the same for every head."""
    assert problem.key_lengths is not None
    layout, lengths = problem.layout, problem.key_lengths
    if layout.batch is None:
        lengths = lengths.reshape(())
    elif layout.has_heads:
        lengths = lengths[:, None]
    axes = layout.score_axes if layout.batch is not None else ()
    recorder.give(Quantity("key_lengths", "L", GIVEN, axes), lengths, role="key_lengths")


def _keys(problem: ProblemSpec, recorder: Recorder) -> None:
    """Every key's index; with a cache also those of the new ones."""
    past, new = problem.past_count, problem.new_key_count
    every = Quantity("key_positions", "j", "j = 0, 1, … each key", ("m",))
    _count(recorder, every, 0, past + new)
    if past:
        _count(
            recorder,
            Quantity("new_key_positions", "jₖ", "the keys after the cache", (problem.new_key_letter,)),
            past,
            new,
        )


def _count(recorder: Recorder, quantity: Quantity, first: int, count: int) -> None:
    options = {"first": first, "length": count}
    recorder.step(quantity, "index", indices.count, {}, options=options, role=quantity.name)


def _rows(problem: ProblemSpec, recorder: Recorder) -> None:
    """The rows of the queries that ask."""
    quantity = Quantity("query_rows", "i", "i = 0, 1, … each query", ("n",))
    at = problem.selected_queries
    if at is None:
        _count(recorder, quantity, 0, problem.query_source.shape[-2])
        return
    recorder.step(quantity, "index", indices.selected_positions, {}, options={"at": at}, role=quantity.name)


def _standing(problem: ProblemSpec, recorder: Recorder) -> None:
    """Beside which key each query stands, as `align` says."""
    count, keys = problem.query_source.shape[-2], problem.past_count + problem.new_key_count
    at_end = problem.align == "bottom_right"
    end = ": the last query stands at the last real key" if at_end else ""
    if at_end and problem.key_lengths is not None:
        axes = (*recorder.now("key_lengths").axes, "n")
        quantity = Quantity("query_positions", "p", f"pᵢ = i − {count} + L{end}", axes)
        inputs, options = {"rows": "query_rows", "key_lengths": "key_lengths"}, {"first": -count}
        recorder.step(quantity, "place", indices.query_positions_at_end, inputs, options=options, role=quantity.name)
        return
    first = keys - count if at_end else problem.past_count
    said = f"i − {-first}" if first < 0 else f"i + {first}" if first else "i"
    quantity = Quantity("query_positions", "p", f"pᵢ = {said}{end}", ("n",))
    options = {"first": first}
    recorder.step(
        quantity, "place", indices.query_positions, {"rows": "query_rows"}, options=options, role=quantity.name
    )
