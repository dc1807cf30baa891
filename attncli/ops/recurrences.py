"""Recurrences: a state that every token decays, reads and writes, in place of scores and weights.

`states.py` has the arithmetic, token by token and in chunks.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, exp, number, products
from attncli.ops.decorators import recurrence, structural
from attncli.ops.records import FormulaInForce, Quantity, Range, Tap, no_tap
from attncli.ops.state_gradients import derivatives_by
from attncli.ops.states import CHUNK, in_chunks, recur, recur_normalized, tokens_of

SHOWN_ROWS = 4  # of a state, in worked lines
FeatureMap = Literal["identity", "l2", "elu+1", "relu", "softmax"]
Eps = Annotated[float, Range(above=0)]


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
    arrays = {"query": query, "key": key, "value": value, "decay": decay, "beta": beta, "past_state": past_state}
    return in_chunks(tokens_of(arrays, 1.0, feature_map, eps), CHUNK)[1]


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
    derivatives=derivatives_by(),
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
    derivatives=derivatives_by("decay"),
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
    arrays = {"query": query, "key": key, "value": value, "decay": decay, "beta": beta, "past_state": past_state}
    tokens = tokens_of(arrays, scale, feature_map, eps, tap)
    return recur(tokens, tap)
