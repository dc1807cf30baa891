"""The decorators that register operators, one for each kind, and the decorator of structural functions.

An operator is one function with one decorator, whose keywords are fields of the operator's record. Your own operator
needs no keywords, nor brackets (`@attncli.score`): its arrays then have the usual axes, and its worked lines,
derivatives and code follow from its function. An incomplete record or a taken name raises AttnError, as
`attncli.ops.registry.register` says.

You may write by hand what reads better. `by_hand` writes the worked lines of one cell. It gets an
`attncli.numbers.arithmetic.ArithmeticWriter`, and by name the operator's arguments in that cell (the query [d], the key
[d]; the whole row for a normalizer, all keys for a context), its inner quantities, its result and its parameters. It
writes a computation with the terms of `attncli.numbers.terms`; the writer finds digits for which the line is true.

`code` is NumPy code as a person would write it: lines, the last being the value, with arguments, parameters and inner
quantities in braces (`"{query} @ {key}.mT * {scale}"`). It may be a function of an `attncli.ops.code.CodeCall` that
returns the lines. PyTorch's names follow from NumPy's; if that is not enough, an `attncli.ops.code.Code` has both.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, ParamSpec, Protocol, overload

from attncli.ops.code import Code, CodeRule
from attncli.ops.derivatives import Derivatives
from attncli.ops.records import (
    ActsOn,
    AxesInForce,
    ByHand,
    DerivedInput,
    Factorization,
    FormulaInForce,
    KeyBounds,
    MaskSign,
    OnlineNormalizer,
    OperatorUse,
    Quantity,
    StructuralRecord,
)
from attncli.ops.registry import OperatorFunction, P, R, R_co, Register, register

K = ParamSpec("K")
NOTHING: Mapping[str, Any] = MappingProxyType({})


class DecoratorOfKind(Protocol[K]):
    """A decorator with or without brackets: `@score` and `@score(formula="…")`."""

    @overload
    def __call__(self, function: Callable[P, R], /) -> OperatorFunction[P, R]: ...  # type: ignore[overload-overlap] # a keyword is never a function alone

    @overload
    def __call__(self, *args: K.args, **fields: K.kwargs) -> Register: ...


def _or_bare(decorator: Callable[K, Register]) -> DecoratorOfKind[K]:
    """A decorator that may be used without brackets."""

    @wraps(decorator)
    def with_or_without(*functions: Any, **fields: Any) -> Any:
        register_function: Any = made(**fields)
        return register_function(*functions) if functions else register_function

    made: Any = decorator
    either: Any = with_or_without
    found: DecoratorOfKind[K] = either
    return found


class StructuralFunction(Protocol[P, R_co]):
    """A function of plans, whose record is an attribute."""

    record: StructuralRecord

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Compute it."""
        ...


@_or_bare
def score(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    inner: tuple[Quantity, ...] = (),
    formula_in_force: FormulaInForce | None = None,
    by_hand: ByHand | None = None,
    code: Code | CodeRule | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivatives: Derivatives | None = None,
    unscaled: str | None = None,
    factorization: Factorization | None = None,
) -> Register:
    """Register a score: query [… n d] and key [… m c] to scores [… n m].

    The keywords are fields of `attncli.ops.records.OperatorRecord`.

    >>> import numpy as np
    >>> from attncli import attention
    >>> from attncli.numbers.terms import absolute, largest, number
    >>> def chebyshev_by_hand(write, query, key, result):
    ...     differences = [absolute(number(a) - b) for a, b in zip(query, key)]
    ...     return [write.equation(-largest(differences), result)]  # −max(|1 − 1|, |2 − 4|) = −2
    >>> @score(
    ...     formula="Sᵢⱼ = −maxₐ |Qᵢₐ − Kⱼₐ|",
    ...     shapes="query[n d], key[m d] -> [n m]",
    ...     source="the Chebyshev distance",
    ...     example={"query": [[1, 2]], "key": [[1, 4]], "gives": [[-2]]},
    ...     by_hand=chebyshev_by_hand,
    ... )
    ... def chebyshev(query, key):
    ...     '''The largest difference of two features, negative.'''
    ...     return -abs(query[..., :, None, :] - key[..., None, :, :]).max(axis=-1)
    >>> attention([[1, 2]], [[1, 4], [6, 2]], score="chebyshev", select="scores").scores
    array([[-2., -5.]])
    """
    return register("score", **locals())


