"""What stages share: an operator is run on the steps that stand for its arrays by now."""

from attncli.base.axes import Letters
from attncli.base.lazy_numpy import Array
from attncli.engine.dense import Recorder
from attncli.ops.registry import Operator, Quantity
from attncli.problem.spec import Problem

GIVEN = "given"


def give_arrays(problem: Problem, recorder: Recorder, stage: str, chosen: Operator) -> dict[str, str]:
    """Keep the arrays that an operator brings; returns the name of each one's step."""
    inputs = {}
    for parameter, value in chosen.arrays.items():
        known = chosen.record.parameter(parameter)
        inputs[parameter] = f"{stage}.{parameter}"
        quantity = Quantity(inputs[parameter], parameter, GIVEN, ("h", *known.letters)[-value.ndim :])
        recorder.give(quantity, in_out(problem, value) if known.is_weight else value)
    return inputs


def run_operator(
    problem: Problem, recorder: Recorder, stage: str, chosen: Operator, quantity: Quantity, role: str | None = None
) -> None:
    """Run an operator on the steps that its signature names and on its own parameters, with its own formula."""
    record, quantity = chosen.record, Quantity(quantity.name, quantity.symbol, chosen.record.formula, quantity.axes)
    inputs = {name: recorder.current[name] for name in record.shapes.arrays if name in recorder.current}
    inputs |= give_arrays(problem, recorder, stage, chosen)
    recorder.step(quantity, stage, record.function, inputs, options=chosen.options, record=record, role=role)


def in_out(problem: Problem, weights: Array) -> Array:
    """A matrix as the pipeline multiplies it, from the right: what is stored out_in is turned."""
    return weights.swapaxes(-1, -2) if problem.weight_layout == "out_in" and weights.ndim > 1 else weights


def all_queries(problem: Problem) -> str:
    """The letter of queries as they come in: those that are computed, or all before `only` chooses among them."""
    return "n" if problem.selected_queries is None else "q"


def table_axes(problem: Problem) -> Letters:
    """The axes of the table of scores."""
    return (*problem.layout.leading, "n", "m")
