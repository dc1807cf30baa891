"""The output: weights, the context of each head, merged heads, and their projection."""

from attncli.base.lazy_numpy import Array
from attncli.ops import structural
from attncli.ops.elementwise import fill_empty_rows
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, Axis, Node
from attncli.plan.stages.gates import add_gated
from attncli.plan.stages.norms import normalize_merged
from attncli.plan.stages.projections import add_projection
from attncli.problem.packing import has_projection


def normalize(builder: PlanBuilder) -> None:
    """From scores to weights; a sink is a column after the keys while they are normalized."""
    problem, axes = builder.problem, builder.table_axes
    builder.set_result("masked_scores", "scores")
    if problem.sink is not None:
        _normalize_with_sink(builder, problem.sink)
    elif _fills_empty_rows(builder):
        first = Node("normalized_scores", "A₀", "", axes, "normalize", role="weights")
        builder.add_operator("normalize", problem.normalize, first)
        _fill_empty_rows(builder)
    else:
        builder.add_operator(
            "normalize", problem.normalize, Node("weights", "A", "", axes, "normalize", role="weights")
        )
    builder.set_result("weights", "weights")


def _normalize_with_sink(builder: PlanBuilder, values: Array) -> None:
    """Normalize the scores with the sink as one more column, which is dropped afterwards."""
    problem, axes = builder.problem, builder.table_axes
    heads = builder.layout.heads if builder.layout.has_heads else None
    sink = Node("sink", "z", GIVEN, (Axis("h", len(values)),), GIVEN, source=("sink",))
    scores, wider = builder.current_node("scores"), (*axes[:-1], Axis("m+1", axes[-1].length + 1))
    inputs, options = {"scores": scores.name, "sink": builder.add(sink).name}, {"heads": heads}
    formula = f"{scores.symbol}, and z after the last key"
    builder.add(
        Node(
            "scores_and_sink",
            "Sᶻ",
            formula,
            wider,
            "sink",
            structural.with_column,
            inputs,
            options,
            role="scores",
        )
    )
    both = Node("weights_and_sink", "Aᶻ", "", wider, "normalize")
    source = {"weights": builder.add_operator("normalize", problem.normalize, both).name}
    builder.add(
        Node("weights", "A", "Aᶻ without the sink", axes, "sink", structural.without_column, source, role="weights")
    )


def _fills_empty_rows(builder: PlanBuilder) -> bool:
    """Whether rows without keys may occur and get other weights than 0: only a distribution has none to give them."""
    problem = builder.problem
    may_be_empty = "visible" in builder.nodes or problem.scores is not None
    return problem.empty_rows != "zeros" and may_be_empty and problem.normalize.record.is_distribution


def _fill_empty_rows(builder: PlanBuilder) -> None:
    """The weights of queries that may attend to nothing, by `empty_rows`."""
    before, axes = builder.current_node("weights"), builder.table_axes
    fill, keys = builder.problem.empty_rows, axes[-1].length
    what = "NaN" if fill == "nan" else f"1/{keys}"
    builder.add(
        Node(
            "weights",
            "A",
            f"{before.symbol}, {what} in rows without keys",
            axes,
            "empty_rows",
            fill_empty_rows,
            {"weights": before.name},
            {"fill": fill, "keys": keys},
            role="weights",
        )
    )


def attend(builder: PlanBuilder) -> None:
    """From weights and values to the context of each head."""
    operator = builder.problem.context
    axes = builder.result_axes(operator.record, builder.inputs_of("context", operator), builder.score_axes)
    builder.add_operator("context", operator, Node("context", "C", "", axes, "context", role="context"))
    builder.set_result("context", "context")


def merge_heads(builder: PlanBuilder) -> None:
    """The heads side by side, times gates and output weights; without weights an input axis of heads stays."""
    source, layout, problem = builder.current_node("context"), builder.layout, builder.problem
    projects = problem.w_o is not None or problem.b_o is not None
    if layout.splits_heads or (layout.has_input_head_axis and projects):
        *before, heads, queries, features = source.axes
        builder.add(
            Node(
                "merged",
                "C_all",
                f"the heads of {source.symbol}, side by side",
                (*before, queries, Axis(features.letter, heads.length * features.length)),
                "merge",
                structural.merge_heads,
                {"x": source.name},
                role="context",
            )
        )
    normalize_merged(builder)
    source = builder.current_node("context")
    if has_projection(vars(problem), "g"):
        source = add_gated(builder, source)
    letters = (*source.letters[:-1], source.letters[-1] if problem.w_o is None else "o")
    add_projection(builder, "output", "O", letters, source.name)
    builder.set_result("output", "output")
