"""Norms of queries and keys: each vector divided by its size, before positions and scores."""

from typing import Annotated, Any

from attncli.base.arithmetic import ArithmeticWriter
from attncli.base.lazy_numpy import Array, np
from attncli.base.terms import number, parameter, products, sqrt
from attncli.ops.decorators import norm
from attncli.ops.distance_scores import l2_normalize
from attncli.ops.records import Range

Small = Annotated[float, Range(least=0)]
ZERO_VECTOR = "a zero vector stays zero"


def l2_by_hand(write: ArithmeticWriter, x: Array, result: Any) -> list[str]:
    """The Euclidean norm of one vector [d], then its division."""
    if not x.any():
        return [ZERO_VECTOR]
    norm = write.computed("‖u‖", sqrt(products(x, x)))
    return [norm.line, write.equation(number(x) / norm, result, name="u/‖u‖", letter="d")]


@norm(
    formula="u / ‖u‖",
    shapes="x[n d] -> [n d]",
    source="Henry et al. 2020 (Query-Key Normalization for Transformers)",
    example={"x": [[3, 4], [0, 0]], "gives": [[0.6, 0.8], [0, 0]]},
    by_hand=l2_by_hand,
)
def l2(x: Array) -> Array:
    """Each vector divided by its Euclidean norm; a zero vector stays zero.

    Parameters
    ----------
    x : array [… n d]
        A vector in each row.

    Returns
    -------
    array [… n d]

    Examples
    --------
    >>> l2(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    return l2_normalize(x)


def rms_by_hand(write: ArithmeticWriter, x: Array, result: Any, *, eps: float = 0.0) -> list[str]:
    """The mean square of one vector [d], its root, then the division by that."""
    if not x.any():
        return [ZERO_VECTOR]
    mean = write.computed("mean(u²)", products(x, x) / len(x))
    root = write.computed("rms(u)", sqrt(mean + parameter(eps) if eps else mean))
    return [mean.line, root.line, write.equation(number(x) / root, result, name="u/rms(u)", letter="d")]


@norm(
    formula="u / √(mean(u²) + eps)",
    shapes="x[n d] -> [n d]",
    source="Zhang & Sennrich 2019 (RMSNorm), eq. 4, without its gain",
    example={"x": [[1, 7], [0, 0]], "gives": [[0.2, 1.4], [0, 0]]},
    formula_in_force=lambda eps: f"u / √(mean(u²){' + eps' if eps else ''})",
    by_hand=rms_by_hand,
)
def rms(x: Array, *, eps: Small = 0.0) -> Array:
    """Each vector divided by the root of its mean square; a zero vector stays zero.

    Parameters
    ----------
    x : array [… n d]
        A vector in each row.
    eps : float ≥ 0, optional
        Added to the mean square.

    Returns
    -------
    array [… n d]

    Examples
    --------
    >>> rms(np.array([[1.0, 7.0], [0.0, 0.0]]))
    array([[0.2, 1.4],
           [0. , 0. ]])
    """
    size = np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    return x / np.where(size == 0, 1, size)
