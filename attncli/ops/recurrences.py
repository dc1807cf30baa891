"""Recurrences: every token decays, reads and writes a state, which replaces scores and weights.

`states.py` has the arithmetic, token by token and in chunks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, exp, ln, number, parameter, products
from attncli.ops.code import CodeCall
from attncli.ops.decorators import recurrence, structural
from attncli.ops.records import DerivedInput, FormulaInForce, OperatorUse, Quantity, Range, Tap, no_tap
from attncli.ops.state_code import state_code
from attncli.ops.state_gradients import derivatives_by
from attncli.ops.states import CHUNK, in_chunks, recur, recur_normalized, tokens_of

SHOWN_ROWS = 4  # rows of a state in worked lines
FeatureMap = Literal["identity", "l2", "elu+1", "relu", "softmax"]
Eps = Annotated[float, Range(above=0)]
Slopes = Literal["lightning", "retnet"]
SMALL = 1e-5  # lightning attention adds it, so that the last layer decays too


@structural(code=lambda call: state_code(call, has_decay=call.has("decay"), has_beta=call.has("beta"), is_last=True))
def present_state(
    key: Array,
    value: Array,
    decay: Array | None = None,
    beta: Array | None = None,
    past_state: Array | None = None,
    *,
    feature_map: str = "identity",
    eps: float = 1e-6,
) -> Array:
    """The state [… d e] after the last token, for the next call.

    >>> present_state(np.array([[2.0]]), np.array([[3.0]]))
    array([[6.]])
    """
    arrays = {"key": key, "value": value, "decay": decay, "beta": beta, "past_state": past_state}
    return in_chunks(tokens_of(arrays, 1.0, feature_map, eps), CHUNK)[1]


def _rows(write: ArithmeticWriter, symbol: str, terms: list[Term], after: Array) -> Iterator[str]:
    """A line for each of the first rows of a state: its term, and the row itself."""
    for at, (term, row) in enumerate(zip(terms[:SHOWN_ROWS], after, strict=False)):
        yield write.equation(term, row, name=f"{symbol}[d{at + 1}]", letter="e")


@dataclass(frozen=True)
class _Token:
    """One token's values, by the names of a recurrence's arguments, inner quantities and parameters."""

    query: Array
    key: Array
    value: Array
    states_before: Array | None = None
    states: Array | None = None
    decay: Any = None
    beta: Any = None
    scale: float | None = None
    decayed_states: Array | None = None
    read_back: Array | None = None
    corrections: Array | None = None
    mapped_query: Array | None = None
    mapped_key: Array | None = None
    key_sums: Array | None = None
    normalize: bool = False

    @classmethod
    def of(cls, cell: Mapping[str, Any]) -> "_Token":
        """The token of a cell, with queries and keys after the feature map."""
        known = {field.name for field in fields(cls)}
        token = cls(**{name: value for name, value in cell.items() if name in known})
        query = token.query if token.mapped_query is None else token.mapped_query
        return replace(token, query=query, key=token.key if token.mapped_key is None else token.mapped_key)


def recurrence_by_hand(write: ArithmeticWriter, result: Any, **cell: Any) -> list[str]:
    """One token's lines: the state decays, is read back, corrected and written, then read by the query."""
    token = _Token.of(cell)
    if token.states_before is None or token.states is None:
        return [f"more than {CHUNK} tokens are computed in chunks, which keep no states"]
    lines, state, written = list[str](), token.states_before, token.value
    if token.decayed_states is not None:
        factors = [exp(number(x)) for x in np.broadcast_to(np.asarray(token.decay, float), len(token.key))]
        terms = [factor * row for factor, row in zip(factors, state, strict=True)]
        lines += _rows(write, "kept", terms, token.decayed_states)
        state = token.decayed_states
    if token.read_back is not None and token.corrections is not None:
        lines.append(write.equation(products(token.key, state), token.read_back, name="read back", letter="e"))
        term = number(token.beta) * (number(token.value) - number(token.read_back))
        lines.append(write.equation(term, token.corrections, name="corrected", letter="e"))
        written = token.corrections
    terms = [number(row) + number(x) * number(written) for row, x in zip(state, token.key, strict=True)]
    lines += _rows(write, "written", terms, token.states)
    return [*lines, write.equation(_reading(token, token.states), result, name=f"C({write.query})", letter="e")]


def _reading(token: _Token, state: Array) -> Term:
    """A token's reading of its state: times the scale, or divided by q·Σk."""
    reading = products(token.query, state)
    if token.normalize and token.key_sums is not None:
        return reading / products(token.query, token.key_sums)
    factor = len(token.query) ** -0.5 if token.scale is None else token.scale
    return reading if factor == 1 else number(factor) * reading


