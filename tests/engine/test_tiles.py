"""The tiles of a block: which keys are taken together, and where nothing has to be hidden."""

from hypothesis import given
from hypothesis import strategies as st

from attncli.engine.options import BlockSizes
from attncli.engine.tiles import TILE_ALIGNMENT, key_tiles
from attncli.ops.rules import KeyBounds

MIN_UNMASKED = BlockSizes().min_unmasked_keys

ends = st.lists(st.integers(0, 3000), min_size=4, max_size=4).map(sorted)


@given(ends, st.sampled_from([64, 256, 1000]))
def test_the_tiles_of_a_block_are_every_key_that_some_query_sees(at: list[int], keys: int) -> None:
    first, low, high, end = at
    tiles = list(key_tiles(KeyBounds((first, end), (low, high)), keys, MIN_UNMASKED))
    assert [key for begin, stop, _ in tiles for key in range(begin, stop)] == list(range(first, end))
    assert all(0 < stop - begin <= keys for begin, stop, _ in tiles)


@given(ends, st.sampled_from([64, 256, 1000]))
def test_nothing_is_hidden_in_a_tile_that_all_queries_see(at: list[int], keys: int) -> None:
    first, low, high, end = at
    tiles = list(key_tiles(KeyBounds((first, end), (low, high)), keys, MIN_UNMASKED))
    free = [key for begin, stop, masked in tiles if not masked for key in range(begin, stop)]
    assert all(low <= key < high for key in free)
    if high - low >= MIN_UNMASKED + 2 * TILE_ALIGNMENT:  # what is left to the masks is at most what makes the ends even
        assert free
        assert free[0] - low < TILE_ALIGNMENT
        assert high - 1 - free[-1] < TILE_ALIGNMENT


def test_where_every_query_sees_everything_nothing_is_hidden() -> None:
    assert list(key_tiles(KeyBounds((0, 1025), (0, 1025)), 512, MIN_UNMASKED)) == [
        (0, 341, False),
        (341, 683, False),
        (683, 1025, False),
    ]


def test_the_last_queries_of_a_causal_block_share_even_tiles_and_the_edge_is_a_tile_of_its_own() -> None:
    """Queries 1536 to 2047: the first sees 1537 keys, and one key more than three tiles would make four of them."""
    tiles = list(key_tiles(KeyBounds((0, 2048), (0, 1537)), 512, MIN_UNMASKED))
    assert tiles == [(0, 512, False), (512, 1024, False), (1024, 1536, False), (1536, 2048, True)]
