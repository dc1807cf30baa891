"""What is said of gradients: their symbols, and what each step of the backward pass is for."""

from collections.abc import Iterable, Mapping, Sequence

from attncli.base.axes import LEGEND
from attncli.base.text import join_words
from attncli.plan.graph import Node

OUTPUT_GRADIENT = "How much the loss grows with each number of the output."
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
# Why the gradient of an argument is what it is, by the stage of the step that reads it, or the function.
_REASONS: Mapping[tuple[str, str], str] = {
    ("context", "weights"): "A weight lets the value of its key through: what the loss gains is that value along the "
    "gradient of the context.",
    ("context", "value"): "A value goes to every query by its weight: the gradients of their contexts come back by "
    "the same weights.",
    ("normalize", "scores"): "A score moves every weight of its row: its own one way, the others the other way.",
    ("score", "query"): "A query is in the scores of all keys: their gradients are added.",
    ("score", "key"): "A key is in the scores of all queries: their gradients are added.",
    ("softcap", "scores"): "Near the cap a score hardly moves the capped one: its gradient shrinks.",
    ("apply_mask", "scores"): "The weight of a hidden key is 0 whatever its score is: no gradient reaches that score.",
    ("with_column", "scores"): "The column of the sink is not the score of a key.",
    ("with_column", "sink"): "A head has one sink for all of its queries: their gradients are added.",
    ("without_column", "weights"): "The output does not read the weight of the sink: its gradient is 0.",
    ("add_bias", "table"): "A number of the bias gets the gradients of all scores that it was added to.",
    ("repeat_kv", "x"): "A key head serves several query heads: their gradients are added.",
    ("split_heads", "x"): "The gradients of the heads are put side by side again.",
    ("merge_heads", "x"): "Each head gets the gradient of its own features.",
    ("project", "x"): "A number is in every feature that the projection makes of its row.",
    ("project", "w"): "A weight acts on every row: what the rows say is added.",
    ("project", "b"): "The vector is added to every row: their gradients are added.",
}


def symbol_of(source: Node, number: int = 0) -> str:
    """The symbol of a gradient: `dX`, or of the first of several parts that are added `dX₁`."""
    return f"d{source.symbol}" + (str(number).translate(_SUBSCRIPTS) if number else "")


def purpose_of(node: Node, source: Node, argument: str) -> str:
    """Why the gradient of what a node reads as an argument is what it is, in a sentence."""
    function = "" if node.function is None else node.function.__name__
    reason = _REASONS.get((function, argument)) or _REASONS.get((node.stage, argument))
    return reason or f"The gradient of {node.name}, times how much {source.name} changes {node.name}: the chain rule."


def purpose_of_number(node: Node, name: str) -> str:
    """Why the gradient of a number is what it is."""
    return f"Every number of {node.name} is made with {name}: what each of them gains by it is added."


def purpose_of_sum(source: Node, readers: Sequence[Node]) -> str:
    """Why the gradients that reach a step by several ways are added."""
    names = join_words([node.name for node in readers])
    return f"The loss depends on {source.name} through {names}: what comes back from them is added."


def purpose_of_sum_over(source: Node, letters: Iterable[str]) -> str:
    """Why a gradient is added up over axes that an array does not have, or along which it broadcasts."""
    nouns = join_words([LEGEND[letter] for letter in letters])
    return f"All {nouns} read the same {source.name}: their gradients are added."
