"""Recurrences: a state that every token decays, reads and writes, in place of scores and weights.

The state S [d e] of a head has a row for each key feature. Each token decays it, writes its key and value to it, and
reads it with its query. A delta rule first reads back what the state has for the key, and writes the difference.

Token by token every state is an inner quantity. Without a tap, and for more tokens than `CHUNK`, the tokens of a chunk
are computed together, as products of matrices, from the state before them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, exp, number, products
from attncli.ops.decorators import recurrence, structural
from attncli.ops.derivatives import NoDerivative
from attncli.ops.records import FormulaInForce, Quantity, Range, Tap, no_tap

CHUNK = 64  # tokens that are computed together
SHOWN_ROWS = 4  # of a state, in worked lines
FeatureMap = Literal["identity", "l2", "elu+1", "relu", "softmax"]
Eps = Annotated[float, Range(above=0)]
NOT_DIFFERENTIATED = NoDerivative("gradients through its states are not computed")


def map_features(x: Array, feature_map: str, eps: float) -> Array:
    """The vectors [… d] through a feature map; `eps` is added to the squared length by l2.

    >>> map_features(np.array([[3.0, 4.0]]), "l2", 1e-6).round(4), map_features(np.array([[0.0, -1.0]]), "relu", 1.0)
    (array([[0.6, 0.8]]), array([[0., 0.]]))
    """
    mapped: Array = x
    match feature_map:
        case "l2":
            mapped = x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + x.dtype.type(eps))
        case "elu+1":
            mapped = np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
        case "relu":
            mapped = np.maximum(x, 0)
        case "softmax":
            exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
            mapped = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return mapped


@dataclass(frozen=True)
class _Tokens:
    """What a recurrence reads of its tokens, and the state before them; without an update rate nothing is read back."""

    query: Array  # [… n d], mapped, times the scale
    key: Array  # [… n d], mapped
    value: Array  # [… n e]
    decay: Array | None  # [… n d], or [… n 1] of all key features together; logarithms
    beta: Array | None  # [… n 1]
    state: Array  # [… d e]

    def part(self, rows: slice, state: Array) -> "_Tokens":
        """Some of the tokens, after a state."""

        def of(x: Array | None) -> Any:
            return None if x is None else x[..., rows, :]

        return replace(
            self, query=of(self.query), key=of(self.key), value=of(self.value), decay=of(self.decay),
            beta=of(self.beta), state=state,
        )  # fmt: skip


def tokens_of(
    query: Array,
    key: Array,
    value: Array,
    decay: Array | None,
    beta: Array | None,
    past_state: Array | None,
    scale: float | None,
) -> _Tokens:
    """The tokens of arrays that plans pass, of mapped queries and keys; integers become floating-point numbers."""
    arrays = [x for x in (query, key, value, decay, beta, past_state) if x is not None]
    dtype = np.result_type(*arrays) if any(x.dtype.kind == "f" for x in arrays) else np.dtype(np.float64)
    leading = np.broadcast_shapes(*(x.shape[:-2] for x in (query, key, value)))
    size, count = (query.shape[-1], value.shape[-1]), query.shape[-2]
    factor = 1 / np.sqrt(dtype.type(size[0])) if scale is None else dtype.type(scale)
    state = np.zeros((*leading, *size), dtype) if past_state is None else past_state.astype(dtype)
    if decay is not None:
        decay = decay.astype(dtype)
        is_of_features = decay.ndim == len(leading) + 2
        decay = np.broadcast_to(
            decay if is_of_features else decay[..., None], (*leading, count, size[0] if is_of_features else 1)
        )
    if beta is not None:
        beta = np.broadcast_to(beta.astype(dtype)[..., None], (*leading, count, 1))
    keys = np.broadcast_to(key.astype(dtype), (*leading, count, size[0]))
    values = np.broadcast_to(value.astype(dtype), (*leading, count, size[1]))
    return _Tokens(query.astype(dtype) * factor, keys, values, decay, beta, np.broadcast_to(state, (*leading, *size)))


def _step_by_step(tokens: _Tokens, tap: Tap) -> tuple[Array, Array]:
    """The readings [… n e] of each token and the last state; inner quantities pass the tap."""
    state = tokens.state
    kept: dict[str, list[Array]] = {}
    for at in range(tokens.key.shape[-2]):
        kept.setdefault("states_before", []).append(state)
        if tokens.decay is not None:
            state = np.exp(tokens.decay[..., at, :, None]) * state
            kept.setdefault("decayed_states", []).append(state)
        key, written = tokens.key[..., at, :], tokens.value[..., at, :]
        if tokens.beta is not None:
            read_back = (key[..., None, :] @ state)[..., 0, :]
            written = tokens.beta[..., at, :] * (written - read_back)
            kept.setdefault("read_back", []).append(read_back)
            kept.setdefault("corrections", []).append(written)
        state = state + key[..., :, None] * written[..., None, :]
        kept.setdefault("states", []).append(state)
    stacked = {name: np.stack(values, axis=-3 if "states" in name else -2) for name, values in kept.items()}
    for name, values in stacked.items():
        tap(name, values)
    return (tokens.query[..., None, :] @ stacked["states"])[..., 0, :], state


def in_chunks(tokens: _Tokens, size: int) -> tuple[Array, Array]:
    """The readings [… n e] of each token and the last state, from one state to the next for so many tokens at once."""
    count, state, found = tokens.key.shape[-2], tokens.state, []
    for first in range(0, count, size):
        read, state = _chunk(tokens.part(slice(first, min(first + size, count)), state))
        found.append(read)
    return np.concatenate(found, axis=-2), state


def _chunk(tokens: _Tokens) -> tuple[Array, Array]:
    """The readings of the tokens of one chunk, and the state after them."""
    key, query, written = tokens.key, tokens.query, tokens.value
    since = np.zeros((*key.shape[:-1], 1), key.dtype) if tokens.decay is None else tokens.decay.cumsum(axis=-2)
    kept = np.exp(since)  # of the state before the chunk, at each token
    if tokens.beta is not None:
        written = _corrections(tokens, since, kept)
    read = _decayed_products(query, key, since) @ written + (query * kept) @ tokens.state
    last = since[..., -1:, :]
    state = np.exp(last).mT * tokens.state + (key * np.exp(last - since)).mT @ written
    return read, state


def _corrections(tokens: _Tokens, since: Array, kept: Array) -> Array:
    """What each token of a chunk writes by a delta rule: it reads back what those before it have written too."""
    assert tokens.beta is not None
    written: Array = tokens.beta * (tokens.value - (tokens.key * kept) @ tokens.state)
    between = tokens.beta * _decayed_products(tokens.key, tokens.key, since)
    for at in range(1, written.shape[-2]):
        written[..., at, :] -= (between[..., at : at + 1, :at] @ written[..., :at, :])[..., 0, :]
    return written


def _decayed_products(left: Array, right: Array, since: Array) -> Array:
    """The products [… n n] of rows and earlier ones, decayed from one to the other; 0 for later ones."""
    is_past = np.tri(left.shape[-2], dtype=bool)
    if since.shape[-1] == 1:
        factors = np.exp(np.where(is_past, since - since.mT, -np.inf))
        products_of_rows: Array = np.where(is_past, left @ right.mT, 0) * factors
        return products_of_rows
    differences = since[..., :, None, :] - since[..., None, :, :]
    factors = np.exp(np.where(is_past[..., None], differences, -np.inf))
    total: Array = (left[..., :, None, :] * right[..., None, :, :] * factors).sum(axis=-1)
    return total


def _recur(tokens: _Tokens, tap: Tap) -> Array:
    """The readings of each token: in chunks where there are many tokens and nobody asks for the states."""
    if tap is no_tap and tokens.key.shape[-2] > CHUNK:
        return in_chunks(tokens, CHUNK)[0]
    return _step_by_step(tokens, tap)[0]


def _recur_normalized(tokens: _Tokens, tap: Tap, *, normalize: bool) -> Array:
    """The readings, each over that of a state whose values are all 1, which is q·Σk, where that is asked for."""
    readings = _recur(tokens, tap)
    if tap is no_tap and not normalize:
        return readings
    ones = np.ones((*tokens.value.shape[:-1], 1), tokens.value.dtype)
    nothing = np.zeros((*tokens.state.shape[:-1], 1), tokens.state.dtype)

    def tap_sums(name: str, value: Array) -> Array:
        return tap("key_sums", value[..., 0]) if name == "states" else value

    own_tap = tap if tap is no_tap else tap_sums
    key_sums = _recur(replace(tokens, value=ones, state=nothing), own_tap)
    return readings / key_sums if normalize else readings


def _mapped(query: Array, key: Array, feature_map: str, eps: float, tap: Tap) -> tuple[Array, Array]:
    """The queries and keys through the feature map."""
    return (
        tap("mapped_query", map_features(query, feature_map, eps)),
        tap("mapped_key", map_features(key, feature_map, eps)),
    )


@structural()
def present_state(
    query: Array,
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

    >>> present_state(np.ones((1, 1)), np.array([[2.0]]), np.array([[3.0]]))
    array([[6.]])
    """
    mapped = map_features(key, feature_map, eps)
    return in_chunks(tokens_of(query, mapped, value, decay, beta, past_state, 1.0), CHUNK)[1]


