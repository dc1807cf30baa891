"""Heads: split, brought to one size, turned to their positions, joined to the cache, shared among query heads."""

from attncli.engine.dense import Recorder
from attncli.ops import structural as head_axis
from attncli.ops.registry import Quantity
from attncli.plan.stages.common import GIVEN, give_arrays
from attncli.problem.spec import ProblemSpec
from attncli.trace.steps import Step, unchanged


def split(problem: ProblemSpec, recorder: Recorder) -> None:
    """Each head gets its share of the features; where there are no heads to split there is nothing to do."""
    layout = problem.layout
    if not layout.splits_heads:
        return
    for role, count in (("query", layout.heads), ("key", layout.kv_heads), ("value", layout.kv_heads)):
        letter = "h" if role == "query" else layout.with_kv_heads(("h",))[0]
        _split(recorder, role, f"{role}_heads", count, letter, role=role)


def _split(recorder: Recorder, source: str, name: str, count: int, letter: str, role: str | None = None) -> None:
    """One array, its features shared among so many heads."""
    whole = recorder.steps[source]
    shared = f"the features of {whole.symbol}, shared among {count} heads"
    quantity = Quantity(name, f"{whole.symbol}ₕ", shared, (*whole.axes[:-2], letter, *whole.axes[-2:]))
    recorder.step(quantity, "split", head_axis.split_heads, {"x": source}, options={"heads": count}, role=role)


def norm(problem: ProblemSpec, recorder: Recorder) -> None:
    """Queries and keys of each head brought to one size."""
    if problem.qk_norm is None:
        return
    for role in ("query", "key"):
        source = recorder.now(role)
        quantity = Quantity(f"normalized_{role}", f"{source.symbol}̂", problem.qk_norm.record.formula, source.axes)
        record, options = problem.qk_norm.record, problem.qk_norm.options
        recorder.step(
            quantity, "qk_norm", record.function, {"x": source.name}, options=options, record=record, role=role
        )


def turn(problem: ProblemSpec, recorder: Recorder) -> None:
    """Queries and new keys turned to their positions; cached keys have been turned before."""
    chosen = problem.position
    if chosen is None or chosen.record.acts_on != "query_and_key":
        return
    arrays = give_arrays(recorder, "position", chosen)
    keys = "new_key_positions" if problem.past_count else "key_positions"
    for role, positions in (("query", "query_positions"), ("key", keys)):
        source = recorder.now(role)
        quantity = Quantity(f"turned_{role}", f"{source.symbol}ᵣ", chosen.record.formula, source.axes)
        inputs = {"x": source.name, "positions": positions, **arrays}
        record, options = chosen.record, chosen.options
        recorder.step(quantity, "position", record.function, inputs, options=options, record=record, role=role)


def join(problem: ProblemSpec, recorder: Recorder) -> None:
    """The cache before what is new; what the next query will need is `present_key` and `present_value`."""
    for role in ("key", "value"):
        new = recorder.now(role)
        if getattr(problem, f"past_{role}") is not None:
            _join(problem, recorder, role, new)
        elif new.name not in (role, f"{role}_heads"):
            _present(problem, recorder, role, new)


def _join(problem: ProblemSpec, recorder: Recorder, role: str, new: Step) -> None:
    """The cache and what is new, in one array; the cache may have its heads apart or side by side."""
    layout, past, name = problem.layout, getattr(problem, f"past_{role}"), f"past_{role}"
    symbol = f"{new.symbol[0]}ₚ"
    if not layout.has_heads and past.ndim > new.value.ndim:  # an axis of one head
        past = head_axis.drop_missing_axes(past, (past.ndim - 3,))
    apart = past.ndim == new.value.ndim
    axes = (*new.axes[:-2], "p", new.axes[-1])
    recorder.give(Quantity(name, symbol, GIVEN, axes if apart else (*layout.batch_axes, *axes[-2:])), past)
    if not apart:
        _split(recorder, name, f"{name}_heads", layout.kv_heads, axes[-3])
        name = f"{name}_heads"
    quantity = Quantity(
        f"present_{role}" if apart else f"joined_{role}",
        new.symbol[0],
        f"{recorder.steps[name].symbol}, then {new.symbol}",
        (*axes[:-2], "m", axes[-1]),
    )
    recorder.step(quantity, "cache", head_axis.concat_cache, {"past": name, "new": new.name}, role=role)
    if not apart:
        _present(problem, recorder, role, recorder.now(role))


def _present(problem: ProblemSpec, recorder: Recorder, role: str, source: Step) -> None:
    """What a cache keeps of keys or values, shaped as they came in."""
    merges = problem.layout.splits_heads
    axes = (*source.axes[:-3], *source.axes[-2:]) if merges else source.axes
    formula = f"the heads of {source.symbol}, side by side" if merges else source.symbol
    quantity = Quantity(f"present_{role}", f"{source.symbol}ₜ", formula, axes)
    recorder.step(quantity, "cache", head_axis.merge_heads if merges else unchanged, {"x": source.name})


def share(problem: ProblemSpec, recorder: Recorder) -> None:
    """Each query head gets the key head that it reads."""
    layout = problem.layout
    if layout.kv_heads == layout.heads:
        return
    several = layout.heads // layout.kv_heads
    for role in ("key", "value"):
        source = recorder.now(role)
        formula = f"query head h reads key head h // {several}"
        axes = (*source.axes[:-3], "h", *source.axes[-2:])
        quantity = Quantity(f"shared_{role}", f"{source.symbol}ₛ", formula, axes)
        options = {"heads": layout.heads}
        recorder.step(quantity, "share", head_axis.repeat_kv, {"x": source.name}, options=options, role=role)
