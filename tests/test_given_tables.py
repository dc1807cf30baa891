"""Scores or weights that are given lead to the results of the problem that computes them."""

import numpy as np
import pytest

from attncli.engine.run import run
from tests.problems import PROBLEMS, dense_trace, problem, with_table

COMPUTED = {
    name: keys
    for name, keys in PROBLEMS.items()
    if keys.keys().isdisjoint(("scores", "weights", "recurrence"))
    and "attentional" not in keys.get("context", "")
    and "decomposed" not in keys.get("position", "")
}


# Weights do not say which keys a mask hid: `max` leaves out these alone.
GIVEN = [(table, name) for name in COMPUTED for table in ("scores", "weights")]
GIVEN = [(table, name) for table, name in GIVEN if table == "scores" or COMPUTED[name].get("context") != "max"]


@pytest.mark.parametrize(("table", "name"), GIVEN)
def test_given_tables_have_the_results_of_the_problem_that_computes_them(table: str, name: str) -> None:
    keys = COMPUTED[name]
    whole, begun = run(problem(**keys)).trace, run(problem(**with_table(table, **keys))).trace
    precision = whole.problem.precision
    # Equal but where BLAS computes the scores of one selected query in another order than those of all; a table of a
    # half type is rounded to be given, and where it is computed, only to be shown.
    tolerance = 2 * precision.epsilon if precision.has_wide_tables else 1e-12
    for result in begun.plan.results:
        np.testing.assert_allclose(begun[result].value, whole[result].value, tolerance, tolerance, err_msg=result)
        assert begun[result].axes == whole[result].axes
    assert begun.problem.unread == {}
    assert begun.labels["m"] == whole.labels["m"] or "embeddings" not in keys
    notes = [note for note in whole.notes if "no key is visible" in note]
    are_filled = table == "weights" and "empty_rows" in keys  # given weights that are not 0 attend
    assert [note for note in begun.notes if "no key is visible" in note] == ([] if are_filled else notes)


def test_given_scores_alone_have_the_weights_of_the_problem() -> None:
    keys = PROBLEMS["one head, a softcap and a bias"]
    whole = dense_trace(problem(**keys))
    spec = problem(scores=whole["scores"].value, softcap=keys["softcap"], bias=keys["bias"])
    assert spec.default_selection == ("scores", "weights")
    np.testing.assert_array_equal(run(spec).weights, whole["weights"].value)