@_or_bare
def normalizer(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    inner: tuple[Quantity, ...] = (),
    formula_in_force: FormulaInForce | None = None,
    by_hand: ByHand | None = None,
    code: Code | CodeRule | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivatives: Derivatives | None = None,
    is_distribution: bool = False,
    online: OnlineNormalizer | None = None,
) -> Register:
    """Register a normalizer: scores [… n m] to weights [… n m]; a score of −∞ marks a masked key, whose weight is 0.

    The keywords are fields of `attncli.ops.records.OperatorRecord`.

    >>> import numpy as np
    >>> from attncli import attention
    >>> @normalizer(
    ...     formula="Aᵢⱼ = 2^Sᵢⱼ / Σⱼ 2^Sᵢⱼ",
    ...     shapes="scores[n m] -> [n m]",
    ...     source="softmax with base 2",
    ...     example={"scores": [[0, 1]], "gives": [[1 / 3, 2 / 3]]},
    ...     is_distribution=True,
    ... )
    ... def softmax2(scores):
    ...     '''Powers of two, divided by their sum.'''
    ...     powers = np.exp2(scores - scores.max(axis=-1, keepdims=True))
    ...     return powers / powers.sum(axis=-1, keepdims=True)
    >>> attention([[1]], [[0], [2]], score="dot", normalize="softmax2", select="weights").weights
    array([[0.2, 0.8]])
    """
    return register("normalize", **locals())


@_or_bare
def context(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    inner: tuple[Quantity, ...] = (),
    formula_in_force: FormulaInForce | None = None,
    by_hand: ByHand | None = None,
    code: Code | CodeRule | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derived: Mapping[str, DerivedInput] = MappingProxyType({}),
    derivatives: Derivatives | None = None,
    is_weighted_sum: bool = False,
    needs_distribution: bool = False,
) -> Register:
    """Register a context: weights [… n m] and value [… m e] to one vector a query, [… n e] or [… n a].

    `is_weighted_sum` says that the function is exactly `weights @ value`, so that tiles need not call it. The keywords
    are fields of `attncli.ops.records.OperatorRecord`.

    >>> from attncli import attention
    >>> @context(
    ...     formula="Cᵢ = Σⱼ Aᵢⱼ |Vⱼ|",
    ...     shapes="weights[n m], value[m e] -> [n e]",
    ...     source="an example",
    ...     example={"weights": [[0.5, 0.5]], "value": [[2], [-4]], "gives": [[3]]},
    ... )
    ... def absolute_sum(weights, value):
    ...     '''The sum of the absolute values, each times its weight.'''
    ...     return weights @ abs(value)
    >>> attention([[0]], [[1], [1]], [[2], [-4]], context="absolute_sum").output
    array([[3.]])
    """
    return register("context", **locals())


@_or_bare
def recurrence(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    inner: tuple[Quantity, ...] = (),
    formula_in_force: FormulaInForce | None = None,
    by_hand: ByHand | None = None,
    code: Code | CodeRule | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derived: Mapping[str, DerivedInput] = MappingProxyType({}),
    derivatives: Derivatives | None = None,
) -> Register:
    """Register a recurrence: query [… n d], key [… n d] and value [… n e] of each token to one vector a token, [… n e].

    It has a state instead of scores and weights. It may read `decay` and `beta` [… n], `past_state` [… d e] and the
    number `scale`, which is None by default. The keywords are fields of `attncli.ops.records.OperatorRecord`.

    >>> import numpy as np
    >>> from attncli import attention
    >>> @recurrence(
    ...     formula="Cᵢ = Qᵢ maxⱼ≤ᵢ KⱼᵀVⱼ",
    ...     shapes="query[n d], key[n d], value[n e] -> [n e]",
    ...     source="an example",
    ...     example={"query": [[1]], "key": [[2]], "value": [[3]], "gives": [[6]]},
    ... )
    ... def largest_so_far(query, key, value):
    ...     '''The state keeps the largest product of a key and a value.'''
    ...     states = np.maximum.accumulate(key[..., :, None] * value[..., None, :], axis=-3)
    ...     return (query[..., None, :] @ states)[..., 0, :]
    >>> attention([[1], [1]], [[2], [1]], [[3], [1]], recurrence="largest_so_far").output
    array([[6.],
           [6.]])
    """
    return register("recurrence", **locals())


