"""The keys of a problem that neither its arrays nor its plan read."""

from collections.abc import Mapping

from attncli.plan.build import plan_of
from attncli.plan.graph import Plan
from attncli.problem.spec import DEFAULTS, ProblemSpec


def keys_unread_by_plan(problem: ProblemSpec) -> Mapping[str, str]:
    """Why nothing reads a key, for each key that was given and that nothing reads.

    >>> from attncli.problem.build import build
    >>> keys_unread_by_plan(build({"embeddings": [[1, 2]], "seed": 1, "align": "bottom_right"}))
    {'seed': 'no array is drawn', 'align': 'no mask and no position asks where the queries stand'}
    """
    if problem.align == DEFAULTS["align"] or asks_where_queries_stand(plan_of(problem)):
        return problem.unread
    return {**problem.unread, "align": "no mask and no position asks where the queries stand"}


def asks_where_queries_stand(plan: Plan) -> bool:
    """Whether a mask or a position of a plan depends on where the queries stand among the keys."""
    return any(node.stage == "align" for node in plan.nodes)
