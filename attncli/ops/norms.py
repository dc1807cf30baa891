"""Norms: each vector divided by its size, times a learned gain, plus a learned bias; and the keys that take norms.

A norm has one gain and one bias; a key that normalizes several arrays takes a set for each: `query_gain` and `key_gain`
for `rms`. Other parameters, such as which features are normalized together, belong to the key and not to the norm.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from attncli.base.axes import Letters, Signature
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import norm
from attncli.ops.derivatives import derivative
from attncli.ops.recording.stable import named, quotient, stable
from attncli.ops.records import FormulaInForce, Operator, OperatorRecord, OperatorUse, Parameter, Range, Symbol
from attncli.ops.registry import add_use, look_up

SHAPES = "x[n d], gain[d], bias[d] -> [n d]"
Small = Annotated[float, Range(least=0)]
SmallOrNone = Annotated[float | None, Range(least=0)]  # so that help shows no default
Gain = Annotated[Array | None, Symbol("γ")]
Bias = Annotated[Array | None, Symbol("β")]
# If a vector's largest entry is within these bounds, its squares neither overflow nor vanish, even in float32.
SMALLEST, LARGEST = 2.0**-40, 2.0**50


def check_gain(use: OperatorUse) -> None:
    """Raise AttnError if `gain_plus_one` has no gain."""
    if use.parameters.get("gain_plus_one") and "gain" not in use.parameters:
        hint = "give the gain, of queries and of keys, or leave it out"
        raise AttnError("gain_plus_one needs a gain", where="gain_plus_one", hint=hint)


def _formula(plain: str, with_eps: str) -> FormulaInForce:
    """The formula with eps, gain and bias if they are given."""

    def in_force(*, eps: float | None = None, gain: bool = False, bias: bool = False, gain_plus_one: Any = None) -> str:
        factor = "(1 + γ) " if gain_plus_one else "γ "
        return f"{factor if gain else ''}{with_eps if eps else plain}{' + β' if bias else ''}"

    return in_force


def _with_gain(x: Array, gain: Array | None, bias: Array | None, gain_plus_one: bool | None) -> Array:
    """The vectors [… n d] times the gain plus the bias, each [d], or [h d] per head."""
    if gain is not None:
        x = x * _of_rows(gain + 1 if gain_plus_one else gain)
    return x if bias is None else x + _of_rows(bias)


def _gradient_before(grad: Array, gain: Array | None, gain_plus_one: bool | None) -> Array:
    """The gradient of the vectors before the gain."""
    return grad if gain is None else named("g", _with_gain(grad, gain, None, gain_plus_one))


def _of_rows(vector: Array) -> Array:
    """One vector per head [h d], reshaped to broadcast with [… h n d]; a single vector [d] stays."""
    return vector if vector.ndim == 1 else vector[..., None, :]


def _unit(x: Array, eps: float, *, is_always: bool = False) -> Array:
    """The first divisor of each vector [… n d], so that its squares neither overflow nor vanish: mostly 1."""
    largest = np.maximum(abs(x).max(axis=-1, keepdims=True, initial=0), eps**0.5)
    is_divided = largest != 0
    if not is_always:
        is_divided &= ((largest < SMALLEST) | (largest > LARGEST)) & (largest < np.inf)
    return np.where(is_divided, largest, 1)


ZERO_VECTOR = "0 is taken for a vector of size 0"


def _sum(x: Array) -> Array:
    """The sum of each row [… n 1]."""
    total: Array = x.sum(axis=-1, keepdims=True)
    return total


def _mean(x: Array) -> Array:
    """The mean of each row [… n 1]."""
    mean: Array = x.mean(axis=-1, keepdims=True)
    return mean


@dataclass(frozen=True, eq=False)
class _Division:
    """A norm's divisor of vectors, centred or not: the root of the mean, or of the sum, of their squares.

    In formulas `size` names the root, and `average` the mean of y and g.
    """

    mean: Callable[[Array], Array]
    size: str
    size_with_eps: str
    average: str
    square: str = ""  # the name of the mean of the squares, if any
    is_centred: bool = False
    is_always_by_unit: bool = False

    def divide(self, x: Array, eps: float | None) -> tuple[Array, Array]:
        """The divided vectors [… n d], and their divisors [… n 1]."""
        divided, size = stable(self._by_size, self._by_unit, x, 0.0 if eps is None else eps)
        return divided, size

    def _by_size(self, x: Array, eps: float) -> tuple[Array, Array]:
        """The vectors divided by their size; a vector of size 0 becomes 0."""
        if self.is_centred:
            x = named("centred", x - named("mean", _mean(x)))
        size = named("size", np.sqrt(named(self.square, self.mean(x**2)) + eps))
        return quotient(x, size), size

    def _by_unit(self, x: Array, eps: float) -> tuple[Array, Array]:
        """The same for vectors that are first divided by a unit."""
        unit = _unit(x, eps, is_always=self.is_always_by_unit)
        scaled = x / unit
        if self.is_centred:
            scaled = scaled - _mean(scaled)
        square = self.mean(scaled * scaled)
        size = np.sqrt(square + eps / unit / unit)
        return scaled / np.where(size == 0, 1, size), unit * size

    def gradient(self, grad: Array, x: Array, eps: float | None) -> Array:
        """The gradient of the vectors, from the divided vectors' gradient; 0 where their size is 0."""
        divided, size = self.divide(x, eps)
        y = named("y", divided)
        across = grad - y * named("fit", self.mean(y * grad))
        if self.is_centred:
            across = across - named("mean_of_g", _mean(grad))
        gradient: Array = quotient(across, size)
        return gradient

    def gradient_of_gain(self, grad: Array, x: Array, eps: float | None) -> Array:
        """The gradient of the gain: the sum over the rows."""
        total: Array = (grad * named("y", self.divide(x, eps)[0])).sum(axis=-2)
        return total

    def formula(self, symbols: Mapping[str, str], options: Mapping[str, Any]) -> str:
        """The formula for the gradient of the vectors, with the gain if given."""
        factor = "" if "gain" not in symbols else "(1 + {gain}) " if options.get("gain_plus_one") else "{gain} "
        less, quotient = (" − mean(g)", "({x} − mean({x}))") if self.is_centred else ("", "{x}")
        size = self.size_with_eps if options.get("eps") else self.size
        return f"{{d_x}} = (g{less} − y {self.average}) / {size}, y = {quotient} / {size}, g = {factor}{{d_result}}"


