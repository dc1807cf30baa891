"""Whether a record follows its numbers as the function does: both are computed with others."""

from collections.abc import Mapping
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.ops.recording.expression import evaluate
from attncli.ops.recording.record import Recording

# Arguments that are whole numbers or truths, of which a gradient does not pass on.
COUNTED = frozenset({
    "query_positions", "key_positions", "positions", "visible", "query_rows", "key_lengths",
    "query_key_lengths", "query_sequences", "key_sequences", "key_mask", "real_key_starts", "candidates",
})  # fmt: skip


def check_follows(made: Recording, function: Any, options: Mapping[str, Any]) -> str:
    """Why a record does not hold for other numbers of the same shapes; nothing where it does.

    It may hold for these alone where the function asks for the truth of some: then the line is named.
    """
    if made.branches:
        return f"it has other steps with other numbers: {made.branches[0]}"
    for seed in range(2):
        given = {
            name: found.value if name in COUNTED else numbers_for(name, found.shape, seed)
            for name, found in made.arguments.items()
        }
        with np.errstate(all="ignore"):
            value = np.asarray(function(**copies(given), **options))
            own = np.asarray(evaluate(made.result, copies(given)))
        if not np.allclose(own, value, rtol=1e-9, atol=1e-12, equal_nan=True):
            return "with other numbers its record has another result than the function"
    return ""


def numbers_for(name: str, shape: tuple[int, ...], seed: int) -> Array:
    """Numbers for an argument: positions are counted, weights are a distribution."""
    if name in COUNTED:
        return np.broadcast_to(np.arange(shape[-1]) if shape else np.zeros(()), shape).astype(np.int64)
    numbers = np.random.default_rng([seed, *map(ord, name)]).standard_normal(shape)
    if name == "weights":
        numbers = np.exp(numbers)
        numbers /= numbers.sum(axis=-1, keepdims=True)
    return numbers


def copies(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a function may write into."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in given.items()}
