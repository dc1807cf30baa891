"""Values of keys that are more than a number and less than a matrix."""

from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.assemble import assemble
from attncli.io.origin import Origin, RawValue
from attncli.io.parse.values import counts, listed, truths, window

INFINITE = float("inf")


@pytest.mark.parametrize(
    ("written", "read"),
    [(3, [3]), (0.5, [0.5]), ("3,5", [3, 5]), ("-1.5", [-1.5]), ("x.csv", "x.csv"), ([1, 2], [1, 2]), ("1,x", "1,x")],
)
def test_a_number_alone_is_a_list_of_one(written: Any, read: Any) -> None:
    assert listed(written) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2,0", (2, 0)),
        ([2, 0], (2, 0)),
        ("-1, 3", (INFINITE, 3)),
        (["inf", 1], (INFINITE, 1)),
        ((INFINITE, -1), (INFINITE, INFINITE)),
        ("inf,inf", (INFINITE, INFINITE)),
    ],
)
def test_a_window_has_two_sides_and_a_side_may_have_no_limit(written: Any, read: tuple[float, float]) -> None:
    assert window(written, "window") == read


@pytest.mark.parametrize("written", ["2", "1,2,3", "a,b", "1.5,2", "-2,0", 5, [True, 1], ["1", None], "nan,1", ",", {}])
def test_what_is_no_window_is_an_error_of_the_key(written: Any) -> None:
    with pytest.raises(AttnError, match=r"^window: "):
        window(written, "window")


def test_truths_are_ones_and_zeros() -> None:
    assert truths(np.array([[1.0, 0]]), "mask").tolist() == [[True, False]]
    assert truths(np.array([True]), "mask").tolist() == [True]
    for wrong in (2.0, -1.0, 0.5, float("nan"), INFINITE):
        with pytest.raises(AttnError, match=r"^mask: .* is neither 0 nor 1"):
            truths(np.array([1.0, wrong]), "mask")


def test_counts_are_whole_numbers_from_nothing() -> None:
    assert counts(np.array([0.0, 3]), "key_lengths").tolist() == [0, 3]
    for wrong in (-1.0, 0.5, float("nan"), INFINITE, 1e300):
        with pytest.raises(AttnError, match=r"^key_lengths: .* is not a whole number from 0"):
            counts(np.array([wrong]), "key_lengths")


@pytest.mark.parametrize(
    "written",
    [
        "[[1, 0], [1, 1]]",
        "[[true, false], [true, true]]",
        [[True, False], [True, True]],
        np.tri(2),
        np.tri(2, dtype=bool),
    ],
)
def test_a_mask_may_be_written_in_many_ways(written: Any) -> None:
    keys = {"query": [[1.0], [2.0]], "key": [[1.0], [2.0]], "mask": written}
    problem = assemble({name: RawValue(value, Origin()) for name, value in keys.items()})
    assert problem.mask is not None
    assert problem.mask.tolist() == [[True, False], [True, True]]


@pytest.mark.parametrize("key", ["bias", "w_q", "embeddings"])
def test_truths_are_no_numbers(key: str) -> None:
    keys = {"embeddings": [[1.0, 2]], "tokens": ["a"], key: [[True, False]]}
    with pytest.raises(AttnError, match=f"{key}: true and false are not numbers; write 1 and 0"):
        assemble({name: RawValue(value, Origin()) for name, value in keys.items()})


@pytest.mark.parametrize("written", ["yes", 1, 0, None, "true"])
def test_a_flag_is_true_or_false(written: Any) -> None:
    keys = {"query": [[1.0]], "key": [[1.0]], "causal": written}
    document = {name: RawValue(value, Origin()) for name, value in keys.items()}
    if written is None:
        assert not assemble(document).causal
        return
    with pytest.raises(AttnError, match=r"causal: .* is neither true nor false"):
        assemble(document)
