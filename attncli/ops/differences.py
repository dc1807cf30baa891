"""Differences of maps: the first head's weights of each pair, minus λ times the second's; and the values of pairs."""

import math
from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, exp, number, parameter, products
from attncli.ops.decorators import difference, structural
from attncli.ops.derivatives import ByNumber, unchanged
from attncli.ops.records import OperatorUse, Range, Symbol, format_value

VECTORS = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")


def initial_lambda(lambda_init: float | None = None, layer: int | None = None) -> Any:
    """The number λ_init, as given or from the layer, counted from 0; by default 0.

    >>> round(initial_lambda(layer=0), 4), initial_lambda(0.5), initial_lambda()
    (0.2, 0.5, 0.0)
    """
    if layer is None:
        return 0.0 if lambda_init is None else lambda_init
    return 0.8 - 0.6 * math.exp(-0.3 * layer)


def heads_of_map(heads: int, pairs: str, which: int) -> list[int]:
    """The heads whose weights are the first map (0) of each pair, or the second (1).

    >>> heads_of_map(6, "halves", 1), heads_of_map(6, "neighbours", 1)
    ([3, 4, 5], [1, 3, 5])
    """
    half = heads // 2
    return list(range(which * half, (which + 1) * half) if pairs == "halves" else range(which, heads, 2))


def _initial_term(write: ArithmeticWriter, lambda_init: float | None, layer: int | None) -> tuple[list[str], Term]:
    """The lines of λ_init, and its term."""
    if layer is None:
        return [], parameter(0.0 if lambda_init is None else lambda_init)
    line = write.computed("λ_init", parameter(0.8) - parameter(0.6) * exp(-(parameter(0.3) * number(layer))))
    return [line.line], line


def differential_by_hand(
    write: ArithmeticWriter,
    result: Any,
    *,
    lambda_q1: Array | None = None,
    lambda_k1: Array | None = None,
    lambda_q2: Array | None = None,
    lambda_k2: Array | None = None,
    lambda_full: float | None = None,
    lambda_init: float | None = None,
    layer: int | None = None,
) -> list[str]:
    """The two exponentials of products, and λ."""
    if lambda_full is not None:
        return [f"λ is given: {write(result)}"]
    lines, term = _initial_term(write, lambda_init, layer)
    if lambda_q1 is None or lambda_k1 is None or lambda_q2 is None or lambda_k2 is None:
        return lines or [f"λ is λ_init: {write(result)}"]
    grown = [
        write.computed(f"exp(λ_q{at}·λ_k{at})", exp(products(left, right)))
        for at, (left, right) in enumerate(((lambda_q1, lambda_k1), (lambda_q2, lambda_k2)), 1)
    ]
    return [*(x.line for x in grown), *lines, write.equation(grown[0] - grown[1] + term, result, name="λ")]


def _formula(
    lambda_full: float | None = None, lambda_init: float | None = None, layer: int | None = None, **vectors: bool
) -> str:
    """λ as given, or how it is computed."""
    if lambda_full is not None:
        return f"λ = {format_value(lambda_full)}"
    if lambda_init is None and layer is None:
        return "λ = exp(λ_q1·λ_k1) − exp(λ_q2·λ_k2)" if vectors else "λ = 0"
    initial = f"λ_init = 0.8 − 0.6 exp(−0.3·{layer})" if layer is not None else f"λ_init = {format_value(lambda_init)}"
    return f"λ = exp(λ_q1·λ_k1) − exp(λ_q2·λ_k2) + λ_init, {initial}" if vectors else f"λ = {initial}"


def check_differential(use: OperatorUse) -> None:
    """Raise AttnError if λ is missing or given twice, or has only some of its vectors."""
    given = [name for name in VECTORS if use.parameters.get(name) is not None]
    starts = [name for name in ("lambda_init", "layer") if use.parameters.get(name) is not None]
    missing = [name for name in VECTORS if name not in given]
    if given and missing:
        raise AttnError(f"needs {missing[0]} too", hint=f"give {', '.join(VECTORS)}, or none of them")
    if use.parameters.get("lambda_full") is not None:
        if given:
            message = "λ is given both as a number and by vectors"
            raise AttnError(message, where="lambda_full", hint=f"leave out lambda_full, or {', '.join(given)}")
    elif not starts:
        hint = "give a number, lambda_full; or the initial λ by lambda_init or layer"
        raise AttnError("λ is not given", hint=hint)
    if len(starts) == 2:
        raise AttnError("both lambda_init and layer give the initial λ", hint="leave out one of them")


