"""Which numbers of an array changed: by more than rounding explains."""

from attncli.base.lazy_numpy import Array, np

ROUNDING_UNITS = 16  # units in the last place of the largest number of a row by which equal computations may differ


def changed(before: Array, after: Array) -> Array:
    """Whether each number of an array [… n m] differs from that before, by more than rounding.

    A difference counts where it is more than 16 units in the last place of the largest finite number of its row, in the
    coarser of both types. NaN equals NaN, an infinity itself. Both arrays have one shape.

    >>> changed(np.array([[1.0, 2.0]]), np.array([[1.0 + 2**-52, 2.5]])).tolist()
    [[False, True]]
    """
    if before.dtype.kind != "f" or after.dtype.kind != "f":
        different: Array = before != after
        return different
    rows = np.where(np.isfinite(before), abs(before), 0), np.where(np.isfinite(after), abs(after), 0)
    largest = np.maximum(*rows).max(axis=-1, keepdims=True, initial=0)
    allowed = ROUNDING_UNITS * max(np.finfo(before.dtype).eps, np.finfo(after.dtype).eps) * largest
    is_same = (before == after) | (np.isnan(before) & np.isnan(after))
    with np.errstate(invalid="ignore", over="ignore"):  # from one end of the numbers to the other it is infinite
        is_near = abs(after - before) <= allowed
    result: Array = ~(is_same | is_near)
    return result
