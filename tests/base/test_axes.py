"""Axes by their letters: signatures, binding of lengths, and errors where lengths disagree."""

import pytest

from attncli.base.axes import Length, bind_axes, parse
from attncli.base.errors import AttnError


def test_a_signature_is_read() -> None:
    signature = parse("query[n d], key[m c], w[e+d a], v[a] -> [n m]")
    assert signature.arrays == {"query": ("n", "d"), "key": ("m", "c"), "w": ("e+d", "a"), "v": ("a",)}
    assert signature.result == ("n", "m")


def test_letters_are_bound_to_the_last_axes() -> None:
    lengths: dict[str, Length] = {}
    bind_axes(lengths, "query", ("n", "d"), (3, 7))
    bind_axes(lengths, "w", ("d", "a"), (2, 7, 5), leading=("h",))
    assert {letter: length.size for letter, length in lengths.items()} == {"n": 3, "d": 7, "h": 2, "a": 5}


@pytest.mark.parametrize(
    ("name", "letters", "shape", "message"),
    [
        ("key", ("m", "d"), (5, 3), "key has 3 columns (d); query has 7 columns (d)"),
        ("w", ("d", "a"), (3, 5), "w has 3 rows (d); query has 7 columns (d)"),
        ("b", ("d",), (3,), "b has 3 numbers (d); query has 7 columns (d)"),
        ("w", ("n+d", "a"), (9, 5), "w has 9 rows (n+d); query has 3 rows (n) + query has 7 columns (d)"),
        ("key", ("m", "d"), (5,), "key: has 1 axis; expected 2 (m d)"),
        ("b", (), (2, 3), "b: has 2 axes; expected none, a single number"),
    ],
)
def test_two_arrays_that_disagree_are_both_named(
    name: str, letters: tuple[str, ...], shape: tuple[int, ...], message: str
) -> None:
    lengths: dict[str, Length] = {}
    bind_axes(lengths, "query", ("n", "d"), (3, 7))
    with pytest.raises(AttnError) as caught:
        bind_axes(lengths, name, letters, shape)
    assert str(caught.value) == message
