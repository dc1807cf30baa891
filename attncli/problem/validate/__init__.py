"""The checks of a Problem: does what was given fit together? Every error names both sides of a contradiction."""

from typing import TYPE_CHECKING

from attncli.problem.validate.inputs import check_sources
from attncli.problem.validate.labels import check_labels
from attncli.problem.validate.lengths import check_lengths
from attncli.problem.validate.masks import check_masks
from attncli.problem.validate.operators import check_operators

if TYPE_CHECKING:
    from attncli.problem.spec import Problem


def check(problem: "Problem") -> None:
    """Raise AttnError where the keys of a problem contradict each other."""
    check_sources(problem)
    layout = problem.layout
    lengths = check_lengths(problem, layout)
    check_labels(problem)
    check_operators(problem, layout, lengths)
    check_masks(problem, layout, lengths)
    _ = problem.selected_queries
