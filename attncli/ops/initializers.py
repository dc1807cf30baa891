"""Generators: a matrix of a given shape, drawn from a stream of random numbers or computed by a rule."""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import generator
from attncli.ops.records import Range
from attncli.ops.torch_stream import TorchStream

Stream = Any  # a numpy.random.Generator, a numpy.random.RandomState or a TorchStream

StreamName = Literal["pcg64", "legacy", "torch"]

Shape = tuple[int, ...]

EXAMPLE = {"shape": (2, 3)}


def stream(name: StreamName, seed: int) -> Stream:
    """The stream of random numbers for a seed.

    "pcg64" is NumPy's default, "legacy" the older `numpy.random.seed`, "torch" `torch.manual_seed`. Raises ValueError
    for a seed out of range: a legacy seed is less than 2³², a PyTorch seed less than 2⁶⁴.

    >>> stream("legacy", 42).randint(3, size=5)
    array([2, 0, 2, 2, 0])
    """
    starts: dict[str, Callable[[int], Stream]] = {"legacy": np.random.RandomState, "torch": TorchStream}
    return starts.get(name, np.random.default_rng)(seed)


@generator(
    formula="uniform whole numbers from low to high − 1",
    shapes="-> [r c]",
    source="the tutorial: numpy.random.randint(3, size=(3, 3))",
    example=EXAMPLE,
    is_drawn=True,
)
def randint(stream: Stream, shape: Shape, *, low: int = 0, high: int = 3) -> Array:
    """Whole numbers from low up to, but not including, high.

    The result is float64.

    >>> randint(stream("legacy", 42), (2, 3))
    array([[2., 0., 2.],
           [2., 0., 0.]])
    """
    draw = stream.randint if hasattr(stream, "randint") else stream.integers
    return np.asarray(draw(low, high, size=shape, dtype=np.int64), dtype=np.float64)


@generator(
    formula="x ~ U(low, high)", shapes="-> [r c]", source="the uniform distribution", example=EXAMPLE, is_drawn=True
)
def uniform(stream: Stream, shape: Shape, *, low: float = 0.0, high: float = 1.0) -> Array:
    """Uniform random numbers from low to high.

    >>> uniform(stream("pcg64", 0), (2,)).round(4)
    array([0.637 , 0.2698])
    """
    return np.asarray(stream.uniform(low, high, size=shape))


@generator(
    formula="x ~ N(mean, std²)", shapes="-> [r c]", source="the normal distribution", example=EXAMPLE, is_drawn=True
)
def normal(stream: Stream, shape: Shape, *, mean: float = 0.0, std: float = 1.0) -> Array:
    """Normal random numbers with a mean and a standard deviation, std.

    >>> normal(stream("pcg64", 0), (2,)).round(4)
    array([ 0.1257, -0.1321])
    """
    return np.asarray(stream.normal(mean, std, size=shape))


@generator(
    formula="x ~ U(−l, l), l = gain √(6 / (rows + columns))",
    shapes="-> [r c]",
    source="Glorot & Bengio 2010, eq. 16",
    example=EXAMPLE,
    is_drawn=True,
)
def xavier_uniform(stream: Stream, shape: Shape, *, gain: float = 1.0) -> Array:
    """Uniform random numbers, scaled so that a projection keeps the variance of its input.

    >>> xavier_uniform(stream("pcg64", 0), (1, 2)).round(4)
    array([[ 0.3874, -0.6511]])
    """
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
    """Normal random numbers, scaled so that a projection keeps the variance of its input.

    >>> xavier_normal(stream("pcg64", 0), (1, 2)).round(4)
    array([[ 0.1027, -0.1079]])
    """
    return np.asarray(stream.normal(0.0, gain * math.sqrt(2 / _fans(shape)), size=shape))


@generator(
    formula="x ~ U(−l, l), l = 1 / √(inputs)",
    shapes="-> [r c]",
    source="torch.nn.Linear: kaiming_uniform_ with a = √5, of He et al. 2015, eq. 14",
    example=EXAMPLE,
    is_drawn=True,
)
def linear(stream: Stream, shape: Shape, *, inputs: Annotated[int, Range(least=0)] = 0) -> Array:
    """The initial weight of `nn.Linear`, drawn as (outputs, inputs), or its initial bias.

    `inputs` counts the features that the weight multiplies; 0 means the columns of the shape.

    >>> linear(stream("torch", 0), (1, 3)).round(4)  # torch.manual_seed(0); torch.nn.Linear(3, 1).weight
    array([[-0.0043,  0.3097, -0.4752]], dtype=float32)
    """
    limit = math.sqrt(3) * (math.sqrt(1 / 3) / math.sqrt(inputs or shape[-1] or 1))
    return np.asarray(stream.uniform(-limit, limit, size=shape))


@generator(formula="xᵢⱼ = 1 where i = j, else 0", shapes="-> [r c]", source="the identity matrix", example=EXAMPLE)
def identity(stream: Stream, shape: Shape) -> Array:
    """Ones on the diagonal, zeros elsewhere.

    An array of one axis has ones.

    >>> identity(None, (2, 3))
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    return np.eye(*shape) if len(shape) == 2 else np.ones(shape)


@generator(formula="x = 0", shapes="-> [r c]", source="a matrix of zeros", example=EXAMPLE)
def zeros(stream: Stream, shape: Shape) -> Array:
    """Zeros everywhere.

    >>> zeros(None, (2,))
    array([0., 0.])
    """
    return np.zeros(shape)


@generator(formula="x = 1", shapes="-> [r c]", source="a matrix of ones", example=EXAMPLE)
def ones(stream: Stream, shape: Shape) -> Array:
    """Ones everywhere.

    >>> ones(None, (2,))
    array([1., 1.])
    """
    return np.ones(shape)


def _fans(shape: Shape) -> int:
    """The number of rows plus columns (fan-in + fan-out)."""
    return sum(shape[-2:]) or 1