_BEFORE = Quantity(
    "states_before", "Sᵖ", "the state after the token before", ("n", "d", "e"), "The state that each token finds."
)
_DECAYED = Quantity(
    "decayed_states", "Sᵈ", "Sᵈᵢ = exp(δᵢ) Sᵖᵢ", ("n", "d", "e"),
    "The share of the state that each token keeps: the rest is forgotten.",
)  # fmt: skip
_READ_BACK = "The value that the state already has for each token's key."
_CORRECTIONS = Quantity(
    "corrections", "U", "Uᵢ = βᵢ (Vᵢ − Rᵢ)", ("n", "e"),
    "The difference of the value from the value read back: this is written.",
)  # fmt: skip
_MAPPED = (
    Quantity(
        "mapped_query",
        "φ(Q)",
        "each query through φ, the feature_map",
        ("n", "d"),
        "The queries through the feature map.",
    ),
    Quantity(
        "mapped_key", "φ(K)", "each key through φ, the feature_map", ("n", "d"), "The keys through the feature map."
    ),
)
_KEY_SUMS = Quantity("key_sums", "Z", "Zᵢ = Σ kept keys", ("n", "d"), "The sum of the keys; it decays like the state.")
_SHAPES = "query[n d], key[n d], value[n e]"


def _states(formula: str) -> Quantity:
    """The state after each token."""
    return Quantity("states", "S", formula, ("n", "d", "e"), "The state after each token, which its query reads.")


def _formula_in_force(update: str) -> FormulaInForce:
    """The update of the state and the reading, for these parameters."""

    def formula(*, normalize: bool = False, **_: Any) -> str:
        return f"{update}, Cᵢ = {'Qᵢ Sᵢ / Qᵢ Zᵢ' if normalize else 'scale Qᵢ Sᵢ'}"

    return formula


LINEAR = "Sᵢ = Sᵖᵢ + Kᵢᵀ Vᵢ"
GATED = "Sᵢ = exp(δᵢ) Sᵖᵢ + Kᵢᵀ Vᵢ"
DELTA = "Sᵢ = Sᵖᵢ + Kᵢᵀ βᵢ (Vᵢ − Kᵢ Sᵖᵢ)"
GATED_DELTA = "Sᵢ = Sᵈᵢ + Kᵢᵀ βᵢ (Vᵢ − Kᵢ Sᵈᵢ), Sᵈᵢ = exp(δᵢ) Sᵖᵢ"
READS = ", Cᵢ = scale Qᵢ Sᵢ"
ONNX = "ONNX LinearAttention (opset 27)"


def _share_of_layer(layer: int, layers: int) -> float:
    """A layer's share of lightning attention's slopes: the later it is, the less."""
    return max(1 - layer / (layers - 1 + SMALL), 0) + SMALL


def published_decays_by_hand(
    write: ArithmeticWriter, result: Any, *, shape: tuple[int, int], slopes: Slopes, layer: int, layers: int
) -> list[str]:
    """The decay of one head, by its number."""
    name, result = f"decay of head {write.head}", np.ravel(result)[0]
    if slopes == "retnet":
        return [write.equation(ln(1 - number(2) ** -number(5 + write.head)), result, name=name)]
    small = parameter(SMALL)
    share = write.computed("share of the layer", 1 - number(layer) / (number(layers) - 1 + small) + small)
    slope = number(2) ** -(number(8) * (write.head + 1) / shape[0])
    return [share.line, write.equation(-(slope * share), result, name=name)]


def _decays_code(call: CodeCall) -> str:
    """The logarithms of both families, in a column."""
    heads, options = call.shape[0], call.options
    if options["slopes"] == "retnet":
        return f"np.log1p(-(2.0 ** (-5 - np.arange({heads}))))[:, None]"
    share = _share_of_layer(options["layer"], options["layers"])
    return f"-{share!r} * 2.0 ** (-8 / {heads} * np.arange(1, {heads + 1}))[:, None]"


@structural(by_hand=published_decays_by_hand, code=_decays_code)
def published_decays(*, shape: tuple[int, int], slopes: Slopes, layer: int, layers: int) -> Array:
    """The decay of each head [h 1], a logarithm: RetNet's, or lightning attention's in one of its layers.

    Source: Sun et al. 2023 (RetNet), eq. 8; lightning attention as MiniMax has it, get_slope_rate.

    >>> np.exp(published_decays(shape=(2, 1), slopes="retnet", layer=0, layers=1)).ravel().tolist()
    [0.96875, 0.984375]
    >>> published_decays(shape=(2, 1), slopes="lightning", layer=0, layers=2).round(4).ravel().tolist()
    [-0.0625, -0.0039]
    """
    heads = np.arange(shape[0])[:, None]
    decays: Array = np.log1p(-(2.0 ** (-5 - heads)))
    if slopes == "lightning":
        decays = -(2.0 ** (-8 / shape[0] * (heads + 1))) * _share_of_layer(layer, layers)
    return np.broadcast_to(decays, shape)


