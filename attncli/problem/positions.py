"""The positions that a problem gives: which key has those of queries and of keys, and on how many axes they are."""

from attncli.ops.records import PositionAxes
from attncli.problem.spec import ProblemSpec


def position_axes(problem: ProblemSpec) -> PositionAxes | None:
    """The axes that positions are on, where the position scheme reads several; otherwise None."""
    position = problem.position
    if position is None or position.record.position_axes is None:
        return None
    return position.record.position_axes(position.parameters)


def positions_of(problem: ProblemSpec, role: str) -> str | None:
    """The key that gives the positions of queries or of keys; None where none does.

    `positions` are those of the queries too, unless `positions_of_queries` are given.

    >>> from attncli.problem.build import build
    >>> problem = build({"embeddings": [[1, 2]], "position": "rope", "positions": [3]})
    >>> positions_of(problem, "query"), positions_of(problem, "key")
    ('positions', 'positions')
    """
    if role == "query" and problem.positions_of_queries is not None:
        return "positions_of_queries"
    return "positions" if problem.positions is not None else None
