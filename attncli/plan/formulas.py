"""The formula of an operator in a plan: that of its record, with the symbols and axis letters of the plan's nodes."""

import re
from collections.abc import Mapping

from attncli.base.notation import RESULT_OF_KIND, SYMBOLS
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
    letters = dict(zip(reversed(node.record.shapes.result), reversed(node.letters), strict=False))
    return re.sub(r"(?<!\w)[a-z](?!\w)", lambda letter: letters.get(letter[0], letter[0]), formula)
