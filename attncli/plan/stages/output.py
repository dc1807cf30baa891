"""The answer: weights, what each head makes of the values, and the heads merged."""

from attncli.engine.dense import Recorder
from attncli.ops import structural as head_axis
from attncli.ops.registry import Quantity
from attncli.plan.stages.common import GIVEN, run_operator, table_axes
from attncli.plan.stages.projections import Projection, apply_projection
from attncli.problem.spec import ProblemSpec


def normalize(problem: ProblemSpec, recorder: Recorder) -> None:
    """From scores to weights; a sink stands beside the keys while they are normalized."""
    axes, heads = table_axes(problem), problem.layout.heads if problem.layout.has_heads else None
    if problem.sink is None:
        run_operator(problem, recorder, "normalize", problem.normalize, Quantity("weights", "A", "", axes), "weights")
    else:
        wider = (*axes[:-1], "m+1")
        recorder.give(Quantity("sink", "z", GIVEN, ("h",)), problem.sink)
        scores = recorder.now("scores")
        joined = Quantity("scores_and_sink", "Sᶻ", f"{scores.symbol}, and z after the last key", wider)
        inputs = {"scores": scores.name, "sink": "sink"}
        recorder.step(joined, "sink", head_axis.with_column, inputs, options={"heads": heads}, role="scores")
        run_operator(problem, recorder, "normalize", problem.normalize, Quantity("weights_and_sink", "Aᶻ", "", wider))
        dropped = Quantity("weights", "A", "Aᶻ without the sink", axes)
        recorder.step(dropped, "sink", head_axis.without_column, {"weights": "weights_and_sink"}, role="weights")
    recorder.note_empty_rows("weights", problem.selected_query_labels)


def context(problem: ProblemSpec, recorder: Recorder) -> None:
    """From weights and values to what each head answers."""
    axes = (*problem.layout.score_axes, *problem.context.record.shapes.result)
    run_operator(problem, recorder, "context", problem.context, Quantity("context", "C", "", axes))


def merge(problem: ProblemSpec, recorder: Recorder) -> None:
    """The heads side by side, through the output weights; heads that came apart and have none stay apart."""
    source, layout = recorder.steps["context"], problem.layout
    features, items = source.axes[-1], source.axes[:-2]
    if layout.splits_heads or (layout.has_input_head_axis and (problem.w_o is not None or problem.b_o is not None)):
        items = layout.batch_axes
        quantity = Quantity("merged", "M", "M = the heads of C, side by side", (*items, "n", features))
        recorder.step(quantity, "merge", head_axis.merge_heads, {"x": "context"})
        source = recorder.steps["merged"]
    axes = (*items, "n", features if problem.w_o is None else "o")
    apply_projection(problem, recorder, Projection("output", "O", source.name, axes))
