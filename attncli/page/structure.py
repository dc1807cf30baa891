"""The words and heads that a page can change: if its plan with others differs only in lengths."""

from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.page.page_plans import computing_function, own_scale, program_of_node
from attncli.page.programs import is_in_scripts
from attncli.plan.build import plan_of
from attncli.plan.graph import Node, Plan
from attncli.problem.build import replace_values
from attncli.problem.spec import ProblemSpec

_COUNT = ("count", "length")  # the function and the option that follow the number of words
_SPLIT = "heads"  # the option that follows the number of heads
_OF_HEADS = "dec"  # the letters of features divided among heads
MOST_HEADS = 16


def words_object(problem: ProblemSpec) -> dict[str, Any] | str:
    """The letters of the axes as long as the number of words, or a sentence on why words can't change."""
    embeddings = problem.embeddings
    is_of_words = problem.is_self_attention and problem.embeddings_source == "embeddings"
    if not is_of_words or embeddings is None or embeddings.ndim != 2:
        return "Words can't be changed here: queries and keys are not made from one row for each word."
    values: dict[str, Any] = {"embeddings": np.vstack([embeddings, embeddings[-1:]])}
    values["tokens"] = (*problem.key_labels, "_")
    if problem.token_count is not None:
        values["token_count"] = problem.token_count + 1
    try:
        plans = plan_of(problem), plan_of(replace_values(problem, values))
    except AttnError as error:
        return f"Words can't be changed here: {error}."
    letters = _longer_letters(*plans)
    if letters is None or not {"n", "m"} <= letters:
        return "Words can't be changed here: more of them make other steps."
    foreign = next(
        (node.name for node in plans[0].nodes if not _follows(problem, plans[0], node, "follows_tokens")), None
    )
    if foreign is not None:
        return f"Words can't be changed here: the page can't compute {foreign}."
    return {"letters": sorted(letters)}


def _longer_letters(plan: Plan, longer: Plan) -> set[str] | None:
    """The letters of the axes that are longer by one in another plan; None if it differs otherwise."""
    if len(plan.nodes) != len(longer.nodes):
        return None
    letters = set[str]()
    for node, other in zip(plan.nodes, longer.nodes, strict=True):
        if _definition(node, *_COUNT) != _definition(other, *_COUNT):
            return None
        for letter, length, more in zip(node.letters, node.shape, other.shape, strict=True):
            if more == length + 1:
                letters.add(letter)
            elif more != length:
                return None
    return letters


def heads_object(problem: ProblemSpec) -> list[dict[str, Any]]:
    """The numbers of heads that a page can choose, `{heads, scale}`, with the default scale of the score then.

    The problem's own is among them; there are none if it has one head, or its heads are unequal.
    """
    own = problem.heads or 1
    if own == 1 or problem.kv_heads not in (None, own):
        return []
    plan = plan_of(problem)
    return [
        {"heads": heads, "scale": own_scale(other) if problem.given_table is None else None}
        for heads in range(2, MOST_HEADS + 1)
        if (other := _with_heads(problem, heads)) is not None
        and _differs_in_heads(problem, plan, plan_of(other), own, heads)
    ]


def _with_heads(problem: ProblemSpec, heads: int) -> ProblemSpec | None:
    """The problem with another number of heads; None if that is impossible."""
    try:
        return replace_values(problem, {"heads": heads})
    except AttnError:
        return None


def _differs_in_heads(problem: ProblemSpec, plan: Plan, other: Plan, own: int, heads: int) -> bool:
    """Whether a plan equals another with so many heads, which divide the features."""
    if len(plan.nodes) != len(other.nodes):
        return False
    return all(
        _definition(node, computing_function(node), _SPLIT) == _definition(twin, computing_function(twin), _SPLIT)
        and _shape_with_heads(node, own, heads) == twin.shape
        and ("h" not in node.letters or _follows(problem, plan, node, "follows_heads"))
        for node, twin in zip(plan.nodes, other.nodes, strict=True)
    )


def _shape_with_heads(node: Node, own: int, heads: int) -> tuple[int, ...]:
    """The shape of a node with another number of heads."""
    if "h" not in node.letters:
        return node.shape
    sizes = zip(node.letters, node.shape, strict=True)
    return tuple(
        heads if letter == "h" else size * own // heads if letter in _OF_HEADS else size for letter, size in sizes
    )


def _definition(node: Node, function: str | None, option: str) -> tuple[Any, ...]:
    """A node's computation, apart from an option that its function has."""
    is_left_out = computing_function(node) == function
    options = {name: value for name, value in node.options.items() if not (is_left_out and name == option)}
    return node.name, node.function, dict(node.inputs), repr(options), node.tapped_from, node.letters


def _follows(problem: ProblemSpec, plan: Plan, node: Node, lengths: str) -> bool:
    """Whether a node is given, or a page computes it with other lengths too."""
    if computing_function(node) in (None, _COUNT[0]) or is_in_scripts(node):
        return True
    made = program_of_node(problem, plan, node)
    return made.program is not None and bool(getattr(made, lengths))
