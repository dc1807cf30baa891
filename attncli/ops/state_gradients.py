"""Gradients through the states of recurrences: from the readings' gradients back, from the last token to the first.

The gradient of a state comes from its token's reading and from the next token's state. The forward pass keeps only the
states before chunks; the backward pass computes the states of a chunk again.
"""

from collections.abc import Mapping
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.code import CodeCall, NoCode
from attncli.ops.derivatives import Derivative, derivative
from attncli.ops.records import no_tap
from attncli.ops.state_code import state_gradient_code
from attncli.ops.states import CHUNK, Tokens, in_chunks, map_features, recur, tokens_of, with_ones

Gradients = dict[str, Array]  # for a recurrence's arrays, by name


def _states(tokens: Tokens, size: int) -> list[Array]:
    """The states before each chunk of so many tokens."""
    states, count = [tokens.state], tokens.key.shape[-2]
    for first in range(0, count - size, size):
        states.append(in_chunks(tokens.part(slice(first, first + size), states[-1]), size)[1])
    return states


def gradients_of_tokens(tokens: Tokens, grad: Array) -> Gradients:
    """The gradients of mapped queries and keys, values, decay, beta and the initial state."""
    found: dict[str, list[Array]] = {}
    after = np.zeros_like(tokens.state)
    states, count = _states(tokens, CHUNK), tokens.key.shape[-2]
    for at in reversed(range(len(states))):
        rows = slice(at * CHUNK, min((at + 1) * CHUNK, count))
        part = tokens.part(rows, states[at])
        before = [part.state]
        for row in range(part.key.shape[-2] - 1):
            before.append(in_chunks(part.part(slice(row, row + 1), before[-1]), 1)[1])
        for row in reversed(range(part.key.shape[-2])):
            token = part.part(slice(row, row + 1), before[row])
            own, after = _token_gradients(token, grad[..., rows, :][..., row : row + 1, :], after)
            for name, value in own.items():
                found.setdefault(name, []).append(value)
    stacked = {name: np.concatenate(values[::-1], axis=-2) for name, values in found.items()}
    return {**stacked, "past_state": after}


def _token_gradients(token: Tokens, grad: Array, after: Array) -> tuple[Gradients, Array]:
    """The gradients of one token's arrays, and of the state before it; `after` is the state's from later tokens."""
    factor = None if token.decay is None else np.exp(token.decay).mT
    kept = token.state if factor is None else factor * token.state
    difference = token.value if token.beta is None else token.value - token.key @ kept
    written = difference if token.beta is None else token.beta * difference
    of_state = after + token.query.mT @ grad
    of_written = token.key @ of_state
    own = {"query": grad @ (kept + token.key.mT @ written).mT, "key": written @ of_state.mT, "value": of_written}
    of_kept = of_state
    if token.beta is not None:
        own["value"] = token.beta * of_written
        own["beta"] = (of_written * difference).sum(axis=-1, keepdims=True)
        own["key"] = own["key"] - own["value"] @ kept.mT
        of_kept = of_state - token.key.mT @ own["value"]
    if factor is None:
        return own, of_kept
    of_features = (of_kept * kept).sum(axis=-1)[..., None, :]
    assert token.decay is not None
    own["decay"] = of_features if token.decay.shape[-1] > 1 else of_features.sum(axis=-1, keepdims=True)
    return own, factor * of_kept


def map_gradient(grad: Array, x: Array, feature_map: str, eps: float) -> Array:
    """The gradient of vectors from their features' gradient; 0 at a kink of relu."""
    mapped = map_features(x, feature_map, eps)
    found: Array = grad
    match feature_map:
        case "l2":
            length = np.sqrt((x * x).sum(axis=-1, keepdims=True) + x.dtype.type(eps))
            found = (grad - mapped * (mapped * grad).sum(axis=-1, keepdims=True)) / length
        case "elu+1":
            found = grad * np.minimum(mapped, 1)
        case "relu":
            found = grad * (x > 0)
        case "softmax":
            found = mapped * (grad - (mapped * grad).sum(axis=-1, keepdims=True))
    return found


