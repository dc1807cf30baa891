"""The tiles of a block: ranges of keys, and which of them need a mask."""

from collections.abc import Iterator
from itertools import combinations_with_replacement

import pytest

from attncli.engine.options import BlockSizes
from attncli.engine.tiles import TILE_ALIGNMENT, KeyTile, key_tiles
from attncli.ops.records import KeyBounds

MIN_UNMASKED = BlockSizes().min_unmasked_keys

EDGES = [0, 63, 64, 65, 191, 192, 193, 415]  # about multiples of what tiles are aligned to

Bounds = tuple[int, ...]
of_any_length = pytest.mark.parametrize("keys", [1, 50, 64, 100, 256, 1000])


def bounds() -> Iterator[Bounds]:
    """Bounds of keys, of which some may be the same."""
    return combinations_with_replacement(EDGES, 4)


def tiles_of(at: Bounds, keys: int) -> list[KeyTile]:
    """The tiles of keys that are visible from `at[0]` to `at[3]`, and to all queries from `at[1]` to `at[2]`."""
    first, low, high, end = at
    return list(key_tiles(KeyBounds((first, end), (low, high)), keys, MIN_UNMASKED))


@of_any_length
def test_the_tiles_of_a_block_cover_the_keys_visible_to_any_query(keys: int) -> None:
    for at in bounds():
        tiles = tiles_of(at, keys)
        ends = [at[0], *(tile.end for tile in tiles)]
        assert [tile.first for tile in tiles] == ends[:-1]
        assert ends[-1] == at[3]
        assert all(0 < tile.end - tile.first <= keys for tile in tiles)


@of_any_length
def test_keys_that_are_hidden_from_a_query_are_masked_and_few_others(keys: int) -> None:
    for at in bounds():
        first, low, high, end = at
        tiles = tiles_of(at, keys)
        masked = [key for tile in tiles for start, stop in tile.masked for key in range(start, stop)]
        assert len(set(masked)) == len(masked)
        assert {*range(first, low), *range(high, end)} <= set(masked) <= set(range(first, end))
        if high - low >= MIN_UNMASKED + 2 * TILE_ALIGNMENT:  # only the ends are masked, up to the alignment
            assert len(masked) < low - first + end - high + 2 * TILE_ALIGNMENT
        for tile in tiles:
            within = sum(stop - start for start, stop in tile.masked)
            assert all(tile.first <= start < stop <= tile.end for start, stop in tile.masked)
            assert tile.is_masked_throughout == (within == tile.end - tile.first)


def test_without_masked_keys_tiles_are_about_even_and_not_masked() -> None:
    assert tiles_of((0, 0, 1025, 1025), 512) == [KeyTile(0, 384, []), KeyTile(384, 704, []), KeyTile(704, 1025, [])]


def test_keys_that_fit_in_a_tile_are_one_whatever_their_number() -> None:
    assert tiles_of((0, 0, 77, 77), 77) == [KeyTile(0, 77, [])]
    assert tiles_of((5, 5, 305, 305), 300) == [KeyTile(5, 305, [])]


def test_a_causal_block_is_masked_at_the_end_of_its_last_tile() -> None:
    """Queries 1792 to 2047: 1793 keys are visible to the first, and 1792 of them begin and end at multiples of 64."""
    first, second, last = tiles_of((0, 0, 1793, 2048), 768)
    assert (first, second, last) == (KeyTile(0, 704, []), KeyTile(704, 1408, []), KeyTile(1408, 2048, [(1792, 2048)]))
