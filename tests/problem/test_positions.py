"""Positions that a problem gives: what reads them, for which rows, and what they must be."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.io.problem_text import problem_yaml
from attncli.ops.positions import sinusoidal
from attncli.ops.rope import rope
from attncli.plan.build import keys_unread_by_plan
from attncli.problem.edits import Edit, apply_edits
from tests.arrays import normal
from tests.problems import dense_trace, problem

B, N, D = 2, 4, 6
X = normal(N, D)
PACKED = [0, 1, 0, 1]  # two sequences in one row


def step(name: str, **keys: Any) -> np.ndarray:
    """The value of a step of a problem."""
    return np.asarray(dense_trace(problem(**keys))[name].value)


def test_rows_are_rotated_by_the_positions_that_are_given() -> None:
    for name in ("rotated_query", "rotated_key"):
        computed = step(name, embeddings=X, position="rope", positions=PACKED)
        np.testing.assert_array_equal(computed, rope(X, np.array(PACKED)))


def test_positions_of_the_command_line_are_a_table_of_one_row() -> None:
    expected = step("weights", embeddings=X, position="rope", positions=PACKED)
    np.testing.assert_array_equal(step("weights", embeddings=X, position="rope", positions=[PACKED]), expected)


def test_the_numbers_of_the_rows_are_the_positions_without_them() -> None:
    counted = step("weights", embeddings=X, position="rope", causal=True)
    given = step("weights", embeddings=X, position="rope", causal=True, positions=[0, 1, 2, 3])
    np.testing.assert_array_equal(given, counted)


def test_masks_and_biases_count_rows_whatever_positions_are_given() -> None:
    keys = {"query": X, "key": X, "window": (1, 0), "causal": True, "position": "rope", "bias": np.zeros((N, N))}
    visible = step("visible", **keys)
    np.testing.assert_array_equal(step("visible", **keys, positions=PACKED), visible)


def test_queries_have_positions_of_their_own() -> None:
    keys = {"query": X[:2], "key": X, "position": "rope", "positions": PACKED, "positions_of_queries": [7, 8.5]}
    np.testing.assert_array_equal(step("rotated_query", **keys), rope(X[:2], np.array([7, 8.5])))
    np.testing.assert_array_equal(step("rotated_key", **keys), rope(X, np.array(PACKED)))


def test_selected_queries_have_their_own_positions() -> None:
    computed = step("rotated_query", query=X, key=X, position="rope", positions=[5, 6, 7, 9], only=[3, 0])
    np.testing.assert_array_equal(computed, rope(X[[3, 0]], np.array([9, 5])))


def test_new_keys_have_positions_and_cached_ones_have_theirs_already() -> None:
    past = {"past_key": normal(3, D), "past_value": normal(3, D)}
    computed = step("present_key", query=X, key=X, **past, position="rope", positions=[1, 2, 3, 4])
    np.testing.assert_array_equal(computed, np.concatenate([past["past_key"], rope(X, np.arange(1, 5))]))


def test_each_batch_item_has_its_positions_as_padding_on_the_left_asks_for() -> None:
    x, positions = normal(B, 3, N, D), np.array([[1, 1, 0, 1], [0, 1, 2, 3]])
    computed = step("rotated_key", query=x, key=x, position="rope", positions=positions)
    for item in range(B):
        np.testing.assert_array_equal(computed[item], rope(x[item], positions[item]))


def test_positions_are_added_to_embeddings_where_they_are_given() -> None:
    computed = step("positioned_embeddings", embeddings=X, position="sinusoidal", positions=PACKED)
    np.testing.assert_array_equal(computed, X + sinusoidal(np.array(PACKED), D))
    table = normal(9, D)
    keys = {"embeddings": X, "position": {"learned": {"table": table}}, "positions": [8, 0, 0, 3]}
    np.testing.assert_array_equal(step("positioned_embeddings", **keys), X + table[[8, 0, 0, 3]])


def test_the_length_of_a_sequence_is_that_of_its_last_position() -> None:
    scaling = {"rope_type": "dynamic", "factor": 2, "max_position_embeddings": 4}
    keys = {"embeddings": X, "position": {"rope": {"scaling": scaling}}}
    assert step("position_count", **keys) == 4
    assert step("position_count", **keys, positions=[0, 1, 5, 3]) == 6
    assert step("position_count", **keys, positions_of_queries=[0, 1, 9, 3]) == 10


def test_pairs_turn_by_the_positions_on_their_axis() -> None:
    axes = np.array([[0, 1, 2, 3], [5, 0, 0, 2]])
    frequencies = np.array([[0.3, 0, 0], [0, 0.2, 0.1]])
    computed = step("rotated_query", embeddings=X, position={"rope": {"frequencies": frequencies}}, positions=axes)
    for row in range(N):
        angles = axes[0, row] * frequencies[0] + axes[1, row] * frequencies[1]
        turned = (X[row, :3] + 1j * X[row, 3:]) * np.exp(1j * angles)
        np.testing.assert_allclose(computed[row], [*turned.real, *turned.imag], rtol=1e-14)


def test_rows_of_text_count_alike_on_every_axis() -> None:
    sections = {"rope_type": "default", "mrope_section": [1, 1, 1]}
    computed = step("weights", embeddings=X, position={"rope": {"scaling": sections}})
    np.testing.assert_allclose(computed, step("weights", embeddings=X, position="rope"), rtol=1e-14)


def test_positions_are_written_and_read_back_and_single_ones_are_set(tmp_path: Any) -> None:
    spec = problem(embeddings=X, position="rope:scaling={mrope_section: [2, 1]}", positions=normal(2, N))
    (tmp_path / "p.yaml").write_text("".join(problem_yaml(spec)), encoding="utf-8")
    again = attncli.load(tmp_path / "p.yaml").spec
    np.testing.assert_array_equal(again.positions, spec.positions)
    edited = apply_edits(spec, [Edit("positions", ("s2", "token_3"), 7.0, "positions[s2,token_3]=7")]).positions
    assert edited is not None
    assert edited[1, 2] == 7


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"positions": [0, 1, 2]}, "positions: has the shape [3]; embeddings has 4 rows (m); expected [4]"),
    ({"positions": [[0, 1, 2, 3]] * 2}, "positions: has the shape [2 4]; embeddings has 4 rows (m); expected [4]"),
    ({"positions": [0, 1, 2, float("nan")]}, "positions: a position is not a finite number"),
    ({"positions": "normal"}, "positions: can't be drawn; give numbers"),
    (
        {"positions": PACKED, "position": "rope:scaling={mrope_section: [2, 1]}"},
        "positions: has the shape [4]; embeddings has 4 rows (m); expected [2 4]",
    ),
    (
        {"position": "rope:scaling={type: axial},dims=4"},
        "positions: the pairs of rope read 2 axes; give positions, [2 4]",
    ),
    (
        {"position": "rope:scaling={mrope_section: [2, 2]}"},
        "position, scaling, mrope_section: 4 pairs read an axis, and 3 pairs turn",
    ),
    ({"position": "rope:scaling={type: axial}"}, "positions: the pairs of rope read 2 axes"),
    (
        {"position": "rope:scaling={type: axial, alternating: true}", "positions": [[0] * 4] * 2},
        "position, scaling, axes: 2 pairs read an axis, and 3 pairs turn",
    ),
    ({"positions": PACKED, "query_embeddings": X[:2]}, "positions: belong to 4 keys, and there are 2 queries"),
    (
        {"positions": [0, 1, 2, 0.5], "position": {"learned": {"table": X}}},
        "positions: 0.5 is not a whole number; learned has one row for each position",
    ),
    (
        {"positions": [0, 1, 2, 4], "position": {"learned": {"table": X}}},
        "position, table: the table has positions 0 to 3; 0 to 4 are asked for",
    ),
]


@pytest.mark.parametrize(("keys", "message"), ERRORS)
def test_positions_that_fit_no_rows_are_an_error(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as error:
        attncli.Problem(**{"embeddings": X, "position": "rope", **keys}).compute()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("position", "reason"),
    [
        ({}, "there is no position and no query_scale"),
        ({"position": "alibi"}, "alibi reads the positions of the rows"),
    ],
)
def test_positions_that_nothing_reads_are_a_warning(position: dict[str, Any], reason: str) -> None:
    spec = problem(embeddings=X, **position, positions=PACKED)
    assert keys_unread_by_plan(spec) == {"positions": reason}
