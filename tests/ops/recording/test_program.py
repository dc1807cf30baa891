"""Programs of records: the instructions of small functions, written by hand."""

from typing import Any

import numpy as np
import pytest

from attncli.ops.recording.arrays import NotRecordedError
from attncli.ops.recording.lengths import Length, for_any_numbers
from attncli.ops.recording.program import program_of
from attncli.ops.recording.record import record


def steps_of(function: Any, *shape: int, **options: Any) -> list[list[Any]]:
    """The instructions of a function of an array with such a shape."""
    with for_any_numbers():
        made = record(function, {"x": np.linspace(0.5, 2, int(np.prod(shape))).reshape(shape)}, options)
        return list(program_of(made)["steps"])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x / np.sqrt(x.shape[-1]), [["length", 0, -1], ["sqrt", 1], ["divide", 0, 2]]),
        (lambda x: x[..., 1:, None], [["number", 1], ["slice", 0, -1, 1, None, 1], ["arrange", 2, [0, 1, None]]]),
        (lambda x: x.mT @ x, [["arrange", 0, [1, 0]], ["matmul", 1, 0]]),
        (lambda x: np.einsum("nd,md->nm", x, x).shape[0] * x, [["length", 4, -2], ["multiply", 5, 0]]),
        (lambda x: np.sort(x, axis=-1), [["argsort", 0, -1], ["take_along_axis", 0, 1, -1]]),
        (lambda x: x + 0, []),
        (
            lambda x: x.reshape(*x.shape[:-1], x.shape[-1] // 2, 2),
            [["length", 0, -2], ["length", 0, -1], ["number", 2], ["floor_divide", 2, 3], ["reshape", 0, [1, 4, 3]]],
        ),
    ],
    ids=["a length", "an index", "a product", "a length of a sum", "a sort", "nothing", "a shape"],
)
def test_a_function_becomes_these_instructions(function: Any, expected: list[list[Any]]) -> None:
    steps = steps_of(function, 3, 4)
    assert steps[0] == ["argument", "x"]
    assert steps[len(steps) - len(expected) :] == expected


def test_a_number_among_the_options_is_read_when_it_is_computed() -> None:
    with for_any_numbers():
        made = record(lambda x, power: x**power, {"x": np.ones(2), "power": np.float64(2)}, {})
    assert program_of(made, ["power"])["steps"] == [["argument", "x"], ["option", "power"], ["power", 0, 1]]
    kept = steps_of(lambda x, *, k: np.argsort(-x)[..., :k], 3, k=Length(2, "option", "k"))
    assert kept[-2:] == [["option", "k"], ["slice", 2, -1, None, 3, 1]]


def test_programs_of_other_lengths_are_the_same() -> None:
    def scores(x: Any) -> Any:
        return np.cumsum(x[..., :, None, :] - x[..., None, :, :], axis=-1).mean(axis=-1) * x.shape[-2] ** 0.5

    assert steps_of(scores, 3, 4) == steps_of(scores, 5, 2)
    assert steps_of(lambda x: x + np.arange(x.shape[-1]), 3, 4) != steps_of(lambda x: x + np.arange(x.shape[-1]), 3, 2)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: np.take(x, [0, 1, 2], axis=0)[[0, 1], :, [0, 1]], "apart from each other"),
        (lambda x: np.tile(x, 2), r"np\.tile"),
        (lambda x: np.round(x, 2), "rounding to decimals"),
    ],
)
def test_what_has_no_instruction_is_refused(function: Any, reason: str) -> None:
    with pytest.raises(NotRecordedError, match=reason):
        steps_of(function, 3, 4, 2)


def test_a_number_of_lengths_alone_is_known() -> None:
    assert steps_of(lambda x: x * float(np.sqrt(x.shape[-1])), 3, 4)[1] == ["number", 2.0]