BY_LENGTH = _Division(_sum, "‖{x}‖", "√(‖{x}‖² + eps)", "(y·g)", is_always_by_unit=True)
BY_MEAN_SQUARE = _Division(_mean, "√(mean({x}²))", "√(mean({x}²) + eps)", "mean(y g)", "mean_square")
BY_DEVIATION = _Division(_mean, "√(var({x}))", "√(var({x}) + eps)", "mean(y g)", "variance", is_centred=True)
GAIN = "{d_gain} = Σᵢ {d_result}ᵢ yᵢ, y the vectors before the gain"


# Derivatives are written by hand: with the divided vectors they are shorter, and 0 for a vector of size 0. For gains
# and biases they have the axes of batch items and heads, whose sum is a step of its own.
@derivative("{d_bias} = Σᵢ {d_result}ᵢ")
def norm_bias(grad: Array) -> Array:
    """The gradient of the bias: the sum over the rows."""
    total: Array = grad.sum(axis=-2)
    return total


def l2_gradient(grad: Array, x: Array) -> Array:
    """The gradient of vectors, from the gradient of their unit vectors."""
    return BY_LENGTH.gradient(grad, x, None)


@derivative(BY_LENGTH.formula, remark=ZERO_VECTOR)
def l2_x(
    grad: Array, x: Array, gain: Array | None = None, *, eps: float | None = None, gain_plus_one: bool | None = None
) -> Array:
    """The gradient of the vectors: what changes their size alone changes nothing."""
    return BY_LENGTH.gradient(_gradient_before(grad, gain, gain_plus_one), x, eps)


@derivative(GAIN)
def l2_gain(grad: Array, x: Array, *, eps: float | None = None) -> Array:
    """The gradient of the gain: the sum over the rows."""
    return BY_LENGTH.gradient_of_gain(grad, x, eps)


@norm(
    formula="γ u / √(‖u‖² + eps) + β",
    shapes=SHAPES,
    source="Henry et al. 2020 (Query-Key Normalization for Transformers)",
    example={"x": [[3, 4], [0, 0]], "gives": [[0.6, 0.8], [0, 0]]},
    formula_in_force=_formula("u / ‖u‖", "u / √(‖u‖² + eps)"),
    derivatives={"x": l2_x, "gain": l2_gain, "bias": norm_bias},
    check=check_gain,
)
def l2(
    x: Array, *, gain: Gain = None, bias: Bias = None, eps: SmallOrNone = None, gain_plus_one: bool | None = None
) -> Array:
    """Each vector divided by its Euclidean norm; a zero vector stays zero.

    Gain and bias are [d], or [h d] per head. With `gain_plus_one` the gain is stored as gain − 1.

    >>> l2(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    >>> l2(np.array([[3.0, 4.0]]), gain=np.array([10.0, 5.0]), bias=np.array([0.0, 1.0]))
    array([[6., 5.]])
    """
    return _with_gain(BY_LENGTH.divide(x, eps)[0], gain, bias, gain_plus_one)


