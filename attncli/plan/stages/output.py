"""The output: weights, the context of each head, merged heads, their gate, and their projection."""

from attncli.base.lazy_numpy import Array
from attncli.ops import structural
from attncli.ops.elementwise import fill_empty_rows
from attncli.ops.gates import apply_gate
from attncli.ops.log_sum_exp import log_sum_exp, log_sum_exp_options
from attncli.ops.norms import is_over_all
from attncli.ops.records import format_value
from attncli.plan.builder import PlanBuilder, numbers_of, options_beside
from attncli.plan.graph import Axis, Node
from attncli.plan.stages.differences import scale_context
from attncli.plan.stages.heads import add_merged, normalize_context
from attncli.plan.stages.projections import add_projection
from attncli.problem.fields import LSE
from attncli.problem.weights import has_projection

STEPS = {
    "sink": "One extra logit per head that joins the softmax and is then discarded.",
    "scores_and_sink": "The sink is an extra column, which may take weight away from every key.",
    "lse": "The logarithm of each query's softmax denominator: it merges results over subsets of the keys.",
    "weights": "How much of each key's value a query takes.",
    "context": "The values, mixed by each query's weights.",
    "merged": "The heads' contexts, side by side again in one vector for each query.",
    "w_g": "Learned weights that make the output's gates from the queries' sequence.",
    "b_g": "A learned vector that is added to every projected gate.",
    "projected_gate": "The inputs of each query's gates: one for each feature of the output, or for each head.",
    "gated": "The merged heads, times their gates.",
    "w_o": "Learned weights that mix the heads' contexts.",
    "b_o": "A learned vector that is added to every output.",
    "output": "The answer: one vector for each query.",
}


def normalize(builder: PlanBuilder) -> None:
    """From scores to weights; a sink is a column after the keys while they are normalized."""
    problem, axes = builder.problem, builder.table_axes
    builder.set_result("masked_scores", "scores")
    if problem.sink is not None:
        _add_sink(builder, problem.sink)
    _add_log_sum_exp(builder)
    if problem.sink is not None:
        _normalize_with_sink(builder)
    elif _fills_empty_rows(builder):
        before = builder.add_operator("normalize", problem.normalize, "normalized_scores", "A₀", axes, role="weights")
        _fill_empty_rows(builder, before)
    else:
        builder.add_operator("normalize", problem.normalize, "weights", "A", axes, role="weights")
    builder.set_result("weights", "weights")


def _add_sink(builder: PlanBuilder, values: Array) -> None:
    """Add the sink to the scores as one more column."""
    axes = builder.table_axes
    sink = builder.add_given("sink", "z", (Axis("h", len(values)),))
    scores, wider = builder.current_node("scores"), (*axes[:-1], Axis("m+1", axes[-1].length + 1))
    inputs = {"scores": scores.name, "sink": sink.name}
    options = {"heads": builder.layout.heads if builder.layout.has_heads else None}
    name, formula, widen = "scores_and_sink", f"{scores.symbol}, and z after the last key", structural.with_column
    builder.add(name, "Sᶻ", formula, wider, "sink", widen, inputs, options, role="scores")


def _add_log_sum_exp(builder: PlanBuilder) -> None:
    """Add the log-sum-exp of each query's scores, if the weights are exponentials divided by their sum."""
    operator, scores = builder.problem.normalize, builder.current_node("scores")
    options = log_sum_exp_options(operator)
    if options is None:
        return
    total = f"Σⱼ exp({scores.symbol}ᵢⱼ{'/T' if options.get('temperature', 1) != 1 else ''})"
    formula = f"lseᵢ = ln({format_value(options['extra'])} + {total})" if "extra" in options else f"lseᵢ = ln {total}"
    inputs = {"scores": scores.name}
    builder.add(LSE, LSE, formula, scores.axes[:-1], LSE, log_sum_exp, inputs, options, is_on_demand=True)
    builder.results[LSE] = LSE


