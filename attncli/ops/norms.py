"""Norms: each vector divided by its size, times a learned gain, plus a learned bias."""

from typing import Annotated

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import norm
from attncli.ops.norm_lines import l2_by_hand, layer_by_hand, rms_by_hand
from attncli.ops.records import Range, Symbol
from attncli.ops.rules import OperatorUse

Small = Annotated[float, Range(least=0)]
SmallOrNone = Annotated[float | None, Range(least=0)]  # without a default that would be shown
Gain = Annotated[Array | None, Symbol("γ")]
Bias = Annotated[Array | None, Symbol("β")]
# Vectors whose largest entry is in these bounds have squares that neither overflow nor vanish, in float32 too.
SMALLEST, LARGEST = 2.0**-40, 2.0**50


def check_gain(use: OperatorUse) -> None:
    """Raise AttnError where nothing has a gain that is stored as gain − 1."""
    if use.parameters.get("gain_plus_one") and "gain" not in use.parameters:
        hint = "give the gain, of queries and of keys, or leave it out"
        raise AttnError("a gain is missing that would be stored as gain − 1", where="gain_plus_one", hint=hint)


def _formula(quotient: str, gain: bool, bias: bool, gain_plus_one: bool | None) -> str:
    """The formula of a norm: gain and bias where they are given."""
    factor = "(1 + γ) " if gain_plus_one else "γ "
    return f"{factor if gain else ''}{quotient}{' + β' if bias else ''}"


def _with_gain(x: Array, gain: Array | None, bias: Array | None, gain_plus_one: bool | None) -> Array:
    """The vectors [… n d] times the gain plus the bias, each [d], or [h d] of each head."""
    if gain is not None:
        x = x * _of_rows(gain + 1 if gain_plus_one else gain)
    return x if bias is None else x + _of_rows(bias)


def _of_rows(vector: Array) -> Array:
    """A vector of each head [h d] in the shape that broadcasts with [… h n d]; one vector [d] is itself."""
    return vector if vector.ndim == 1 else vector[..., None, :]


def _unit(x: Array, eps: float, *, is_always: bool = False) -> Array:
    """What each vector [… n d] is divided by first, so that its squares neither overflow nor vanish: mostly 1."""
    largest = np.maximum(abs(x).max(axis=-1, keepdims=True, initial=0), eps**0.5)
    is_far = ((largest < SMALLEST) | (largest > LARGEST)) & (largest != 0) & (largest < np.inf)
    return np.where((largest != 0) if is_always else is_far, largest, 1)


def _divided(x: Array, square: Array, eps: float, unit: Array) -> Array:
    """Each vector of `x` divided by √(square + eps); `x` and `square` are those of vectors divided by `unit`."""
    size = np.sqrt(square + eps / unit / unit)
    return x / np.where(size == 0, 1, size)


def _l2_formula(
    *, eps: float | None = None, gain: bool = False, bias: bool = False, gain_plus_one: bool = False
) -> str:
    """The formula of `l2` with the parameters in force."""
    return _formula("u / √(‖u‖² + eps)" if eps else "u / ‖u‖", gain, bias, gain_plus_one)


@norm(
    formula="γ u / √(‖u‖² + eps) + β",
    shapes="x[n d], gain[d], bias[d] -> [n d]",
    source="Henry et al. 2020 (Query-Key Normalization for Transformers)",
    example={"x": [[3, 4], [0, 0]], "gives": [[0.6, 0.8], [0, 0]]},
    formula_in_force=_l2_formula,
    by_hand=l2_by_hand,
    check=check_gain,
)
def l2(
    x: Array, *, gain: Gain = None, bias: Bias = None, eps: SmallOrNone = None, gain_plus_one: bool | None = None
) -> Array:
    """Each vector divided by its Euclidean norm; a zero vector stays zero.

    Parameters
    ----------
    x : array [… n d]
        A vector in each row.
    gain : array [d] or [h d], optional
        Multiplied into the divided vectors; without it 1.
    bias : array [d] or [h d], optional
        Added at last; without it 0.
    eps : float ≥ 0, optional
        Added to the squared norm.
    gain_plus_one : bool, optional
        The gain is stored as gain − 1: vectors are multiplied by 1 + `gain`.

    Returns
    -------
    array [… n d]

    Examples
    --------
    >>> l2(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    >>> l2(np.array([[3.0, 4.0]]), gain=np.array([10.0, 5.0]), bias=np.array([0.0, 1.0]))
    array([[6., 5.]])
    """
    eps = 0.0 if eps is None else eps
    unit = _unit(x, eps, is_always=True)
    scaled = x / unit
    divided = _divided(scaled, (scaled * scaled).sum(axis=-1, keepdims=True), eps, unit)
    return _with_gain(divided, gain, bias, gain_plus_one)


