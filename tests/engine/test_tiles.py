"""The tiles of a block: ranges of keys, and which of them need a mask."""

from hypothesis import given
from hypothesis import strategies as st

from attncli.engine.options import BlockSizes
from attncli.engine.tiles import TILE_ALIGNMENT, KeyTile, key_tiles
from attncli.ops.rules import KeyBounds

MIN_UNMASKED = BlockSizes().min_unmasked_keys

ends = st.lists(st.integers(0, 3000), min_size=4, max_size=4).map(sorted)
lengths = st.sampled_from([1, 50, 64, 100, 256, 1000])


def tiles_of(at: list[int], keys: int) -> list[KeyTile]:
    """The tiles of keys that are visible from `at[0]` to `at[3]`, and to all queries from `at[1]` to `at[2]`."""
    first, low, high, end = at
    return list(key_tiles(KeyBounds((first, end), (low, high)), keys, MIN_UNMASKED))


@given(ends, lengths)
def test_the_tiles_of_a_block_cover_the_keys_visible_to_any_query(at: list[int], keys: int) -> None:
    tiles = tiles_of(at, keys)
    assert [key for tile in tiles for key in range(tile.first, tile.end)] == list(range(at[0], at[3]))
    assert all(0 < tile.end - tile.first <= keys for tile in tiles)


@given(ends, lengths)
def test_every_key_that_is_hidden_from_a_query_is_masked(at: list[int], keys: int) -> None:
    first, low, high, end = at
    masked = [key for tile in tiles_of(at, keys) for start, stop in tile.masked for key in range(start, stop)]
    assert len(set(masked)) == len(masked)
    assert {*range(first, low), *range(high, end)} <= set(masked) <= set(range(first, end))
    if high - low >= MIN_UNMASKED + 2 * TILE_ALIGNMENT:  # only the ends are masked, up to the alignment
        assert len(masked) < low - first + end - high + 2 * TILE_ALIGNMENT


@given(ends, lengths)
def test_a_tile_is_masked_where_all_its_keys_are(at: list[int], keys: int) -> None:
    for tile in tiles_of(at, keys):
        masked = {key for start, stop in tile.masked for key in range(start, stop)}
        assert masked <= set(range(tile.first, tile.end))
        assert tile.is_masked_throughout == (len(masked) == tile.end - tile.first)


def test_without_masked_keys_tiles_are_about_even_and_not_masked() -> None:
    assert tiles_of([0, 0, 1025, 1025], 512) == [KeyTile(0, 384, []), KeyTile(384, 704, []), KeyTile(704, 1025, [])]


def test_keys_that_fit_in_a_tile_are_one_whatever_their_number() -> None:
    assert tiles_of([0, 0, 77, 77], 77) == [KeyTile(0, 77, [])]
    assert tiles_of([5, 5, 305, 305], 300) == [KeyTile(5, 305, [])]


def test_a_causal_block_is_masked_at_the_end_of_its_last_tile() -> None:
    """Queries 1792 to 2047: 1793 keys are visible to the first, and 1792 of them begin and end at multiples of 64."""
    first, second, last = tiles_of([0, 0, 1793, 2048], 768)
    assert (first, second, last) == (KeyTile(0, 704, []), KeyTile(704, 1408, []), KeyTile(1408, 2048, [(1792, 2048)]))
