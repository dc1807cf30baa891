"""Whether the words of a page can be changed: whether its plan with one more differs in lengths alone."""

from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.plan.build import plan_of
from attncli.plan.graph import Node, Plan
from attncli.problem.build import replace_values
from attncli.problem.spec import ProblemSpec
from attncli.render.page.document import page_functions
from attncli.render.page.page_plans import computing_function

_COUNT = ("count", "length")  # the function and the option that follow the number of words


def words_object(problem: ProblemSpec) -> dict[str, Any] | str:
    """The letters of the axes that are as long as there are words, or a sentence on why words can't be changed."""
    embeddings = problem.embeddings
    is_of_words = problem.is_self_attention and problem.embeddings_source == "embeddings"
    if not is_of_words or embeddings is None or embeddings.ndim != 2:
        return "Words can't be changed here: queries and keys are not made from one row for each word."
    values = {"embeddings": np.vstack([embeddings, embeddings[-1:]]), "tokens": (*problem.key_labels, "_")}
    try:
        plans = plan_of(problem), plan_of(replace_values(problem, values))
    except AttnError as error:
        return f"Words can't be changed here: {error}."
    letters = _longer_letters(*plans)
    if letters is None or not {"n", "m"} <= letters:
        return "Words can't be changed here: more of them make other steps."
    foreign = next((node.name for node in plans[0].nodes if not _is_known(node)), None)
    if foreign is not None:
        return f"Words can't be changed here: the page can't compute {foreign}."
    return {"letters": sorted(letters)}


def _longer_letters(plan: Plan, longer: Plan) -> set[str] | None:
    """The letters of the axes that are longer by one in another plan; None where it differs in something else."""
    if len(plan.nodes) != len(longer.nodes):
        return None
    letters = set[str]()
    for node, other in zip(plan.nodes, longer.nodes, strict=True):
        if _definition(node) != _definition(other):
            return None
        for letter, length, more in zip(node.letters, node.shape, other.shape, strict=True):
            if more == length + 1:
                letters.add(letter)
            elif more != length:
                return None
    return letters


def _definition(node: Node) -> tuple[Any, ...]:
    """What a node computes, apart from how many it counts."""
    function, option = _COUNT
    is_count = computing_function(node) == function
    options = {name: value for name, value in node.options.items() if not (is_count and name == option)}
    return node.name, node.function, dict(node.inputs), repr(options), node.tapped_from, node.letters


def _is_known(node: Node) -> bool:
    """Whether a page computes a node, or it is given."""
    name = computing_function(node)
    return name is None or name == _COUNT[0] or name in page_functions()