@difference(
    formula="λ = exp(λ_q1·λ_k1) − exp(λ_q2·λ_k2) + λ_init",
    shapes="lambda_q1[d], lambda_k1[d], lambda_q2[d], lambda_k2[d] -> []",
    source="Ye et al. 2024 (Differential Transformer), eq. 1 to 3",
    example={
        "lambda_q1": [1, 0],
        "lambda_k1": [0, 1],
        "lambda_q2": [0, 0],
        "lambda_k2": [1, 1],
        "lambda_init": 0.8,
        "gives": 0.8,
    },
    formula_in_force=_formula,
    by_hand=differential_by_hand,
    check=check_differential,
    derivatives={
        "lambda_q1": "{d_argument} = {d_result} exp({lambda_q1}·{lambda_k1}) {lambda_k1}",
        "lambda_k1": "{d_argument} = {d_result} exp({lambda_q1}·{lambda_k1}) {lambda_q1}",
        "lambda_q2": "{d_argument} = −{d_result} exp({lambda_q2}·{lambda_k2}) {lambda_k2}",
        "lambda_k2": "{d_argument} = −{d_result} exp({lambda_q2}·{lambda_k2}) {lambda_q2}",
        "lambda_full": ByNumber("λ", "{d_argument} = {d_result}"),
    },
)
def differential(
    *,
    lambda_full: float | None = None,
    lambda_init: float | None = None,
    layer: Annotated[int | None, Range(least=0)] = None,
    lambda_q1: Annotated[Array | None, Symbol("λ_q1")] = None,
    lambda_k1: Annotated[Array | None, Symbol("λ_k1")] = None,
    lambda_q2: Annotated[Array | None, Symbol("λ_q2")] = None,
    lambda_k2: Annotated[Array | None, Symbol("λ_k2")] = None,
) -> Array:
    """How much of the second map of each pair of heads is subtracted from the first: λ.

    λ is a number, `lambda_full`, or follows from four vectors and `lambda_init`. A `layer`, counted from 0, has the
    λ_init 0.8 − 0.6 exp(−0.3 layer). If either is given, the context of each pair is multiplied by 1 − λ_init, after
    its norm.

    >>> differential(lambda_full=0.5).item(), differential(lambda_init=0.8).item()
    (0.5, 0.8)
    >>> ones, zeros = np.ones(2), np.zeros(2)
    >>> vectors = {"lambda_q1": zeros, "lambda_k1": ones, "lambda_q2": zeros, "lambda_k2": ones}
    >>> round(differential(layer=0, **vectors).item(), 4)
    0.2
    """
    if lambda_full is not None:
        given: Array = np.add(lambda_full, 0)
        return given
    begin = initial_lambda(lambda_init, layer)
    if lambda_q1 is None or lambda_k1 is None or lambda_q2 is None or lambda_k2 is None:
        return np.asarray(begin)
    grown = [np.exp((left * right).sum(axis=-1)) for left, right in ((lambda_q1, lambda_k1), (lambda_q2, lambda_k2))]
    difference: Array = grown[0] - grown[1] + begin
    return difference


@structural(is_exact=True, derivatives={"x": "{d_x}: {d_result} in the heads of its map, 0 in the others"})
def take_heads(x: Array, *, pairs: str, which: int) -> Array:
    """The first head (0) of each pair, or the second (1): [… h n m] to half as many heads.

    >>> take_heads(np.array([[[1]], [[2]], [[3]], [[4]]]), pairs="halves", which=1).ravel()
    array([3, 4])
    """
    return x[..., heads_of_map(x.shape[-3], pairs, which), :, :]


@structural(
    is_exact=True,
    derivatives={"x": "{d_x}: the features of {d_result} shared between the heads of each pair again"},
)
def pair_heads(x: Array, *, pairs: str) -> Array:
    """Each pair's features, concatenated: [… g m e] to half as many heads of 2 e features.

    >>> pair_heads(np.array([[[1]], [[2]], [[3]], [[4]]]), pairs="neighbours").tolist()
    [[[1, 2]], [[3, 4]]]
    """
    return np.concatenate([take_heads(x, pairs=pairs, which=which) for which in (0, 1)], axis=-1)


@structural(
    derivatives={
        "first": unchanged,
        "second": "{d_second} = −{factor} {d_result}",
        "factor": "{d_factor} = −Σ {d_result} ∘ {second}",
    }
)
def subtract_map(first: Array, second: Array, factor: Array) -> Array:
    """The first map minus λ times the second.

    >>> subtract_map(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]]), np.array(2.0)).tolist()
    [[0.0, -1.0]]
    """
    less: Array = first - factor * second
    return less


def _scaled_by_hand(
    write: ArithmeticWriter, x: Array, result: Any, *, lambda_init: float | None = None, layer: int | None = None
) -> list[str]:
    """One row of the context, times 1 − λ_init."""
    lines, term = _initial_term(write, lambda_init, layer)
    factor = write.computed("1 − λ_init", 1 - term)
    name = f"(1 − λ_init) {write.symbol('x')}({write.query})"
    return [*lines, factor.line, write.equation(factor * number(x), result, name=name, letter="e")]


@structural(by_hand=_scaled_by_hand, derivatives={"x": "{d_x} = (1 − λ_init) {d_result}"})
def scale_context(x: Array, *, lambda_init: float | None = None, layer: int | None = None) -> Array:
    """The context times 1 − λ_init: its gradients then have the size of a single map's.

    >>> scale_context(np.array([[2.0, 4.0]]), lambda_init=0.5)
    array([[1., 2.]])
    """
    scaled: Array = (1 - initial_lambda(lambda_init, layer)) * x
    return scaled
