"""What masks leave visible: how many keys each query sees, the density, and tiles that are empty, full or mixed."""

from dataclasses import dataclass

from attncli.base.lazy_numpy import Array, np

TILE = 64  # queries and keys of a tile


@dataclass(frozen=True)
class VisibleKeys:
    """The keys that queries see: least, mean and most, and their share of all pairs.

    Tiles of 64 queries and 64 keys, fewer at the ends, are empty where no query sees a key, full where every query sees
    every key, otherwise mixed.
    """

    least: int
    mean: float
    most: int
    density: float
    empty: int
    full: int
    mixed: int


def count_visible_keys(visible: Array) -> VisibleKeys:
    """The counts of a table [n m] of which keys each query sees.

    >>> count_visible_keys(np.tri(65, dtype=bool))
    VisibleKeys(least=1, mean=33.0, most=65, density=0.5076923076923077, empty=1, full=2, mixed=1)
    """
    queries, keys = visible.shape
    columns = np.arange(0, keys, TILE)
    widths = np.minimum(columns + TILE, keys) - columns
    seen, empty, full = np.empty(queries, np.int64), 0, 0
    for first in range(0, queries, TILE):
        rows = visible[first : first + TILE]
        seen[first : first + TILE] = rows.sum(axis=-1)
        in_tiles = np.add.reduceat(rows.sum(axis=0), columns)
        empty += int((in_tiles == 0).sum())
        full += int((in_tiles == widths * len(rows)).sum())
    tiles = len(columns) * -(-queries // TILE)
    mean = float(seen.mean())
    return VisibleKeys(int(seen.min()), mean, int(seen.max()), mean / keys, empty, full, tiles - empty - full)
