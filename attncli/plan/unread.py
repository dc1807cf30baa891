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
    plan, unread = plan_of(problem), dict(problem.unread)
    if problem.align != DEFAULTS["align"] and not asks_where_queries_stand(plan):
        unread["align"] = "no mask and no position asks where the queries stand"
    for key in ("positions", "positions_of_queries"):
        is_looked_up = key == "positions" and problem.token_positions is not None
        is_read = is_looked_up or any(node.source == (key,) for node in plan.nodes)
        if getattr(problem, key) is not None and not is_read:
            unread[key] = _why_positions_are_not_read(problem)
    if problem.empty_rows != DEFAULTS["empty_rows"] and plan.empty_rows_fill is None:
        unread.setdefault("empty_rows", _why_no_row_is_filled(problem))
    return unread


def asks_where_queries_stand(plan: Plan) -> bool:
    """Whether a mask or a position of a plan depends on where the queries stand among the keys."""
    return any(node.stage == "align" for node in plan.nodes)


def _why_positions_are_not_read(problem: ProblemSpec) -> str:
    """Why nothing reads the positions that were given."""
    if problem.position is None:
        return "there is no position and no query_scale"
    return f"{problem.position.record.name} reads where rows stand in their sequence"


def _why_no_row_is_filled(problem: ProblemSpec) -> str:
    """Why no query gets the weights that `empty_rows` says."""
    if problem.sink is not None:
        return "the sink takes the weight of a query without keys"
    if not problem.normalize.record.is_distribution:
        return f"weights of {problem.normalize.record.name} need not sum to 1: 0 without keys"
    return "there is no mask"
