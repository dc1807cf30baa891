"""The tiles of a block: ranges of keys, and which of them need a mask."""

from hypothesis import given
from hypothesis import strategies as st

from attncli.engine.options import BlockSizes
from attncli.engine.tiles import TILE_ALIGNMENT, key_tiles
from attncli.ops.rules import KeyBounds

MIN_UNMASKED = BlockSizes().min_unmasked_keys

ends = st.lists(st.integers(0, 3000), min_size=4, max_size=4).map(sorted)


@given(ends, st.sampled_from([64, 256, 1000]))
def test_the_tiles_of_a_block_cover_the_keys_visible_to_any_query(at: list[int], keys: int) -> None:
    first, low, high, end = at
    tiles = list(key_tiles(KeyBounds((first, end), (low, high)), keys, MIN_UNMASKED))
    assert [key for begin, stop, _ in tiles for key in range(begin, stop)] == list(range(first, end))
    assert all(0 < stop - begin <= keys for begin, stop, _ in tiles)


@given(ends, st.sampled_from([64, 256, 1000]))
def test_tiles_of_keys_visible_to_all_queries_are_not_masked(at: list[int], keys: int) -> None:
    first, low, high, end = at
    tiles = list(key_tiles(KeyBounds((first, end), (low, high)), keys, MIN_UNMASKED))
    free = [key for begin, stop, masked in tiles if not masked for key in range(begin, stop)]
    assert all(low <= key < high for key in free)
    if high - low >= MIN_UNMASKED + 2 * TILE_ALIGNMENT:  # only the ends are masked, up to the alignment
        assert free
        assert free[0] - low < TILE_ALIGNMENT
        assert high - 1 - free[-1] < TILE_ALIGNMENT


def test_without_masked_keys_tiles_are_even_and_not_masked() -> None:
    assert list(key_tiles(KeyBounds((0, 1025), (0, 1025)), 512, MIN_UNMASKED)) == [
        (0, 341, False),
        (341, 683, False),
        (683, 1025, False),
    ]


def test_the_diagonal_of_a_causal_block_is_its_own_tile() -> None:
    """Queries 1536 to 2047: 1537 keys are visible to the first, one more than three tiles hold."""
    tiles = list(key_tiles(KeyBounds((0, 2048), (0, 1537)), 512, MIN_UNMASKED))
    assert tiles == [(0, 512, False), (512, 1024, False), (1024, 1536, False), (1536, 2048, True)]
