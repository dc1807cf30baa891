"""The shade of each weight of a row, as terminals and pages paint it."""

from attncli.base.lazy_numpy import Array, np

MIN_SHADE = 5  # percent: below it a weight has no shade


def row_shades(row: Array) -> Array:
    """The shade of each weight of a row [m]: from 0, also of negative ones, to 100, which is the row's largest.

    >>> row_shades(np.array([0.5, 0.25, 0.0, np.nan, -1e308])).tolist()
    [100, 50, 0, 0, 0]
    """
    weights = np.nan_to_num(row, posinf=0, neginf=0).clip(min=0)
    largest = weights.max(initial=0)
    return (weights / largest * 100 if largest > 0 else weights * 0).astype(int)
