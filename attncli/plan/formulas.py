"""The formula of an operator in a plan: that of its record, with the symbols and axis letters of the plan's nodes."""

import re
from collections.abc import Mapping
from typing import Any

from attncli.base.axes import RESULT_OF_KIND, SYMBOLS
from attncli.ops.records import OperatorRecord
from attncli.plan.graph import Node


def symbols_of(node: Node, nodes: Mapping[str, Node]) -> dict[str, str]:
    """The symbols of what a node reads, by the names of arguments, and of its operator's result, by its role."""
    symbols = {argument: nodes[name].symbol for argument, name in node.inputs.items()}
    role = RESULT_OF_KIND.get(node.record.kind) if node.record is not None else None
    return symbols if role is None else {**symbols, role: node.symbol}


def formula_in_plan(formula: str, node: Node, nodes: Mapping[str, Node]) -> str:
    """The formula of an operator's record, or of one of its inner quantities, as it stands in a plan.

    Elements have the symbols of the nodes that the operator of `node` reads: `exp(Sᵐᵢⱼ)` where the scores are masked.
    An axis of the result has the letter of the node's: `√c` where a record's d features are those of keys.
    """
    assert node.record is not None
    symbols = {SYMBOLS[name]: symbol for name, symbol in symbols_of(node, nodes).items() if name in SYMBOLS}
    formula = re.sub("[A-Z](?=[ᵢⱼ])", lambda letter: symbols.get(letter[0], letter[0]), formula)
    for parameter in node.record.parameters:  # γ_Q, that of queries
        own = nodes[node.inputs[parameter.name]].symbol if parameter.name in node.inputs else ""
        if own.startswith(f"{parameter.symbol}_"):
            formula = re.sub(rf"(?<!\w){parameter.symbol}(?!\w)", own, formula)
    letters = dict(zip(reversed(node.record.shapes.result), reversed(node.letters), strict=False))
    return re.sub(r"(?<!\w)[a-z](?!\w)", lambda letter: letters.get(letter[0], letter[0]), formula)


def parameters_in_force(node: Node, record: OperatorRecord) -> dict[str, Any]:
    """The parameters of an operator's node: numbers and words, and True for an array that is given."""
    names = [parameter.name for parameter in record.parameters]
    numbers = {name: node.options[name] for name in names if node.options.get(name) is not None}
    return {**record.defaults, **numbers} | {name: True for name in names if name in node.inputs}
