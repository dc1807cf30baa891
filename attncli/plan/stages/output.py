"""The output: weights, the context of each head, merged heads, and their projection."""

from attncli.ops import structural
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, Axis, Node
from attncli.plan.stages.projections import add_projection


def normalize(builder: PlanBuilder) -> None:
    """From scores to weights; a sink is a column after the keys while they are normalized."""
    problem, axes = builder.problem, builder.table_axes
    builder.set_result("masked_scores", "scores")
    if problem.sink is None:
        builder.add_operator(
            "normalize", problem.normalize, Node("weights", "A", "", axes, "normalize", role="weights")
        )
    else:
        heads = builder.layout.heads if builder.layout.has_heads else None
        sink = Node("sink", "z", GIVEN, (Axis("h", len(problem.sink)),), GIVEN, source=("sink",))
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
    builder.set_result("weights", "weights")


def attend(builder: PlanBuilder) -> None:
    """From weights and values to the context of each head."""
    operator = builder.problem.context
    axes = builder.result_axes(operator.record, builder.inputs_of("context", operator), builder.score_axes)
    builder.add_operator("context", operator, Node("context", "C", "", axes, "context", role="context"))
    builder.set_result("context", "context")


def merge_heads(builder: PlanBuilder) -> None:
    """The heads side by side, times the output weights; without those an input axis of heads stays."""
    source, layout, problem = builder.current_node("context"), builder.layout, builder.problem
    projects = problem.w_o is not None or problem.b_o is not None
    if layout.splits_heads or (layout.has_input_head_axis and projects):
        *before, heads, queries, features = source.axes
        source = builder.add(
            Node(
                "merged",
                "C_all",
                f"the heads of {source.symbol}, side by side",
                (*before, queries, Axis(features.letter, heads.length * features.length)),
                "merge",
                structural.merge_heads,
                {"x": source.name},
            )
        )
    letters = (*source.letters[:-1], source.letters[-1] if problem.w_o is None else "o")
    add_projection(builder, "output", "O", letters, source.name)
    builder.set_result("output", "output")
