"""What stages share: an operator is run on the steps that stand for its arrays by now."""

from attncli.base.axes import Letters
from attncli.engine.dense import Recorder
from attncli.ops.registry import Operator, Quantity
from attncli.problem.spec import ProblemSpec

GIVEN = "given"


def give_arrays(recorder: Recorder, stage: str, chosen: Operator) -> dict[str, str]:
    """Keep the arrays that an operator brings; returns the name of each one's step."""
    inputs = {}
    for parameter, value in chosen.arrays.items():
        known = chosen.record.parameter(parameter)
        inputs[parameter] = f"{stage}.{parameter}"
        quantity = Quantity(inputs[parameter], parameter, GIVEN, ("h", *known.letters)[-value.ndim :])
        recorder.give(quantity, value)
    return inputs


def run_operator(
    problem: ProblemSpec, recorder: Recorder, stage: str, chosen: Operator, quantity: Quantity, role: str | None = None
) -> None:
    """Run an operator on the steps that its signature names and on its own parameters, with its own formula."""
    record, quantity = chosen.record, Quantity(quantity.name, quantity.symbol, chosen.record.formula, quantity.axes)
    inputs = {name: recorder.current[name] for name in record.shapes.arrays if name in recorder.current}
    inputs |= give_arrays(recorder, stage, chosen)
    recorder.step(quantity, stage, record.function, inputs, options=chosen.options, record=record, role=role)


def all_queries(problem: ProblemSpec) -> str:
    """The letter of queries as they come in: those that are computed, or all before `only` chooses among them."""
    return "n" if problem.selected_queries is None else "q"


def table_axes(problem: ProblemSpec) -> Letters:
    """The axes of the table of scores."""
    return (*problem.layout.score_axes, "n", "m")
