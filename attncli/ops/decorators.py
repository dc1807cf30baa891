"""The decorators that register operators, one for each kind, and the one of structural functions.

An operator is one function with one decorator, whose keywords are fields of the operator's record.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from attncli.ops.records import ActsOn, ByHand, Quantity, StructuralRecord
from attncli.ops.registration import P, R, R_co, Register, register
from attncli.ops.rules import DerivedInput, Factorization, KeyBounds, MaskSign, OnlineNormalizer, OperatorUse


class StructuralFunction(Protocol[P, R_co]):
    """A function of plans, with its record as an attribute."""

    record: StructuralRecord

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Compute it."""
        ...


def score(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    inner: tuple[Quantity, ...] = (),
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivative: Callable[..., Any] | None = None,
    unscaled: str | None = None,
    factorization: Factorization | None = None,
) -> Register:
    """Register a score: query [n d] and key [m c] to scores [n m]."""
    return register("score", **locals())


def normalizer(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    inner: tuple[Quantity, ...] = (),
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivative: Callable[..., Any] | None = None,
    is_distribution: bool = False,
    online: OnlineNormalizer | None = None,
) -> Register:
    """Register a normalizer: scores [n m] to weights [n m]; a score of −∞ marks a masked key, whose weight is 0."""
    return register("normalize", **locals())


def context(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    inner: tuple[Quantity, ...] = (),
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derived: Mapping[str, DerivedInput] = MappingProxyType({}),
    derivative: Callable[..., Any] | None = None,
    is_weighted_sum: bool = False,
    needs_distribution: bool = False,
) -> Register:
    """Register a context: weights [n m] and value [m e] to one vector a query, [n e] or [n a]."""
    return register("context", **locals())


def position(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    acts_on: ActsOn,
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derived: Mapping[str, DerivedInput] = MappingProxyType({}),
    derivative: Callable[..., Any] | None = None,
) -> Register:
    """Register a position scheme.

    `acts_on` says what it changes: "embeddings" (positions [n] and the number of features to vectors [n x], which are
    added), "query_and_key" (x [n d] and positions [n] to [n d]), "products" (query, query_positions and key_positions
    to numbers [n m] that are added to dot products), "scores" (query_positions, key_positions and heads to a bias).
    """
    return register("position", **locals())


def mask(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    key_bounds: Callable[..., KeyBounds] | None = None,
    sign: MaskSign | None = None,
) -> Register:
    """Register a mask: a rule on the indices of queries and keys, true where the query may attend to the key."""
    return register("mask", **locals())


def norm(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivative: Callable[..., Any] | None = None,
) -> Register:
    """Register a norm of queries and keys: x [n d] to vectors of a fixed size, [n d]."""
    return register("qk_norm", **locals())


def generator(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    is_drawn: bool = False,
) -> Register:
    """Register a generator: (stream, shape) to an array of that shape."""
    return register("generator", **locals())


def structural(
    *, by_hand: ByHand | None = None, is_exact: bool = False, is_boolean: bool = False
) -> Callable[[Callable[P, R]], StructuralFunction[P, R]]:
    """Hang a record on a function that plans use."""

    def decorate(function: Callable[P, R]) -> StructuralFunction[P, R]:
        code: Any = function
        code.record = StructuralRecord(by_hand, is_exact, is_boolean)
        recorded: StructuralFunction[P, R] = code
        return recorded

    return decorate
