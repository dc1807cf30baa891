"""The pairs of features that rope rotates, and their frequencies: the angle of each from one position to the next."""

from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import structural
from attncli.ops.rope_axes import axis_of_pair
from attncli.ops.rope_scaling import RopeScaling, ScaledRope
from attncli.ops.rope_scaling_lines import attention_factor_lines, frequency_lines
from attncli.ops.rope_scaling_types import TYPES


def rope_frequencies(dims: int, base: float, dtype: Any = None) -> Array:
    """The angle of each pair from one position to the next: base^(−2f/dims) radians, f = 0 … dims/2 − 1.

    They are of `dtype`, by default float64.

    Examples
    --------
    >>> rope_frequencies(4, 10000.0)
    array([1.  , 0.01])
    """
    dtype = np.dtype(np.float64) if dtype is None else dtype
    frequencies: Array = base ** (-np.arange(0, dims, 2) / dtype.type(dims))
    return frequencies


def pair_slices(count: int, interleaved: bool) -> tuple[slice, slice]:
    """Slices of the first and of the second feature of each of `count` pairs: neighbours, or one in each half.

    Examples
    --------
    >>> pair_slices(2, interleaved=True)
    (slice(0, 4, 2), slice(1, 4, 2))
    >>> pair_slices(2, interleaved=False)
    (slice(0, 2, None), slice(2, 4, None))
    """
    if interleaved:
        return slice(0, 2 * count, 2), slice(1, 2 * count, 2)
    return slice(0, count), slice(count, 2 * count)


def angles_on_axes(positions: Array, frequencies: Array, *, scaling: float = 1.0, offset: float = 0.0) -> Array:
    """The sum over the axes of positions [… s n] times frequencies [s f]: [… n f].

    Examples
    --------
    >>> angles_on_axes(np.array([[1, 2], [3, 4]]), np.array([[1.0, 0.0], [0.0, 0.5]]))
    array([[1. , 1.5],
           [2. , 2. ]])
    """
    result: Array = np.moveaxis((positions + offset) / scaling, -2, -1) @ frequencies
    return result


def angles(positions: Array, frequencies: Array, *, scaling: float = 1.0, offset: float = 0.0) -> Array:
    """Position times frequency, [… n f], in the type of the frequencies: far positions have large angles.

    Examples
    --------
    >>> angles(np.array([0, 2]), np.array([1.0, 0.5]), offset=1)
    array([[1. , 0.5],
           [3. , 1.5]])
    """
    result: Array = ((positions + offset) / scaling)[..., None] * frequencies
    return result


@structural(is_exact=True, by_hand=frequency_lines)
def scaled_frequencies(
    position_count: Array | None = None,
    *,
    shape: tuple[int, ...],
    scaling: RopeScaling,
    base: float,
) -> Array:
    """The frequencies of rope with a scaling as config.json has it.

    Parameters
    ----------
    position_count : array [], optional
        One more than the last position: read by the types `dynamic` and `longrope`.
    shape : tuple of int
        How many pairs turn; before that how many axes a position has, where there are several.
    scaling : RopeScaling
        The type and its parameters.
    base : float > 1
        That of the plain frequencies.

    Returns
    -------
    array [f] or [s f]
        In float64; 0 where a pair does not read an axis.

    Raises
    ------
    AttnError
        Where the type needs a parameter or a length that is not given.

    Examples
    --------
    >>> scaled_frequencies(shape=(2,), scaling=RopeScaling("linear", (("factor", 4.0),)), base=10000.0)
    array([0.25  , 0.0025])
    """
    rope = ScaledRope(scaling, base, 2 * shape[-1], position_count)
    axes = axis_of_pair(scaling, shape[-1])  # which says first that pairs can't be divided
    frequencies = TYPES[scaling.type].frequencies(rope_frequencies(rope.dims, base), rope)
    return (
        frequencies if axes is None else np.where(np.arange(scaling.axis_count or 1)[:, None] == axes, frequencies, 0.0)
    )


@structural(is_exact=True, by_hand=attention_factor_lines)
def scaled_attention_factor(
    position_count: Array | None = None,
    *,
    shape: tuple[()] = (),
    scaling: RopeScaling,
) -> Array:
    """The attention factor of a scaling, which multiplies cosines and sines; 1 of types that have none.

    Parameters
    ----------
    position_count : array [], optional
        One more than the last position.
    shape : (), optional
        One number.
    scaling : RopeScaling
        The type and its parameters.

    Returns
    -------
    array []

    Raises
    ------
    AttnError
        Where the type needs a parameter or a length that is not given.

    Examples
    --------
    >>> scaled_attention_factor(scaling=RopeScaling("yarn", (("factor", 4.0),))).round(4).item()
    1.1386
    """
    rope = ScaledRope(scaling, 1.0, 0, position_count)
    factor = TYPES[scaling.type].attention_factor
    return np.asarray(1.0 if factor is None else factor(rope))