@derivative(BY_MEAN_SQUARE.formula, remark=ZERO_VECTOR)
def rms_x(
    grad: Array, x: Array, gain: Array | None = None, *, eps: float | None = None, gain_plus_one: bool | None = None
) -> Array:
    """The gradient of the vectors: what changes their size alone changes nothing."""
    return BY_MEAN_SQUARE.gradient(_gradient_before(grad, gain, gain_plus_one), x, eps)


@derivative(GAIN)
def rms_gain(grad: Array, x: Array, *, eps: float | None = None) -> Array:
    """The gradient of the gain: the sum over the rows."""
    return BY_MEAN_SQUARE.gradient_of_gain(grad, x, eps)


@norm(
    formula="γ u / √(mean(u²) + eps) + β",
    shapes=SHAPES,
    source="Zhang & Sennrich 2019 (RMSNorm), eq. 4",
    example={"x": [[1, 7], [0, 0]], "gives": [[0.2, 1.4], [0, 0]]},
    formula_in_force=_formula("u / √(mean(u²))", "u / √(mean(u²) + eps)"),
    derivatives={"x": rms_x, "gain": rms_gain, "bias": norm_bias},
    check=check_gain,
)
def rms(
    x: Array, *, gain: Gain = None, bias: Bias = None, eps: Small = 0.0, gain_plus_one: bool | None = None
) -> Array:
    """Each vector divided by the root of its mean square; a zero vector stays zero.

    Gain and bias are [d], or [h d] per head. With `gain_plus_one` the gain is stored as gain − 1.

    >>> rms(np.array([[1.0, 7.0], [0.0, 0.0]]))
    array([[0.2, 1.4],
           [0. , 0. ]])
    >>> rms(np.array([[1.0, 7.0]]), gain=np.array([4.0, 0.0]), gain_plus_one=True)
    array([[1. , 1.4]])
    """
    return _with_gain(BY_MEAN_SQUARE.divide(x, eps)[0], gain, bias, gain_plus_one)


@derivative(BY_DEVIATION.formula, remark=ZERO_VECTOR)
def layer_x(
    grad: Array, x: Array, gain: Array | None = None, *, eps: float | None = None, gain_plus_one: bool | None = None
) -> Array:
    """The gradient of the vectors: what changes their size alone changes nothing."""
    return BY_DEVIATION.gradient(_gradient_before(grad, gain, gain_plus_one), x, eps)


@derivative(GAIN)
def layer_gain(grad: Array, x: Array, *, eps: float | None = None) -> Array:
    """The gradient of the gain: the sum over the rows."""
    return BY_DEVIATION.gradient_of_gain(grad, x, eps)


@norm(
    formula="γ (u − mean(u)) / √(var(u) + eps) + β",
    shapes=SHAPES,
    source="Ba, Kiros & Hinton 2016 (Layer Normalization), eq. 4",
    example={"x": [[1, 3], [2, 2]], "gives": [[-1, 1], [0, 0]]},
    formula_in_force=_formula("(u − mean(u)) / √(var(u))", "(u − mean(u)) / √(var(u) + eps)"),
    derivatives={"x": layer_x, "gain": layer_gain, "bias": norm_bias},
    check=check_gain,
)
def layer(
    x: Array, *, gain: Gain = None, bias: Bias = None, eps: Small = 0.0, gain_plus_one: bool | None = None
) -> Array:
    """Each vector minus its mean, divided by its standard deviation; a vector of equal numbers becomes zero.

    The variance is the mean of the squared differences from the mean. Gain and bias are [d], or [h d] per head. With
    `gain_plus_one` the gain is stored as gain − 1.

    >>> layer(np.array([[1.0, 3.0], [2.0, 2.0]]))
    array([[-1.,  1.],
           [ 0.,  0.]])
    >>> layer(np.array([[1.0, 3.0]]), gain=np.array([2.0, 4.0]), bias=np.array([0.5, 0.0]), eps=3.0)
    array([[-0.5,  2. ]])
    """
    return _with_gain(BY_DEVIATION.divide(x, eps)[0], gain, bias, gain_plus_one)


NORM = "norm"
HEAD, ALL = "head", "all"
BEFORE_ROPE, AFTER_ROPE = "before_rope", "after_rope"

# The parameters of a use; the first choice is the default. The default here is None, so that none is shown.
OVER = Parameter("over", "word", None, words=(HEAD, ALL))
WHEN = Parameter("when", "word", None, words=(BEFORE_ROPE, AFTER_ROPE))