@_or_bare
def difference(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    formula_in_force: FormulaInForce | None = None,
    by_hand: ByHand | None = None,
    code: Code | CodeRule | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivatives: Derivatives | None = None,
) -> Register:
    """Register a difference: parameters to the number λ, which multiplies the second map of each pair.

    The keywords are fields of `attncli.ops.records.OperatorRecord`.

    >>> from attncli import attention
    >>> @difference(formula="λ = 1/2", shapes="-> []", source="an example", example={"gives": 0.5})
    ... def half():
    ...     '''Half of the second map is subtracted.'''
    ...     return 0.5
    >>> attention([[1, 4]], [[2, 0]], heads=2, difference="half", select="weight_difference").weight_difference
    array([[[0.5]]])
    """
    return register("difference", **locals())


@_or_bare
def position(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    acts_on: ActsOn | None = None,
    formula_in_force: FormulaInForce | None = None,
    by_hand: ByHand | None = None,
    code: Code | CodeRule | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derived: Mapping[str, DerivedInput] = MappingProxyType({}),
    position_axes: AxesInForce | None = None,
    flatten: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    derivatives: Derivatives | None = None,
    scores_added: Callable[[Mapping[str, Any]], int] | None = None,
    counts_from_first_key: bool = False,
) -> Register:
    """Register a position scheme.

    `acts_on` says what it changes: "embeddings" (positions [n] and the number of features to summands [n x]),
    "query_and_key" (x [n d] and positions [n] to [n d]), "products" (query, query_positions and key_positions to
    summands of dot products [n m]), "scores" (query_positions [n] and key_positions [m] to a bias [n m]; with an
    argument `heads`, their number or None, to [h n m]). By default it follows from the arguments. The keywords are
    fields of `attncli.ops.records.OperatorRecord`.

    >>> from attncli import attention
    >>> @position(
    ...     formula="Bᵢⱼ = −(posᵢ − j)²",
    ...     shapes="query_positions[n], key_positions[m] -> [n m]",
    ...     source="an example",
    ...     example={"query_positions": [2], "key_positions": [0, 2], "gives": [[-4, 0]]},
    ...     acts_on="scores",
    ... )
    ... def squared_distance(query_positions, key_positions):
    ...     '''The farther a key, the lower its score.'''
    ...     return -((query_positions[..., :, None] - key_positions) ** 2)
    >>> attention([[0], [0]], [[1], [1]], position="squared_distance", select="masked_scores").masked_scores
    array([[ 0., -1.],
           [-1.,  0.]])
    """
    return register("position", **locals())


@_or_bare
def mask(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    formula_in_force: FormulaInForce | None = None,
    by_hand: ByHand | None = None,
    code: Code | CodeRule | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    key_bounds: Callable[..., KeyBounds] | None = None,
    sign: MaskSign | None = None,
    counts_from_first_key: bool = False,
    reads_rows: bool = False,
) -> Register:
    """Register a mask: query_positions [… n] and key_positions [m] to truths [… n m], true where a query sees a key.

    With `key_bounds` blocks skip the keys that no query sees; without it they evaluate every key. The keywords are
    fields of `attncli.ops.records.OperatorRecord`.

    >>> from attncli import attention
    >>> @mask(
    ...     formula="visible where (posᵢ − j) mod 2 = 0",
    ...     shapes="query_positions[n], key_positions[m] -> [n m]",
    ...     source="an example",
    ...     example={"query_positions": [0], "key_positions": [0, 1], "gives": [[True, False]]},
    ... )
    ... def every_second(query_positions, key_positions):
    ...     '''Every second key, counted from the query.'''
    ...     return (query_positions[..., :, None] - key_positions) % 2 == 0
    >>> attention([[0]], [[1], [1], [1]], mask="every_second", select="weights").weights
    array([[0.5, 0. , 0.5]])
    """
    return register("mask", **locals())


@_or_bare
def norm(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    formula_in_force: FormulaInForce | None = None,
    by_hand: ByHand | None = None,
    code: Code | CodeRule | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivatives: Derivatives | None = None,
) -> Register:
    """Register a norm: x [… n d] to vectors of a fixed size, [… n d], for the keys `qk_norm`, `value_norm` and others.

    `qk_norm` takes its array parameters, such as a gain [d], twice: `query_gain` and `key_gain`. The keywords are
    fields of `attncli.ops.records.OperatorRecord`.

    >>> from attncli import attention
    >>> @norm(
    ...     formula="x̂ = x / maxₐ |xₐ|",
    ...     shapes="x[n d] -> [n d]",
    ...     source="the maximum norm",
    ...     example={"x": [[1, -4]], "gives": [[0.25, -1]]},
    ... )
    ... def largest(x):
    ...     '''Each vector divided by its largest absolute entry.'''
    ...     return x / abs(x).max(axis=-1, keepdims=True)
    >>> attention([[1, -4]], [[2, 0]], qk_norm="largest", select="normalized_query").normalized_query
    array([[ 0.25, -1.  ]])
    """
    return register("norm", **locals())


