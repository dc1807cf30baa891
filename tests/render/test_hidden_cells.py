"""The cells of tables that masks hide."""

import numpy as np

from attncli.engine.run import run
from attncli.plan.build import plan_of
from attncli.render.masks import hidden_cells, masks_to_show
from tests.arrays import normal
from tests.problems import problem

SPEC = problem(embeddings=normal(3, 2), causal=True)
AFTER = np.triu(np.ones((3, 3), bool), 1)


def test_they_are_hidden_behind_the_mask_and_nowhere_else() -> None:
    trace = run(SPEC).trace
    hidden = {step.name: hidden_cells(trace, step, ()) for step in trace.computed}
    assert [name for name, cells in hidden.items() if cells is not None] == ["masked_scores", "exponentials", "weights"]
    np.testing.assert_array_equal(hidden["weights"], AFTER)


def test_a_batch_item_has_those_of_its_own_mask() -> None:
    spec = problem(query=normal(2, 3, 4), key=normal(2, 3, 4), heads=2, key_mask=[[1, 1, 0], [1, 1, 1]])
    trace = run(spec).trace
    first, second = (hidden_cells(trace, trace["weights"], (item, 1)) for item in (0, 1))
    assert first is not None
    assert second is not None
    assert (first.tolist(), second.any()) == ([[False, False, True]] * 3, False)


def test_without_masks_there_are_none() -> None:
    spec = problem(embeddings=normal(3, 2))
    trace = run(spec).trace
    assert hidden_cells(trace, trace["weights"], ()) is None
    assert masks_to_show(plan_of(spec), ["weights"]) == ()


def test_the_step_that_has_them_is_computed_too_where_a_table_needs_it() -> None:
    plan = plan_of(SPEC)
    asked = [["scores", "output"], ["weights"], ["visible", "weights"]]
    assert [masks_to_show(plan, names) for names in asked] == [(), ("visible",), ()]