def _formula_of_decays(*, shape: tuple[int, int], slopes: Slopes, layer: int, layers: int) -> str:
    """The formula of the published decays; heads and layers count from 0."""
    if slopes == "retnet":
        return "δₕ = ln(1 − 2^(−5 − h))"
    return f"δₕ = −2^(−8 (h + 1) / {shape[0]}) (1 − {layer} / ({layers} − 1 + 10⁻⁵) + 10⁻⁵)"


def check_gated(use: OperatorUse) -> None:
    """Raise AttnError if a layer does not exist, or has no effect."""
    slopes, layer, layers = use.parameters.get("slopes"), use.parameters["layer"], use.parameters["layers"]
    if slopes != "lightning" and (layer, layers) != (0, 1):
        raise AttnError("layers differ only with slopes=lightning", where="layer", hint="leave out layer and layers")
    if layer >= layers:
        hint = "give layers, the model's number of layers"
        raise AttnError(
            f"layer {layer}, counted from 0, is not one of {count_of(layers, 'layer')}", where="layer", hint=hint
        )


@recurrence(
    formula=LINEAR + READS,
    shapes=f"{_SHAPES}, past_state[d e] -> [n e]",
    source=f"Katharopoulos et al. 2020, eq. 16–20; {ONNX}, linear",
    example={"query": [[1], [1]], "key": [[1], [2]], "value": [[3], [4]], "gives": [[3], [11]]},
    inner=(*_MAPPED, _BEFORE, _states(LINEAR), _KEY_SUMS),
    formula_in_force=_formula_in_force(LINEAR),
    by_hand=recurrence_by_hand,
    derivatives=derivatives_by(),
    code=lambda call: state_code(call, has_decay=False, has_beta=False),
)
def linear(
    query: Array,
    key: Array,
    value: Array,
    past_state: Array | None = None,
    scale: float | None = None,
    *,
    feature_map: FeatureMap = "identity",
    eps: Eps = 1e-6,
    normalize: bool = False,
    tap: Tap = no_tap,
) -> Array:
    """Every key and value is written to the state, and nothing is forgotten: attention without softmax.

    The scale is 1/√d unless given. With `normalize` each reading is divided by the reading of the sum of the keys.

    >>> linear(np.array([[1.0], [1.0]]), np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]))
    array([[ 3.],
           [11.]])
    """
    arrays = {"query": query, "key": key, "value": value, "past_state": past_state}
    tokens = tokens_of(arrays, scale, feature_map, eps, tap)
    return recur_normalized(tokens, tap, normalize=normalize)


@recurrence(
    formula=GATED + READS,
    shapes=f"{_SHAPES}, decay[n], past_state[d e] -> [n e]",
    source=f"Yang et al. 2024 (gated linear attention), eq. 3; RetNet, lightning attention; {ONNX}, gated",
    example={
        "query": [[1], [1]], "key": [[1], [2]], "value": [[3], [4]], "decay": [0, -0.6931471805599453],
        "gives": [[3], [9.5]],
    },
    inner=(*_MAPPED, _BEFORE, _DECAYED, _states("Sᵢ = Sᵈᵢ + Kᵢᵀ Vᵢ"), _KEY_SUMS),
    formula_in_force=_formula_in_force(GATED),
    by_hand=recurrence_by_hand,
    check=check_gated,
    derived={
        "decay": DerivedInput(
            published_decays,
            "δ",
            _formula_of_decays,
            ("h", "n"),
            ("slopes", "layer", "layers"),
            is_needed=lambda parameters: parameters.get("slopes") is not None,
            lengths=lambda parameters, lengths: {"n": 1},
            purpose="The share of the state that each head keeps at every token, as a logarithm; some forget sooner.",
        )
    },
    derivatives=derivatives_by("decay"),
    code=lambda call: state_code(call, has_decay=True, has_beta=False),
)  # fmt: skip
def gated(
    query: Array,
    key: Array,
    value: Array,
    decay: Array | None = None,
    past_state: Array | None = None,
    scale: float | None = None,
    *,
    feature_map: FeatureMap = "identity",
    eps: Eps = 1e-6,
    normalize: bool = False,
    slopes: Slopes | None = None,
    layer: Annotated[int, Range(least=0)] = 0,
    layers: Annotated[int, Range(least=1)] = 1,
    tap: Tap = no_tap,
) -> Array:
    """The state decays before each key and value is written to it.

    `decay` has logarithms, for each token [n] or each of its key features [n d]. Without it `slopes` chooses the heads'
    decays, the same at every token: retnet's, or lightning attention's in a `layer`, counted from 0, of `layers`. The
    scale is 1/√d unless given. With `normalize` each reading is divided by the reading of the sum of the keys, which
    decays too.

    >>> half = np.log([1, 0.5])
    >>> gated(np.array([[1.0], [1.0]]), np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), half)
    array([[3. ],
           [9.5]])
    """
    if decay is None and slopes is not None:
        heads = query.shape[-3] if query.ndim > 2 else 1
        decay = published_decays(shape=(heads, 1), slopes=slopes, layer=layer, layers=layers)
        decay = decay.astype(query.dtype) if query.dtype.kind == "f" else decay
    arrays = {"query": query, "key": key, "value": value, "decay": decay, "past_state": past_state}
    tokens = tokens_of(arrays, scale, feature_map, eps, tap)
    return recur_normalized(tokens, tap, normalize=normalize)