def _rms_formula(
    *, eps: float | None = None, gain: bool = False, bias: bool = False, gain_plus_one: bool = False
) -> str:
    """The formula of `rms` with the parameters in force."""
    return _formula(f"u / √(mean(u²){' + eps' if eps else ''})", gain, bias, gain_plus_one)


@norm(
    formula="γ u / √(mean(u²) + eps) + β",
    shapes="x[n d], gain[d], bias[d] -> [n d]",
    source="Zhang & Sennrich 2019 (RMSNorm), eq. 4",
    example={"x": [[1, 7], [0, 0]], "gives": [[0.2, 1.4], [0, 0]]},
    formula_in_force=_rms_formula,
    by_hand=rms_by_hand,
    check=check_gain,
)
def rms(
    x: Array, *, gain: Gain = None, bias: Bias = None, eps: Small = 0.0, gain_plus_one: bool | None = None
) -> Array:
    """Each vector divided by the root of its mean square; a zero vector stays zero.

    Parameters
    ----------
    x : array [… n d]
        A vector in each row.
    gain : array [d] or [h d], optional
        Multiplied into the divided vectors; without it 1.
    bias : array [d] or [h d], optional
        Added at last; without it 0.
    eps : float ≥ 0, optional
        Added to the mean square.
    gain_plus_one : bool, optional
        The gain is stored as gain − 1: vectors are multiplied by 1 + `gain`.

    Returns
    -------
    array [… n d]

    Examples
    --------
    >>> rms(np.array([[1.0, 7.0], [0.0, 0.0]]))
    array([[0.2, 1.4],
           [0. , 0. ]])
    >>> rms(np.array([[1.0, 7.0]]), gain=np.array([4.0, 0.0]), gain_plus_one=True)
    array([[1. , 1.4]])
    """
    unit = _unit(x, eps)
    scaled = x / unit
    divided = _divided(scaled, (scaled * scaled).mean(axis=-1, keepdims=True), eps, unit)
    return _with_gain(divided, gain, bias, gain_plus_one)


def _layer_formula(
    *, eps: float | None = None, gain: bool = False, bias: bool = False, gain_plus_one: bool = False
) -> str:
    """The formula of `layer` with the parameters in force."""
    return _formula(f"(u − mean(u)) / √(var(u){' + eps' if eps else ''})", gain, bias, gain_plus_one)


@norm(
    formula="γ (u − mean(u)) / √(var(u) + eps) + β",
    shapes="x[n d], gain[d], bias[d] -> [n d]",
    source="Ba, Kiros & Hinton 2016 (Layer Normalization), eq. 4",
    example={"x": [[1, 3], [2, 2]], "gives": [[-1, 1], [0, 0]]},
    formula_in_force=_layer_formula,
    by_hand=layer_by_hand,
    check=check_gain,
)
def layer(
    x: Array, *, gain: Gain = None, bias: Bias = None, eps: Small = 0.0, gain_plus_one: bool | None = None
) -> Array:
    """Each vector less its mean, divided by its standard deviation; a vector of equal numbers becomes zero.

    Parameters
    ----------
    x : array [… n d]
        A vector in each row.
    gain : array [d] or [h d], optional
        Multiplied into the divided vectors; without it 1.
    bias : array [d] or [h d], optional
        Added at last; without it 0.
    eps : float ≥ 0, optional
        Added to the variance, the mean of the squared differences from the mean.
    gain_plus_one : bool, optional
        The gain is stored as gain − 1: vectors are multiplied by 1 + `gain`.

    Returns
    -------
    array [… n d]

    Examples
    --------
    >>> layer(np.array([[1.0, 3.0], [2.0, 2.0]]))
    array([[-1.,  1.],
           [ 0.,  0.]])
    >>> layer(np.array([[1.0, 3.0]]), gain=np.array([2.0, 4.0]), bias=np.array([0.5, 0.0]), eps=3.0)
    array([[-0.5,  2. ]])
    """
    unit = _unit(x, eps)
    scaled = x / unit
    centred = scaled - scaled.mean(axis=-1, keepdims=True)
    divided = _divided(centred, (centred * centred).mean(axis=-1, keepdims=True), eps, unit)
    return _with_gain(divided, gain, bias, gain_plus_one)
