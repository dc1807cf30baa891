"""The checks of a Problem: does what was given fit together? Every error names both sides of a contradiction."""

from typing import TYPE_CHECKING

from attncli.checks.entries import check_entries
from attncli.checks.labels import check_labels
from attncli.checks.lengths import check_lengths
from attncli.checks.masks import check_masks
from attncli.checks.sources import check_sources

if TYPE_CHECKING:
    from attncli.problem import Problem


def check(problem: "Problem") -> None:
    """Raise AttnError where the keys of a problem contradict each other."""
    check_sources(problem)
    layout = problem.layout
    lengths = check_lengths(problem, layout)
    check_labels(problem)
    check_entries(problem, layout, lengths)
    check_masks(problem, layout, lengths)
    _ = problem.chosen_queries
