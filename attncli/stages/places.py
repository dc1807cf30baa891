"""Places: the indices of keys and queries, and beside which key each query stands, where anybody asks for them."""

from attncli.catalogue import Quantity
from attncli.checks.lengths import new_keys
from attncli.ops import indices
from attncli.problem import Problem
from attncli.recorder import Recorder
from attncli.stages.running import GIVEN

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


def _lengths(problem: Problem, recorder: Recorder) -> None:
    """How many keys of each batch item are real; the same for every head."""
    assert problem.key_lengths is not None
    layout, lengths = problem.layout, problem.key_lengths
    if layout.batch is None:
        lengths = lengths.reshape(())
    elif layout.has_heads:
        lengths = lengths[:, None]
    axes = layout.leading if layout.batch is not None else ()
    _keep(recorder, Quantity("key_lengths", "L", GIVEN, axes), lengths)


def _keep(recorder: Recorder, quantity: Quantity, value: object) -> None:
    recorder.give(quantity, value)  # type: ignore[arg-type]
    recorder.current[quantity.name] = quantity.name


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
    recorder.step(quantity, "index", indices.counted, {}, options={"first": first, "count": count})
    recorder.current[quantity.name] = quantity.name


def _rows(problem: Problem, recorder: Recorder) -> None:
    """The rows of the queries that ask."""
    quantity = Quantity("query_rows", "i", "i = 0, 1, … each query", ("n",))
    at = problem.chosen_queries
    if at is None:
        _count(recorder, quantity, 0, problem.asking.shape[-2])
        return
    recorder.step(quantity, "index", indices.chosen, {}, options={"at": at})
    recorder.current[quantity.name] = quantity.name


def _standing(problem: Problem, recorder: Recorder) -> None:
    """Beside which key each query stands, as `align` says."""
    count, keys = problem.asking.shape[-2], problem.past_count + problem.new_key_count
    if problem.align == "bottom_right" and problem.key_lengths is not None:
        axes = (*recorder.steps["key_lengths"].axes, "n")
        quantity = Quantity(
            "query_positions", "p", f"pᵢ = i − {count} + L: the last query stands at the last real key", axes
        )
        inputs = {"rows": "query_rows", "key_lengths": "key_lengths"}
        recorder.step(quantity, "place", indices.standing_at_end, inputs, options={"first": -count})
    else:
        first = keys - count if problem.align == "bottom_right" else problem.past_count
        where = ": the last query stands at the last key" if problem.align == "bottom_right" else ""
        sign = f" − {-first}" if first < 0 else f" + {first}" if first else ""
        quantity = Quantity("query_positions", "p", f"pᵢ = i{sign}{where}", ("n",))
        recorder.step(quantity, "place", indices.standing, {"rows": "query_rows"}, options={"first": first})
    recorder.current["query_positions"] = "query_positions"