def _rows(write: ArithmeticWriter, symbol: str, terms: list[Term], after: Array) -> Iterator[str]:
    """A line for each of the first rows of a state: the term that it is, and the row itself."""
    for at, (term, row) in enumerate(zip(terms[:SHOWN_ROWS], after, strict=False)):
        yield write.equation(term, row, name=f"{symbol}[d{at + 1}]", letter="e")


def recurrence_by_hand(
    write: ArithmeticWriter,
    query: Array,
    key: Array,
    value: Array,
    result: Any,
    *,
    states_before: Array | None = None,
    states: Array | None = None,
    decay: Any = None,
    beta: Any = None,
    scale: float | None = None,
    decayed_states: Array | None = None,
    read_back: Array | None = None,
    corrections: Array | None = None,
    mapped_query: Array | None = None,
    mapped_key: Array | None = None,
    key_sums: Array | None = None,
    normalize: bool = False,
    **_: Any,
) -> list[str]:
    """One token: what of the state is forgotten, read back, corrected and written, and what its query reads."""
    if states_before is None or states is None:
        return [f"of more than {CHUNK} tokens, which are computed in chunks, no states are kept"]
    query, key = (query if mapped_query is None else mapped_query), (key if mapped_key is None else mapped_key)
    lines, state, written = list[str](), states_before, value
    if decayed_states is not None:
        factors = [exp(number(x)) for x in np.broadcast_to(np.asarray(decay, float), len(key))]
        terms = [factor * row for factor, row in zip(factors, state, strict=True)]
        lines += _rows(write, "kept", terms, decayed_states)
        state = decayed_states
    if read_back is not None and corrections is not None:
        lines.append(write.equation(products(key, state), read_back, name="read back", letter="e"))
        term = number(beta) * (number(value) - number(read_back))
        lines.append(write.equation(term, corrections, name="corrected", letter="e"))
        written = corrections
    terms = [number(row) + number(x) * number(written) for row, x in zip(state, key, strict=True)]
    lines += _rows(write, "written", terms, states)
    name, factor = f"C({write.query})", len(query) ** -0.5 if scale is None else scale
    reading = products(query, states)
    if normalize and key_sums is not None:
        return [*lines, write.equation(reading / products(query, key_sums), result, name=name, letter="e")]
    return [*lines, write.equation(reading if factor == 1 else number(factor) * reading, result, name=name, letter="e")]


