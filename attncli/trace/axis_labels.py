"""Labels of axes: the names of queries, keys and other entries that a problem gives, by the letter of their axis."""

from attncli.problem.packing import labels_of_packed
from attncli.problem.spec import ProblemSpec

AxisLabels = dict[str, tuple[str, ...]]


def labels(problem: ProblemSpec) -> AxisLabels:
    """The names of the entries along axes, by letter: of queries and keys, of a vocabulary (v), of packed columns."""
    keys, past = problem.key_labels, problem.past_count
    labels_by_letter = {
        "n": problem.selected_query_labels,
        "q": problem.query_labels,
        "m": keys,
        "p": keys[:past],
        "k": keys[past:],
    }
    if problem.vocabulary is not None:
        labels_by_letter["v"] = tuple(problem.vocabulary)
    if problem.sink is not None:
        labels_by_letter["m+1"] = (*keys, "sink")
    return labels_by_letter | labels_of_packed(problem)
