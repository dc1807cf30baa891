"""The state of a recurrence: token by token, and in chunks of tokens.

The state S [d e] of a head has a row for each key feature. Each token decays it, writes its key and value to it, and
reads it with its query. A delta rule first reads the state's value for the key, and writes the difference.

Token by token every state is an inner quantity. Without a tap, and for more than `CHUNK` tokens, matrix products
compute all tokens of a chunk from the state before them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from attncli.base.lazy_numpy import Array, np
from attncli.ops.records import Tap, no_tap

CHUNK = 64  # tokens per chunk


def map_features(x: Array, feature_map: str, eps: float) -> Array:
    """The vectors [… d] through a feature map; l2 adds `eps` to the squared length.

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
class Tokens:
    """A recurrence's inputs: its tokens, and the state before them; without `beta` nothing is read back."""

    query: Array  # [… n d], mapped, times the scale
    key: Array  # [… n d], mapped
    value: Array  # [… n e]
    decay: Array | None  # [… n d], or [… n 1] for all key features; logarithms
    beta: Array | None  # [… n 1]
    state: Array  # [… d e]

    def part(self, rows: slice, state: Array) -> "Tokens":
        """Some of the tokens, after a state."""
        return replace(self.map_rows(lambda x: x[..., rows, :]), state=state)

    def map_rows(self, change: Callable[[Array], Array]) -> "Tokens":
        """The tokens with each array that has a row per token replaced."""
        return Tokens(
            change(self.query),
            change(self.key),
            change(self.value),
            None if self.decay is None else change(self.decay),
            None if self.beta is None else change(self.beta),
            self.state,
        )


def tokens_of(
    arrays: Mapping[str, Array | None],
    scale: float | None,
    feature_map: str = "identity",
    eps: float = 1e-6,
    tap: Tap = no_tap,
) -> Tokens:
    """The tokens from arrays by the names that plans pass, with queries and keys mapped; integers become real numbers.

    If only a state is requested, there are no queries: keys replace them.
    """
    key, value = (x for name in ("key", "value") if (x := arrays[name]) is not None)
    query = key if (given_query := arrays.get("query")) is None else given_query
    query = tap("mapped_query", map_features(query, feature_map, eps))
    key = tap("mapped_key", map_features(key, feature_map, eps))
    decay, beta, past_state = (arrays.get(name) for name in ("decay", "beta", "past_state"))
    given = [x for x in (query, key, value, decay, beta, past_state) if x is not None]
    dtype = np.result_type(*given) if any(x.dtype.kind == "f" for x in given) else np.dtype(np.float64)
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
    return Tokens(query.astype(dtype) * factor, keys, values, decay, beta, np.broadcast_to(state, (*leading, *size)))


def step_by_step(tokens: Tokens, tap: Tap) -> tuple[Array, Array]:
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


def in_chunks(tokens: Tokens, size: int) -> tuple[Array, Array]:
    """The readings [… n e] of each token and the last state, in chunks of so many tokens."""
    count, state, found = tokens.key.shape[-2], tokens.state, []
    for first in range(0, count, size):
        read, state = _chunk(tokens.part(slice(first, min(first + size, count)), state))
        found.append(read)
    return np.concatenate(found, axis=-2), state


def _chunk(tokens: Tokens) -> tuple[Array, Array]:
    """The readings of the tokens of one chunk, and the state after them."""
    key, query, written = tokens.key, tokens.query, tokens.value
    since = np.zeros((*key.shape[:-1], 1), key.dtype) if tokens.decay is None else tokens.decay.cumsum(axis=-2)
    kept = np.exp(since)  # the share of the state before the chunk, at each token
    factors = _decays(since)
    if tokens.beta is not None:
        written = _corrections(tokens, factors, kept)
    read = _decayed_products(query, key, factors) @ written + (query * kept) @ tokens.state
    last = since[..., -1:, :]
    state = np.exp(last).mT * tokens.state + (key * np.exp(last - since)).mT @ written
    return read, state


def _corrections(tokens: Tokens, factors: Array, kept: Array) -> Array:
    """What each token of a chunk writes by a delta rule: it also reads back what earlier tokens have written."""
    assert tokens.beta is not None
    written: Array = tokens.beta * (tokens.value - (tokens.key * kept) @ tokens.state)
    between = tokens.beta * _decayed_products(tokens.key, tokens.key, factors)
    for at in range(1, written.shape[-2]):
        written[..., at, :] -= (between[..., at : at + 1, :at] @ written[..., :at, :])[..., 0, :]
    return written


def _decays(since: Array) -> Array:
    """The decay factors [… n n], or [… n n d] per feature, from one row to a later one; 0 to earlier ones."""
    is_past = np.tri(since.shape[-2], dtype=bool)
    if since.shape[-1] == 1:
        return np.exp(np.where(is_past, since - since.mT, -np.inf))
    return np.exp(np.where(is_past[..., None], since[..., :, None, :] - since[..., None, :, :], -np.inf))


def _decayed_products(left: Array, right: Array, factors: Array) -> Array:
    """The products [… n n] of rows and earlier rows, with the decay between them; 0 for later ones."""
    if factors.ndim == left.ndim:
        return np.where(np.tri(left.shape[-2], dtype=bool), left @ right.mT, 0) * factors
    total: Array = (left[..., :, None, :] * right[..., None, :, :] * factors).sum(axis=-1)
    return total


def recur(tokens: Tokens, tap: Tap) -> Array:
    """The readings of each token: in chunks if there are many tokens and no states are requested."""
    if tap is no_tap and tokens.key.shape[-2] > CHUNK:
        return in_chunks(tokens, CHUNK)[0]
    return step_by_step(tokens, tap)[0]


def recur_normalized(tokens: Tokens, tap: Tap, *, normalize: bool) -> Array:
    """The readings, divided by q·Σk if requested; a tap always gets the sums of the keys."""
    if tap is no_tap and not normalize:
        return recur(tokens, tap)

    def tap_sums(name: str, value: Array) -> Array:
        return tap("key_sums", value[..., 0]) if name == "states" else value

    readings = recur(tokens, tap)
    products = recur(with_ones(tokens), tap if tap is no_tap else tap_sums)
    return readings / products if normalize else readings


def with_ones(tokens: Tokens) -> Tokens:
    """The tokens with values of 1 [… n 1], from zeros: their state is the sum of the keys, their readings are q·Σk."""
    ones = np.ones((*tokens.value.shape[:-1], 1), tokens.value.dtype)
    return replace(tokens, value=ones, state=np.zeros((*tokens.state.shape[:-1], 1), tokens.state.dtype))


def normalized(tokens: Tokens, read: Callable[[Tokens], Array]) -> Array:
    """The tokens' readings, each divided by q·Σk."""
    return read(tokens) / read(with_ones(tokens))
