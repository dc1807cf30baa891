"""Scores: how well each key answers each query, capped, and with what the positions and the user add."""

from math import sqrt

from attncli.engine.dense import Recorder
from attncli.ops import look_up, position_biases, scores
from attncli.ops.registry import Operator, Quantity
from attncli.plan.stages.common import give_arrays, run_operator, table_axes
from attncli.plan.stages.masks import give_table
from attncli.problem.spec import ProblemSpec


def score(problem: ProblemSpec, recorder: Recorder) -> None:
    """The score of each pair, with its relative keys, times the scale where one is asked for."""
    chosen, scale, axes = problem.score, problem.scale, table_axes(problem)
    relative = problem.position is not None and problem.position.record.acts_on == "products"
    if chosen.record.unscaled and (relative or scale is not None):
        width = recorder.now("query").value.shape[-1]
        scale = 1 / sqrt(width) if scale is None else scale
        chosen = Operator(look_up("score", chosen.record.unscaled), chosen.given)
    names = ["content_scores"] if relative else []
    names += ["unscaled_scores"] if scale is not None else []
    first = [*names, "scores"][0]
    run_operator(
        problem, recorder, "score", chosen, Quantity(first, "S" if first == "scores" else "S₀", "", axes), "scores"
    )
    if relative:
        _relative(problem, recorder, "unscaled_scores" if scale is not None else "scores")
    if scale is not None:
        source = recorder.steps["unscaled_scores"]
        quantity = Quantity("scores", "S", f"S = {scale:g} {source.symbol}", axes)
        recorder.step(quantity, "scale", scores.scale, {"scores": source.name}, options={"scale": scale}, role="scores")


def _relative(problem: ProblemSpec, recorder: Recorder, name: str) -> None:
    """The products of queries and relative keys, added to those of queries and keys."""
    assert problem.position is not None
    axes = table_axes(problem)
    quantity = Quantity("relative_scores", "R", "", axes)
    run_operator(problem, recorder, "position", problem.position, quantity)
    symbol = "S" if name == "scores" else "S₁"
    added = Quantity(name, symbol, f"{symbol} = S₀ + R", axes)
    _add(recorder, added, "content_scores", "relative_scores", role="scores")


def _add(recorder: Recorder, quantity: Quantity, left: str, right: str, role: str | None = None) -> None:
    """Two tables of scores, together."""
    recorder.step(quantity, "bias", scores.add, {"left": left, "right": right}, role=role)


def cap(problem: ProblemSpec, recorder: Recorder) -> None:
    """Scores between −softcap and softcap."""
    if problem.softcap is None:
        return
    quantity = Quantity(
        "capped_scores", "Sᶜ", f"{problem.softcap:g} tanh(S / {problem.softcap:g})", table_axes(problem)
    )
    recorder.step(
        quantity, "cap", scores.softcap, {"scores": "scores"}, options={"cap": problem.softcap}, role="scores"
    )


def bias(problem: ProblemSpec, recorder: Recorder) -> None:
    """What distance says, then what the user adds; a bias of −∞ is a mask, and adds nothing."""
    chosen = problem.position
    if chosen is not None and chosen.record.acts_on == "scores":
        reads = chosen.record.shapes.arrays
        inputs = {name: recorder.current[name] for name in reads if name in recorder.current}
        inputs |= give_arrays(recorder, "position", chosen)
        heads = problem.layout.heads if problem.layout.has_heads else None
        ahead = tuple(x for x in problem.layout.score_axes if x == "h" or "b" in recorder.steps["query_positions"].axes)
        quantity = Quantity("position_bias", "B", chosen.record.formula, (*ahead, "n", "m"))
        options = {"heads": heads, **chosen.options}
        recorder.step(quantity, "bias", chosen.record.function, inputs, options=options, record=chosen.record)
        before = recorder.now("scores")
        added = Quantity("positioned_scores", "Sᵖ", f"{before.symbol} + B", table_axes(problem))
        _add(recorder, added, before.name, "position_bias", role="scores")
    if problem.bias is not None:
        table = give_table(problem, recorder, "bias")
        before = recorder.now("scores")
        quantity = Quantity("biased_scores", "Sᵇ", f"{before.symbol} + {table.symbol}", table_axes(problem))
        inputs = {"scores": before.name, "table": table.name}
        inputs |= {name: recorder.current[name] for name in ("query_rows", "key_positions")}
        recorder.step(quantity, "bias", position_biases.add_bias, inputs, role="scores")