@recurrence(
    formula=DELTA + READS,
    shapes=f"{_SHAPES}, beta[n], past_state[d e] -> [n e]",
    source=f"Schlag et al. 2021, eq. 24; Yang et al. 2024 (DeltaNet); {ONNX}, delta",
    example={
        "query": [[1], [1]], "key": [[1], [1]], "value": [[3], [4]], "beta": [1, 0.5], "gives": [[3], [3.5]],
    },
    inner=(
        *_MAPPED, _BEFORE, Quantity("read_back", "R", "Rᵢ = Kᵢ Sᵖᵢ", ("n", "e"), _READ_BACK), _CORRECTIONS,
        _states("Sᵢ = Sᵖᵢ + Kᵢᵀ Uᵢ"),
    ),
    formula_in_force=_formula_in_force(DELTA),
    by_hand=recurrence_by_hand,
    derivatives=derivatives_by("beta"),
    code=lambda call: state_code(call, has_decay=False, has_beta=True),
)  # fmt: skip
def delta(
    query: Array,
    key: Array,
    value: Array,
    beta: Array,
    past_state: Array | None = None,
    scale: float | None = None,
    *,
    feature_map: FeatureMap = "identity",
    eps: Eps = 1e-6,
    tap: Tap = no_tap,
) -> Array:
    """Each token writes the fraction `beta` of the difference between its value and the state's value for its key.

    The scale is 1/√d unless given.

    >>> ones = np.ones((2, 1))
    >>> delta(ones, ones, np.array([[3.0], [4.0]]), np.array([1, 0.5]))
    array([[3. ],
           [3.5]])
    """
    arrays = {"query": query, "key": key, "value": value, "beta": beta, "past_state": past_state}
    tokens = tokens_of(arrays, scale, feature_map, eps, tap)
    return recur(tokens, tap)


@recurrence(
    formula=GATED_DELTA + READS,
    shapes=f"{_SHAPES}, decay[n], beta[n], past_state[d e] -> [n e]",
    source=f"Yang et al. 2025 (Gated DeltaNet), eq. 10; Qwen3-Next; {ONNX}, gated_delta",
    example={
        "query": [[1], [1]], "key": [[1], [1]], "value": [[4], [4]], "decay": [0, -0.6931471805599453],
        "beta": [1, 0.5], "gives": [[4], [3]],
    },
    inner=(
        *_MAPPED, _BEFORE, _DECAYED, Quantity("read_back", "R", "Rᵢ = Kᵢ Sᵈᵢ", ("n", "e"), _READ_BACK), _CORRECTIONS,
        _states("Sᵢ = Sᵈᵢ + Kᵢᵀ Uᵢ"),
    ),
    formula_in_force=_formula_in_force(GATED_DELTA),
    by_hand=recurrence_by_hand,
    derivatives=derivatives_by("decay", "beta"),
    code=lambda call: state_code(call, has_decay=True, has_beta=True),
)  # fmt: skip
def gated_delta(
    query: Array,
    key: Array,
    value: Array,
    decay: Array,
    beta: Array,
    past_state: Array | None = None,
    scale: float | None = None,
    *,
    feature_map: FeatureMap = "identity",
    eps: Eps = 1e-6,
    tap: Tap = no_tap,
) -> Array:
    """The state decays; then each token writes the fraction `beta` of its value's difference from the one read back.

    `decay` has logarithms, for each token [n] or each of its key features [n d]. The scale is 1/√d unless given.

    >>> ones = np.ones((2, 1))
    >>> gated_delta(ones, ones, 4 * ones, np.log([1, 0.5]), np.array([1, 0.5]))
    array([[4.],
           [3.]])
    """
    arrays = {"query": query, "key": key, "value": value, "decay": decay, "beta": beta, "past_state": past_state}
    tokens = tokens_of(arrays, scale, feature_map, eps, tap)
    return recur(tokens, tap)