@dataclass(frozen=True, eq=False)
class NormUse:
    """The roles of a plan that a key's norm normalizes, with the letters of their heads and features.

    With several roles each has its own arrays, whose names begin with the role: `query_gain`.
    """

    letters: Mapping[str, Letters]
    parameters: tuple[Parameter, ...] = ()

    def name_of(self, role: str, parameter: str) -> str:
        """The key's name for an array of the norm for a role.

        >>> USES["qk_norm"].name_of("query", "gain"), USES["value_norm"].name_of("value", "gain")
        ('query_gain', 'gain')
        """
        return f"{role}_{parameter}" if len(self.letters) > 1 else parameter

    def letters_of(self, name: str) -> Letters:
        """The letters of an array's heads and features, by the key's name for it.

        >>> USES["qk_norm"].letters_of("key_gain")
        ('g', 'c')
        """
        return next(own for role, own in self.letters.items() if name.startswith(self.name_of(role, "")))

    def record(self, key: str, norm: OperatorRecord) -> OperatorRecord:
        """The record of a norm with the key's parameters."""
        arrays = tuple(
            replace(p, name=self.name_of(role, p.name), letters=tuple(own[-1] if x == "d" else x for x in p.letters))
            for p in norm.parameters
            if p.kind == "array"
            for role, own in self.letters.items()
        )
        others = tuple(p for p in norm.parameters if p.kind != "array")
        arguments = {name: letters for name, letters in norm.shapes.arrays.items() if name in norm.arguments}
        return replace(
            norm,
            kind=key,
            parameters=(*arrays, *others, *self.parameters),
            shapes=Signature(arguments | {p.name: p.letters for p in arrays}, norm.shapes.result),
            check=None if norm.check is None else self._check_of(norm, norm.check),
        )

    def _check_of(self, norm: OperatorRecord, check: Callable[[OperatorUse], None]) -> Callable[[OperatorUse], None]:
        """The norm's check of its parameters for each role."""

        def check_roles(use: OperatorUse) -> None:
            for role in self.letters:
                check(replace(use, parameters=self.parameters_of(norm, role, use.parameters)))

        return check_roles

    def parameters_of(self, norm: OperatorRecord, role: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The norm's parameters for one role, from those given to the key.

        >>> given = {"query_gain": 1, "key_gain": 2, "eps": 3, "over": "all"}
        >>> USES["qk_norm"].parameters_of(rms.record, "key", given)
        {'gain': 2, 'eps': 3}
        """
        names = {p.name: self.name_of(role, p.name) if p.kind == "array" else p.name for p in norm.parameters}
        return {name: parameters[given] for name, given in names.items() if given in parameters}


USES: Mapping[str, NormUse] = {
    "residual_norm": NormUse({"residual": ("x",)}),
    "token_norm": NormUse({"token_vectors": ("x",)}),
    "q_latent_norm": NormUse({"query_latent": ("μ",)}),
    "kv_latent_norm": NormUse({"kv_latent": ("λ",)}),
    "k_index_norm": NormUse({"index_key": ("η",)}),
    "position_norm": NormUse({"position_table": ("x",)}),
    "qk_norm": NormUse({"query": ("h", "d"), "key": ("g", "c")}, (OVER, WHEN)),
    "value_norm": NormUse({"value": ("g", "e")}, (OVER,)),
    "context_norm": NormUse({"context": ("h", "e")}, (OVER,)),
}


def is_over_all(operator: Operator) -> bool:
    """Whether the features of all heads are normalized together."""
    return operator.parameters.get(OVER.name) == ALL


def is_after_rope(operator: Operator) -> bool:
    """Whether queries and keys are normalized after rotation."""
    return operator.parameters.get(WHEN.name) == AFTER_ROPE


def arrays_by_role(key: str, operator: Operator) -> Iterator[tuple[str, str, Array]]:
    """The arrays of a key's norm: each with its role and the key's name for it.

    >>> norm = Operator(look_up("qk_norm", "rms"), {"key_gain": np.array([1.0, 2.0])})
    >>> list(arrays_by_role("qk_norm", norm))
    [('key', 'key_gain', array([1., 2.]))]
    """
    norm, use = look_up(NORM, operator.record.name), USES[key]
    for role in use.letters:
        for name in (use.name_of(role, p.name) for p in norm.parameters if p.kind == "array"):
            if name in operator.arrays:
                yield role, name, operator.arrays[name]


def array_letters(key: str, operator: Operator, name: str) -> Letters:
    """The letters of the axes of an array of a key's norm: [d] for a head, or [h·d] for all heads side by side.

    >>> norms = [Operator(look_up("qk_norm", "rms"), given) for given in ({}, {"over": "all"})]
    >>> [array_letters("qk_norm", norm, "key_gain") for norm in norms]
    [('c',), ('g·c',)]
    """
    letters = operator.record.parameter(name).letters
    return (*letters[:-1], "·".join(USES[key].letters_of(name))) if is_over_all(operator) else letters


for _key, _use in USES.items():
    add_use(_key, NORM, _use.record)
