"""Generators: a matrix of a given shape, drawn from a stream of random numbers or made by rule."""

import math
from collections.abc import Callable
from typing import Any, Literal

from attncli.base.lazy_numpy import Array, np
from attncli.ops.registry import generator

Stream = Any  # a numpy.random.Generator or a numpy.random.RandomState

StreamName = Literal["pcg64", "legacy"]

Shape = tuple[int, ...]

EXAMPLE = {"shape": (2, 3)}


def stream(name: StreamName, seed: int) -> Stream:
    """The stream of random numbers that a seed starts: NumPy's PCG64, or the older `numpy.random.seed`."""
    start: Callable[[int], Stream] = np.random.RandomState if name == "legacy" else np.random.default_rng
    return start(seed)


@generator(
    formula="whole numbers from low to high − 1, each as likely",
    shapes="-> [r c]",
    source="the tutorial: numpy.random.randint(3, size=(3, 3))",
    example=EXAMPLE,
    is_drawn=True,
)
def randint(stream: Stream, shape: Shape, *, low: int = 0, high: int = 3) -> Array:
    """Whole numbers from low up to, but not including, high."""
    draw = stream.randint if hasattr(stream, "randint") else stream.integers
    return np.asarray(draw(low, high, size=shape, dtype=np.int64), dtype=np.float64)


@generator(
    formula="x ~ U(low, high)",
    shapes="-> [r c]",
    source="the uniform distribution",
    example=EXAMPLE,
    is_drawn=True,
)
def uniform(stream: Stream, shape: Shape, *, low: float = 0.0, high: float = 1.0) -> Array:
    """Numbers between low and high, each as likely."""
    return np.asarray(stream.uniform(low, high, size=shape))


@generator(
    formula="x ~ N(mean, std²)",
    shapes="-> [r c]",
    source="the normal distribution",
    example=EXAMPLE,
    is_drawn=True,
)
def normal(stream: Stream, shape: Shape, *, mean: float = 0.0, std: float = 1.0) -> Array:
    """Numbers around a mean, in a bell of width std."""
    return np.asarray(stream.normal(mean, std, size=shape))


@generator(
    formula="x ~ U(−l, l), l = gain √(6 / (rows + columns))",
    shapes="-> [r c]",
    source="Glorot & Bengio 2010, eq. 16",
    example=EXAMPLE,
    is_drawn=True,
)
def xavier_uniform(stream: Stream, shape: Shape, *, gain: float = 1.0) -> Array:
    """Uniform numbers, so small that a projection keeps the size of what it projects."""
    limit = gain * math.sqrt(6 / _fans(shape))
    return np.asarray(stream.uniform(-limit, limit, size=shape))


@generator(
    formula="x ~ N(0, σ²), σ = gain √(2 / (rows + columns))",
    shapes="-> [r c]",
    source="Glorot & Bengio 2010, eq. 12",
    example=EXAMPLE,
    is_drawn=True,
)
def xavier_normal(stream: Stream, shape: Shape, *, gain: float = 1.0) -> Array:
    """Normal numbers, so small that a projection keeps the size of what it projects."""
    return np.asarray(stream.normal(0.0, gain * math.sqrt(2 / _fans(shape)), size=shape))


@generator(formula="xᵢⱼ = 1 where i = j, else 0", shapes="-> [r c]", source="the identity matrix", example=EXAMPLE)
def identity(stream: Stream, shape: Shape) -> Array:
    """Ones on the diagonal, zeros elsewhere."""
    return np.eye(*shape) if len(shape) == 2 else np.ones(shape)


@generator(formula="x = 0", shapes="-> [r c]", source="a matrix of zeros", example=EXAMPLE)
def zeros(stream: Stream, shape: Shape) -> Array:
    """Zeros everywhere."""
    return np.zeros(shape)


@generator(formula="x = 1", shapes="-> [r c]", source="a matrix of ones", example=EXAMPLE)
def ones(stream: Stream, shape: Shape) -> Array:
    """Ones everywhere."""
    return np.ones(shape)


def _fans(shape: Shape) -> int:
    """Rows and columns together: what goes in and what comes out."""
    return sum(shape[-2:]) or 1
