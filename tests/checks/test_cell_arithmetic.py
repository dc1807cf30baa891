"""The arithmetic of a cell ends in the number of that cell, whatever step and whatever problem."""

from collections.abc import Iterator

import pytest

from attncli.checks.quantity import cell_arithmetic
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.numbers.formatting import Style
from attncli.plan.trace import Step, Trace
from tests.arrays import normal
from tests.problems import PROBLEMS, dense_trace, problem

DECIMALS = 4
WORKED = ("dot_products", "scores", "masked_scores", "exponentials", "weights", "context", "output")


def cells(trace: Trace) -> Iterator[tuple[Step, tuple[int, ...]]]:
    """The last cell and one in the middle of each step that has arithmetic."""
    for step in (step for step in trace.computed if step.name in WORKED):
        yield step, tuple(size - 1 for size in step.value.shape)
        yield step, tuple(size // 2 for size in step.value.shape)


COMPUTED = {name: keys for name, keys in PROBLEMS.items() if not keys.keys() & {"scores", "weights"}}


@pytest.mark.parametrize("keys", COMPUTED.values(), ids=COMPUTED)
def test_the_lines_have_the_number_of_the_cell(keys: dict[str, object]) -> None:
    trace = dense_trace(problem(**keys))
    for step, position in cells(trace):
        number = float(step.value[position])
        texts = {
            write(number)
            for style in (Style(DECIMALS), Style(DECIMALS, has_exponents=True))
            for write in (style.text, style.padded)
        }
        lines = " ".join(cell_arithmetic(trace, step.name, position, DECIMALS))
        assert any(text in lines for text in texts), (step.name, position, lines)


def test_the_feature_of_the_cell_is_worked_out_of_a_long_vector() -> None:
    trace = dense_trace(problem(query=normal(3, 4), key=normal(5, 4), value=normal(5, 23)))
    (line,) = cell_arithmetic(trace, "output", (1, 16), DECIMALS)
    assert line.startswith("C(query_2)[e17] = ")


@pytest.mark.parametrize("position", ["rope", "rope:interleaved=true", "rope:dims=14"])
@pytest.mark.parametrize("feature", [0, 1, 9, 13])
def test_the_pair_of_the_cell_is_turned_of_a_long_vector(position: str, feature: int) -> None:
    trace = dense_trace(problem(query=normal(3, 16), key=normal(5, 16), position=position))
    angle, *turned = cell_arithmetic(trace, "rotated_query", (2, feature), DECIMALS)
    assert any(
        line.endswith(Style(DECIMALS).padded(float(trace["rotated_query"].value[2, feature]))) for line in turned
    )
    assert angle.startswith("angle of pair ")


def test_the_sine_or_cosine_of_the_cell_is_worked_out_of_a_long_vector() -> None:
    trace = dense_trace(problem(embeddings=normal(3, 16), position="sinusoidal"))
    lines = cell_arithmetic(trace, "embeddings_position_vectors", (2, 5), DECIMALS)
    assert [line.partition(" = ")[0] for line in lines] == ["P[x5]", "P[x6]"]


def test_of_a_problem_in_blocks_the_query_of_the_cell_is_computed_again() -> None:
    spec = problem(query=normal(2, 7, 4), key=normal(2, 5, 4), value=normal(2, 5, 3), causal=True, only=[6, 2, 3])
    in_blocks = run(spec, ("output",), options=RunOptions(sizes=BlockSizes(dense_cells=1))).trace
    assert "scores" not in in_blocks.by_name
    for name, position in (("output", (1, 2, 0)), ("context", (0, 1, 1))):
        expected = cell_arithmetic(dense_trace(spec), name, position, DECIMALS)
        assert cell_arithmetic(in_blocks, name, position, DECIMALS) == expected