_BEFORE = Quantity(
    "states_before", "Sᵖ", "the state after the token before", ("n", "d", "e"), "The state that each token finds."
)
_DECAYED = Quantity(
    "decayed_states", "Sᵈ", "Sᵈᵢ = exp(δᵢ) Sᵖᵢ", ("n", "d", "e"),
    "What each token keeps of the state: the rest is forgotten.",
)  # fmt: skip
_READ_BACK = "What the state has for the key of each token already."
_CORRECTIONS = Quantity(
    "corrections", "U", "Uᵢ = βᵢ (Vᵢ − Rᵢ)", ("n", "e"),
    "How far the value differs from what was read back: what is written.",
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
_KEY_SUMS = Quantity("key_sums", "Z", "Zᵢ = Σ kept keys", ("n", "d"), "The sum of the keys, decayed as the state is.")
_SHAPES = "query[n d], key[n d], value[n e]"


def _states(formula: str) -> Quantity:
    """The states after each token."""
    return Quantity("states", "S", formula, ("n", "d", "e"), "The state after each token, which its query reads.")


def _not_differentiated(*names: str) -> Mapping[str, NoDerivative]:
    """That there is no derivative by these arguments."""
    return dict.fromkeys(("query", "key", "value", *names, "past_state"), NOT_DIFFERENTIATED)


def _formula_in_force(update: str) -> FormulaInForce:
    """The update of the state and the reading, with the parameters in force."""

    def formula(*, normalize: bool = False, **_: Any) -> str:
        return f"{update}, Cᵢ = {'Qᵢ Sᵢ / Qᵢ Zᵢ' if normalize else 'scale Qᵢ Sᵢ'}"

    return formula


LINEAR = "Sᵢ = Sᵖᵢ + Kᵢᵀ Vᵢ"
GATED = "Sᵢ = exp(δᵢ) Sᵖᵢ + Kᵢᵀ Vᵢ"
DELTA = "Sᵢ = Sᵖᵢ + Kᵢᵀ βᵢ (Vᵢ − Kᵢ Sᵖᵢ)"
GATED_DELTA = "Sᵢ = Sᵈᵢ + Kᵢᵀ βᵢ (Vᵢ − Kᵢ Sᵈᵢ), Sᵈᵢ = exp(δᵢ) Sᵖᵢ"
READS = ", Cᵢ = scale Qᵢ Sᵢ"
ONNX = "ONNX LinearAttention (opset 27)"


@recurrence(
    formula=LINEAR + READS,
    shapes=f"{_SHAPES}, past_state[d e] -> [n e]",
    source=f"Katharopoulos et al. 2020, eq. 16–20; {ONNX}, linear",
    example={"query": [[1], [1]], "key": [[1], [2]], "value": [[3], [4]], "gives": [[3], [11]]},
    inner=(*_MAPPED, _BEFORE, _states(LINEAR), _KEY_SUMS),
    formula_in_force=_formula_in_force(LINEAR),
    by_hand=recurrence_by_hand,
    derivatives=_not_differentiated(),
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

    The scale is 1/√d unless it is given. With `normalize` each reading is divided by that of the sum of the keys.

    >>> linear(np.array([[1.0], [1.0]]), np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]))
    array([[ 3.],
           [11.]])
    """
    query, key = _mapped(query, key, feature_map, eps, tap)
    tokens = tokens_of(query, key, value, None, None, past_state, scale)
    return _recur_normalized(tokens, tap, normalize=normalize)


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
    derivatives=_not_differentiated("decay"),
)  # fmt: skip
def gated(
    query: Array,
    key: Array,
    value: Array,
    decay: Array,
    past_state: Array | None = None,
    scale: float | None = None,
    *,
    feature_map: FeatureMap = "identity",
    eps: Eps = 1e-6,
    normalize: bool = False,
    tap: Tap = no_tap,
) -> Array:
    """The state decays before each key and value is written to it.

    `decay` has logarithms, of each token [n] or of each of its key features [n d]. The scale is 1/√d unless it is
    given. With `normalize` each reading is divided by that of the sum of the keys, which decays too.

    >>> half = np.log([1, 0.5])
    >>> gated(np.array([[1.0], [1.0]]), np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), half)
    array([[3. ],
           [9.5]])
    """
    query, key = _mapped(query, key, feature_map, eps, tap)
    tokens = tokens_of(query, key, value, decay, None, past_state, scale)
    return _recur_normalized(tokens, tap, normalize=normalize)


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
    derivatives=_not_differentiated("beta"),
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
    """Each token writes the part `beta` of the difference of its value and what the state has for its key.

    The scale is 1/√d unless it is given.

    >>> ones = np.ones((2, 1))
    >>> delta(ones, ones, np.array([[3.0], [4.0]]), np.array([1, 0.5]))
    array([[3. ],
           [3.5]])
    """
    query, key = _mapped(query, key, feature_map, eps, tap)
    return _recur(tokens_of(query, key, value, None, beta, past_state, scale), tap)


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
    derivatives=_not_differentiated("decay", "beta"),
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
    """The state decays; then each token writes the part `beta` of how far its value is from what is read back.

    `decay` has logarithms, of each token [n] or of each of its key features [n d]. The scale is 1/√d unless it is
    given.

    >>> ones = np.ones((2, 1))
    >>> gated_delta(ones, ones, 4 * ones, np.log([1, 0.5]), np.array([1, 0.5]))
    array([[4.],
           [3.]])
    """
    query, key = _mapped(query, key, feature_map, eps, tap)
    return _recur(tokens_of(query, key, value, decay, beta, past_state, scale), tap)
