"""The output: weights, what each head makes of the values, and the heads merged."""

from attncli.ops import structural
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, Axis, Node
from attncli.plan.stages.projections import add_projection


def normalize(builder: PlanBuilder) -> None:
    """From scores to weights; a sink stands beside the keys while they are normalized."""
    problem, axes = builder.problem, builder.table_axes
    builder.mark("masked_scores", "scores")
    if problem.sink is None:
        builder.add_operator(
            "normalize", problem.normalize, Node("weights", "A", "", axes, "normalize", role="weights")
        )
    else:
        heads = builder.layout.heads if builder.layout.has_heads else None
        sink = Node("sink", "z", GIVEN, (Axis("h", len(problem.sink)),), GIVEN, source=("sink",))
        scores, wider = builder.now("scores"), (*axes[:-1], Axis("m+1", axes[-1].length + 1))
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
    builder.mark("weights", "weights")


def attend(builder: PlanBuilder) -> None:
    """From weights and values to what each head answers."""
    operator = builder.problem.context
    axes = builder.result_axes(operator.record, builder.inputs_of("context", operator), builder.score_axes)
    builder.add_operator("context", operator, Node("context", "C", "", axes, "context", role="context"))
    builder.mark("context", "context")


def merge_heads(builder: PlanBuilder) -> None:
    """The heads side by side, through the output weights; an input axis of heads stays where there are none."""
    source, layout, problem = builder.now("context"), builder.layout, builder.problem
    projects = problem.w_o is not None or problem.b_o is not None
    if layout.splits_heads or (layout.has_input_head_axis and projects):
        *before, heads, queries, features = source.axes
        source = builder.add(
            Node(
                "merged",
                "M",
                "M = the heads of C, side by side",
                (*before, queries, Axis(features.letter, heads.length * features.length)),
                "merge",
                structural.merge_heads,
                {"x": source.name},
            )
        )
    letters = (*source.letters[:-1], source.letters[-1] if problem.w_o is None else "o")
    add_projection(builder, "output", "O", letters, source.name)
    builder.mark("output", "output")