@_or_bare
def query_scale(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    formula_in_force: FormulaInForce | None = None,
    by_hand: ByHand | None = None,
    code: Code | CodeRule | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivatives: Derivatives | None = None,
) -> Register:
    """Register a query scale: positions [… n] to a factor for each query, [… n] or [… h n].

    The keywords are fields of `attncli.ops.records.OperatorRecord`.

    >>> from attncli import attention
    >>> @query_scale(
    ...     formula="κᵢ = posᵢ + 1",
    ...     shapes="positions[n] -> [n]",
    ...     source="an example",
    ...     example={"positions": [0, 2], "gives": [1, 3]},
    ... )
    ... def linear(positions):
    ...     '''The factor is the number of keys up to the query.'''
    ...     return positions + 1
    >>> attention([[1, 4], [1, 4]], [[2, 0]], query_scale="linear", select="scaled_query").scaled_query
    array([[1., 4.],
           [2., 8.]])
    """
    return register("query_scale", **locals())


@_or_bare
def gate(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    formula_in_force: FormulaInForce | None = None,
    by_hand: ByHand | None = None,
    code: Code | CodeRule | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivatives: Derivatives | None = None,
) -> Register:
    """Register a gate: the projected x [… n u] to the factors of the merged heads, [… n u].

    The keywords are fields of `attncli.ops.records.OperatorRecord`.

    >>> import numpy as np
    >>> from attncli import attention
    >>> @gate(
    ...     formula="Gᵃ = tanh(G)",
    ...     shapes="x[n u] -> [n u]",
    ...     source="an example",
    ...     example={"x": [[0]], "gives": [[0]]},
    ... )
    ... def tanh(x):
    ...     '''From −1 to 1.'''
    ...     return np.tanh(x)
    >>> attention(embeddings=[[1, 2]], w_g=[[0, 1], [0, 0]], gate="tanh").output.round(4)
    array([[0.    , 1.5232]])
    """
    return register("gate", **locals())


@_or_bare
def generator(
    *,
    formula: str = "",
    shapes: str = "",
    source: str = "",
    example: Mapping[str, Any] = NOTHING,
    is_drawn: bool = False,
) -> Register:
    """Register a generator: a stream of random numbers and a shape to an array of that shape.

    `is_drawn` says that it reads the stream, so that it needs a `seed`. The keywords are fields of
    `attncli.ops.records.OperatorRecord`.

    >>> import numpy as np
    >>> from attncli import Problem
    >>> @generator(formula="x = 2", shapes="-> [r c]", source="an example", example={"shape": (1, 2)})
    ... def twos(stream, shape):
    ...     '''A matrix of twos.'''
    ...     return np.full(shape, 2.0)
    >>> Problem(embeddings=[[1, 0]], w_q="twos").w_q
    array([[2., 2.],
           [2., 2.]])
    """
    return register("generator", **locals())


def structural(
    *,
    by_hand: ByHand | None = None,
    derivatives: Derivatives | None = None,
    code: Code | CodeRule | None = None,
    is_exact: bool = False,
    is_boolean: bool = False,
    key_bounds: Callable[..., KeyBounds] | None = None,
) -> Callable[[Callable[P, R]], StructuralFunction[P, R]]:
    """Attach a record to a function that plans use."""

    def decorate(function: Callable[P, R]) -> StructuralFunction[P, R]:
        made: Any = function
        made.record = StructuralRecord(by_hand, derivatives, code, is_exact, is_boolean, key_bounds)
        recorded: StructuralFunction[P, R] = made
        return recorded

    return decorate


def registered_function(kind: str, function: Callable[P, R]) -> OperatorFunction[P, R]:
    """Register a plain function as an operator of a kind."""
    decorators: Mapping[str, Callable[[Callable[P, R]], OperatorFunction[P, R]]] = {
        "score": score, "normalize": normalizer, "context": context, "recurrence": recurrence, "difference": difference,
        "position": position, "mask": mask, "norm": norm, "query_scale": query_scale, "gate": gate,
        "generator": generator,
    }  # fmt: skip
    return decorators[kind](function)
