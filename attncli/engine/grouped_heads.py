"""Query heads that share a key head, without a copy of its keys and values for each of them."""

from attncli.base.lazy_numpy import Array
from attncli.engine.small_products import Panels, multiply
from attncli.ops.structural import repeat_kv


def grouped_product(left: Array | Panels, right: Array, out: Array, terms: int) -> Array:
    """`left` [… h n a] times `right` [… g a b] in `out` [… h n b]: the rows of h/g heads times one matrix.

    At most `terms` of the products of a number of `left` and one of `right` are summed in a row.

    >>> from attncli.base.lazy_numpy import np
    >>> left, right = np.ones((4, 1, 2)), np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    >>> grouped_product(left, right, np.empty((4, 1, 1)), terms=2).ravel()
    array([3., 3., 7., 7.])
    """
    if not _is_shared(right, out):
        return multiply(left, right, out, terms)
    *leading, heads, rows, columns = out.shape
    groups, share = right.shape[-3], heads // right.shape[-3]
    if isinstance(left, Panels):
        heads_apart = out.reshape(*leading, groups, share, rows, columns)
        left.split_heads(groups).multiply(right[..., None, :, :], heads_apart, terms)
        return out
    if left.flags.c_contiguous and out.flags.c_contiguous:  # one product with the rows of all heads that share
        shape = (*leading, groups, share * rows)
    else:
        shape, right = (*leading, groups, share, rows), right[..., None, :, :]
    multiply(left.reshape(*shape, left.shape[-1]), right, out.reshape(*shape, columns), terms)
    return out


def repeated_for(x: Array, queries: Array) -> Array:
    """Keys or values [… g m c] once for each head of `queries` [… h n d], where heads share them."""
    return repeat_kv(x, heads=queries.shape[-3]) if _is_shared(x, queries) else x


def _is_shared(x: Array, queries: Array) -> bool:
    """Whether several heads of `queries` share one of `x`."""
    return queries.ndim > 2 and x.ndim > 2 and x.shape[-3] < queries.shape[-3]
