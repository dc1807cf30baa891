"""Rules in operators' records: how a score factors, a normalizer accumulates its keys, a mask bounds its keys."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from attncli.base.axes import Letters
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array

Interval = tuple[float, float]  # half-open: from the first key to before the last


@dataclass(frozen=True, eq=False)
class Factorization:
    """A score [… n m] that is `left(query) @ right(key).mT * scale(d)`.

    `left(query [… n d], **parameters)` and `right(key [… m c], **parameters)` return matrices of equally many columns;
    they get every parameter of the score, defaults resolved. `scale` takes the number of features d; for a number of
    `longdouble` it returns one of this type.

    Examples
    --------
    >>> import numpy as np
    >>> from attncli.ops.distance_scores import cosine
    >>> query, key = np.array([[3.0, 4.0]]), np.array([[6.0, 8.0], [4.0, -3.0]])
    >>> rule = cosine.record.factorization
    >>> (rule.left(query, beta=2) @ rule.right(key, beta=2).mT * rule.scale(2)).round(4)
    array([[2., 0.]])
    """

    left: Callable[..., Array]
    right: Callable[..., Array]
    scale: Callable[[Any], Any] = lambda features: 1.0


@dataclass(frozen=True, eq=False)
class OnlineNormalizer:
    """Online form of a normalizer: weights = numerator / denominator, accumulated tile by tile.

    `numerator(scores [… n m], running_max [… n 1], out=, **parameters)` gets every parameter, defaults resolved,
    and may compute in `out`, an array of the shape of the scores. When the running maximum rises from m to m', what was
    accumulated is multiplied by `numerator(m, m')`. The denominator is the sum of the numerators and of
    `extra_denominator(running_max)`. Source: Milakov & Gimelshein 2018, Algorithm 3.

    Examples
    --------
    Softmax of [1, 3], a score at a time:

    >>> import numpy as np
    >>> from attncli.ops.normalizers import softmax
    >>> numerator, first, second = softmax.record.online.numerator, np.array([[1.0]]), np.array([[3.0]])
    >>> one = numerator(first, first, temperature=1.0)  # the running maximum is 1 …
    >>> one = one * numerator(first, second, temperature=1.0)  # … and rises to 3
    >>> two = numerator(second, second, temperature=1.0)
    >>> np.concatenate([one, two], axis=-1) / (one + two)
    array([[0.11920292, 0.88079708]])
    """

    numerator: Callable[..., Array]
    uses_running_max: bool = True  # without it the numerator gets None in its place
    min_running_max: float = -float("inf")
    extra_denominator: Callable[[Array], Array] | None = None
    is_divided: bool = True  # without it the numerators are the weights
    may_cancel: bool = False  # numerators may be negative
    # The factor f where the numerator is exp(f (score − running_max)): without a need for it no maximum is subtracted.
    exp_scale: Callable[[Mapping[str, Any]], float] | None = None
    multiplications: int = 32  # of a product, that take as long as a numerator and what else tiles do with a score


@dataclass(frozen=True, eq=False)
class KeyBounds:
    """Half-open key ranges of a block of queries.

    Outside `any_visible` all cells are masked; inside `all_visible` none is, so no mask is applied there.

    Examples
    --------
    >>> import numpy as np
    >>> from attncli.ops.masks import causal
    >>> bounds = causal.record.key_bounds(np.array([2, 3, 4]), np.arange(8))
    >>> tuple(map(int, bounds.any_visible)), tuple(map(int, bounds.all_visible))
    ((0, 5), (0, 3))
    """

    any_visible: Interval
    all_visible: Interval


@dataclass(frozen=True, eq=False)
class MaskSign:
    """The sign of the cells that a rule hides in the table of mask signs, and its meaning in the legend.

    >>> MaskSign("▷", "after the query (causal)").sign
    '▷'
    """

    sign: str
    meaning: str
    precedence: int = 0  # a cell that several rules hide has the sign of the highest


@dataclass(frozen=True, eq=False)
class DerivedInput:
    """An array that an operator reads and that is computed where the user does not give it.

    `function(shape=…, **options)` returns an array of that shape: the lengths of `axes`, in which `…` means the
    axes before the queries. The options are the operator's own parameters of the names in `parameters`; an operator
    that gets the array does not get them. What depends on the parameters in force, with defaults, are functions of
    them: `is_needed`, `lengths` of axes that are the operator's own, from those of the problem in one head (an axis
    without one is left out), and `inputs`, the roles of nodes that the function reads.

    >>> import numpy as np
    >>> slopes = DerivedInput(
    ...     lambda shape: np.ones(shape),
    ...     "m",
    ...     lambda shape: f"1 for {shape[0]} heads",
    ...     ("h",),
    ...     purpose="How fast the bias grows in each head.",
    ... )
    >>> slopes.function(shape=(2,)), slopes.formula((2,))
    (array([1., 1.]), '1 for 2 heads')
    """

    function: Callable[..., Array]
    symbol: str
    formula: Callable[..., str]  # of what the function gets: the shape and the options
    axes: Letters
    parameters: tuple[str, ...] = ()
    is_needed: Callable[[Mapping[str, Any]], bool] = lambda parameters: True
    lengths: Callable[[Mapping[str, Any], Mapping[str, int]], Mapping[str, int]] = lambda parameters, lengths: {}
    inputs: Callable[[Mapping[str, Any]], tuple[str, ...]] = lambda parameters: ()
    purpose: str = field(kw_only=True)  # what it is for, in one sentence


@dataclass(frozen=True)
class PositionAxes:
    """How many numbers a position has, such as a row and a column, and whether they have to be given.

    Without positions every row has its number on each axis, unless `are_needed`.

    >>> PositionAxes(2).are_needed
    False
    """

    count: int
    are_needed: bool = False


@dataclass(frozen=True)
class OperatorUse:
    """The parameters of an operator, and the lengths and positions that they are checked against.

    `lengths` has the length of each axis letter in one head; `positions` are those of the rows it acts on,
    counted from the first key.

    >>> use = OperatorUse({"dims": 4}, {"d": 6}, range(3))
    >>> use.parameters["dims"] <= use.lengths["d"]
    True
    """

    parameters: Mapping[str, Any]
    lengths: Mapping[str, int]
    positions: range