def _normalize_with_sink(builder: PlanBuilder) -> None:
    """Normalize the scores with the sink, the last column, then drop it."""
    problem, axes = builder.problem, builder.table_axes
    wider = builder.current_node("scores").axes
    both = builder.add_operator("normalize", problem.normalize, "weights_and_sink", "Aᶻ", wider)
    formula, inputs = "Aᶻ without the sink", {"weights": both.name}
    builder.add("weights", "A", formula, axes, "sink", structural.without_column, inputs, role="weights")


def _fills_empty_rows(builder: PlanBuilder) -> bool:
    """Whether rows without keys may occur and get weights other than 0: only a distribution leaves them open."""
    problem = builder.problem
    may_be_empty = "visible" in builder.nodes or problem.scores is not None
    return problem.empty_rows != "zeros" and may_be_empty and problem.normalize.record.is_distribution


def _fill_empty_rows(builder: PlanBuilder, before: Node) -> None:
    """The weights of queries that see no key, by `empty_rows`."""
    fill, keys = builder.problem.empty_rows, builder.key_count
    formula = f"{before.symbol}, {'NaN' if fill == 'nan' else f'1/{keys}'} in rows without keys"
    inputs, options, stage = {"weights": before.name}, {"fill": fill, "keys": keys}, "empty_rows"
    builder.add("weights", "A", formula, before.axes, stage, fill_empty_rows, inputs, options, role="weights")


def attend(builder: PlanBuilder) -> None:
    """From weights and values to the context of each head."""
    operator = builder.problem.context
    if builder.problem.recurrence is not None:
        return
    leading = builder.current_node("weights").axes[:-2]  # half as many heads with a difference
    axes = builder.result_axes(operator.record, builder.inputs_of("context", operator), leading)
    builder.add_operator("context", operator, "context", "C", axes, role="context")
    builder.set_result("context", "context")
    normalize_context(builder)
    if not _is_normalized_over_all(builder):
        scale_context(builder)


def merge_heads(builder: PlanBuilder) -> None:
    """The heads side by side; without output weights an input axis of heads stays."""
    layout, problem = builder.layout, builder.problem
    projects = problem.w_o is not None or problem.b_o is not None
    if layout.splits_heads or (layout.has_input_head_axis and projects):
        add_merged(builder, builder.current_node("context"), "merged", "C_all", "merge", "context")
    normalize_context(builder, over_all=True)
    if _is_normalized_over_all(builder):
        scale_context(builder)


def _is_normalized_over_all(builder: PlanBuilder) -> bool:
    """Whether the context's norm is over all heads, so that it follows the merge."""
    norm = builder.problem.context_norm
    return norm is not None and is_over_all(norm)


def gate(builder: PlanBuilder) -> None:
    """The merged heads times each query's gate, which is projected from its sequence."""
    if not has_projection(vars(builder.problem), "g"):
        return
    source, sequence = builder.current_node("context"), builder.current["selected_rows"]
    add_projection(builder, "projected_gate", "G", (*builder.layout.batch_axes, "n", "u"), sequence)
    operator, axes = builder.problem.gate, builder.nodes["projected_gate"].axes
    inputs = {"x": "projected_gate", **builder.add_arrays("gate", operator)}
    more = {"numbers": numbers_of("gate", operator)}
    function, options = operator.record.function, options_beside(operator, inputs)
    gates = builder.add("gate", "Gᵃ", "", axes, "gate", function, inputs, options, **more)
    each = "head" if gates.axes[-1].length < source.axes[-1].length else "number"
    symbol, formula = f"{source.symbol[0]}ᵍ", f"each {each} of {source.symbol} times its gate"
    inputs = {"x": source.name, "gate": gates.name}
    builder.add("gated", symbol, formula, source.axes, "gate", apply_gate, inputs, role="context")


def project_output(builder: PlanBuilder) -> None:
    """The merged heads times the output weights."""
    source = builder.current_node("context")
    letters = (*source.letters[:-1], source.letters[-1] if builder.problem.w_o is None else "o")
    add_projection(builder, "output", "O", letters, source.name)
    builder.set_result("output", "output")


STAGES = {"weights": (normalize,), "output": (attend, merge_heads, gate, project_output)}