def recurrence_gradients(
    grad: Array,
    arrays: Mapping[str, Array | None],
    scale: float | None,
    feature_map: str,
    eps: float,
    *,
    normalize: bool,
) -> Gradients:
    """The gradients of all arrays of a recurrence, with the result's axes before their own."""
    tokens = tokens_of(arrays, scale, feature_map, eps)
    if normalize:
        sums = recur(with_ones(tokens), no_tap)
        of_sums = -(grad * recur(tokens, no_tap)).sum(axis=-1, keepdims=True) / sums**2
        found, more = gradients_of_tokens(tokens, grad / sums), gradients_of_tokens(with_ones(tokens), of_sums)
        found |= {name: found[name] + more[name] for name in ("query", "key", "decay") if name in found}
    else:
        found = gradients_of_tokens(tokens, grad)
    ones = tokens_of({**arrays, "query": np.ones_like(np.asarray(arrays["query"]))}, scale).query
    found["query"] = found["query"] * ones  # the scale
    for name in ("query", "key"):
        x = np.asarray(arrays[name])
        found[name] = map_gradient(found[name], x.astype(found[name].dtype), feature_map, eps)
    for name in ("decay", "beta"):
        array = arrays.get(name)
        if array is not None:
            found[name] = _like_given(found[name], np.asarray(array), tokens.value.ndim)
    return found


def _like_given(found: Array, array: Array, dimensions: int) -> Array:
    """The gradient of decay or beta [… n 1] or [… n d], on the array's axes, summed over tokens that share it."""
    of_features = array.ndim == dimensions
    if array.shape[-2 if of_features else -1] == 1:
        found = found.sum(axis=-2, keepdims=True)
    return found if of_features else found[..., 0]


def _by_hand(write: ArithmeticWriter, result: Any, **_: Any) -> list[str]:
    """The origin of the gradient, and its value; the initial state belongs to no single token."""
    if np.ndim(result) > 1:
        return ["gradients come back from the readings of all tokens, through their states"]
    return [f"from the reading of {write.query}, and from later tokens, through their states: {write(result)}"]


STATE_GRADIENT = "dSᵢ = {query}ᵢᵀ {d_result}ᵢ, times the scale, and what the next token gives back of its state"


def _derivative_by(name: str, formula: str) -> Derivative:
    """The derivative of a recurrence by one of its arrays, as the function `by_NAME` of this module."""

    def by(
        grad: Array,
        query: Array,
        key: Array,
        value: Array,
        decay: Array | None = None,
        beta: Array | None = None,
        past_state: Array | None = None,
        scale: float | None = None,
        *,
        feature_map: str = "identity",
        eps: float = 1e-6,
        normalize: bool = False,
    ) -> Array:
        given = {"query": query, "key": key, "value": value, "decay": decay, "beta": beta, "past_state": past_state}
        options: Any = {"scale": scale, "feature_map": feature_map, "eps": eps, "normalize": normalize}
        return recurrence_gradients(grad, given, **options)[name]

    def code(call: CodeCall) -> str | NoCode:
        return state_gradient_code(call, name)

    by.__name__ = by.__qualname__ = f"by_{name}"  # plans pickle functions by name
    by.__doc__ = f"The gradient of {name} of a recurrence."
    return derivative(formula, sums_over=("n", "m"), by_hand=_by_hand, code=code)(by)


by_query = _derivative_by("query", "{d_query}ᵢ = {d_result}ᵢ Sᵢᵀ, times the scale, back through φ")
by_key = _derivative_by("key", f"{{d_key}}ᵢ: what it writes along dSᵢ, and what it reads back; {STATE_GRADIENT}")
by_value = _derivative_by("value", f"{{d_value}}ᵢ = βᵢ {{key}}ᵢ dSᵢ, β 1 without a delta rule; {STATE_GRADIENT}")
by_decay = _derivative_by("decay", f"{{d_decay}}ᵢ = the sum of dSᵈᵢ ∘ Sᵈᵢ; {STATE_GRADIENT}")
by_beta = _derivative_by("beta", f"{{d_beta}}ᵢ = {{key}}ᵢ dSᵢ (Vᵢ − Rᵢ)ᵀ; {STATE_GRADIENT}")
by_past_state = _derivative_by(
    "past_state", f"{{d_past_state}} = what the first token gives back of its state; {STATE_GRADIENT}"
)
_DERIVATIVES: Mapping[str, Derivative] = {
    "query": by_query, "key": by_key, "value": by_value,
    "decay": by_decay, "beta": by_beta, "past_state": by_past_state,
}  # fmt: skip


def derivatives_by(*names: str) -> Mapping[str, Derivative]:
    """The derivatives of a recurrence by its queries, keys, values, the initial state, and these arrays."""
    return {name: _DERIVATIVES[name] for name in ("query", "key", "value", *names, "past_state")}
