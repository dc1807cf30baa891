"""Whether a record agrees with its function: both are computed with other numbers."""

from collections.abc import Mapping
from typing import Any

from attncli.base.axes import Letters
from attncli.base.lazy_numpy import Array, np
from attncli.ops.recording.expression import evaluate
from attncli.ops.recording.record import Recording
from attncli.ops.records import OperatorRecord

OTHER_NUMBERS = "it gives other numbers when it is called again"
MAX_TOKENS = 6  # queries and keys in a trial

# Arguments that are whole numbers or booleans: no gradient passes through them.
COUNTED = frozenset({
    "query_positions", "key_positions", "positions", "visible", "query_rows", "key_lengths",
    "query_key_lengths", "query_sequences", "key_sequences", "key_mask", "real_key_starts", "candidates",
})  # fmt: skip


def check_follows(made: Recording, function: Any, options: Mapping[str, Any]) -> str:
    """Why a record fails for other numbers of the same shapes; empty if it holds.

    It may fail because the function branches on a number: then the reason names the line.
    """
    if made.branches:
        return f"it has other steps with other numbers: {made.branches[0]}"
    options = {name: value for name, value in options.items() if name not in made.arguments}
    for seed in range(2):
        given = {
            name: found.value if name in COUNTED else numbers_for(name, found.shape, seed)
            for name, found in made.arguments.items()
        }
        with np.errstate(all="ignore"):
            value = np.asarray(function(**copies(given), **options))
            if not np.array_equal(value, np.asarray(function(**copies(given), **options)), equal_nan=True):
                return OTHER_NUMBERS
            own = np.asarray(evaluate(made.result, copies(given)))
        if not np.allclose(own, value, rtol=1e-9, atol=1e-12, equal_nan=True):
            return "with other numbers its record and the function differ"
    return ""


def numbers_for(name: str, shape: tuple[int, ...], seed: int) -> Array:
    """Numbers for an argument: positions count up, weights are a distribution."""
    if name in COUNTED:
        return np.broadcast_to(np.arange(shape[-1]) if shape else np.zeros(()), shape).astype(np.int64)
    numbers = np.random.default_rng([seed, *map(ord, name)]).standard_normal(shape)
    if name == "weights":
        numbers = np.exp(numbers)
        numbers /= numbers.sum(axis=-1, keepdims=True)
    return numbers


def copies(given: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of arguments, which a function may overwrite."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in given.items()}


def reads_other_cells(
    operator: OperatorRecord, shapes: Mapping[str, tuple[int, ...]], options: Mapping[str, Any]
) -> bool:
    """Whether an operator's number for a query, or a pair, depends on other queries, or other keys.

    A trial with few of them tells: the first ones alone must give the same as among all. Operators that read whole
    rows, such as normalizers and contexts, may depend on other keys.
    """
    letters = ("n",) if operator.kind in ("normalize", "context") else ("n", "m")
    few = {name: few_tokens(operator, name, shape, least=MAX_TOKENS) for name, shape in shapes.items()}
    several = [{name: numbers_for(name, shape, seed) for name, shape in few.items()} for seed in range(3)]
    try:
        with np.errstate(all="ignore"):
            return any(_reads_others(operator, given, options, letter) for given in several for letter in letters)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - a user's function may raise anything with few tokens
        return True


def _reads_others(operator: OperatorRecord, given: Mapping[str, Any], options: Mapping[str, Any], letter: str) -> bool:
    """Whether the first rows of a result change if the last rows of the inputs are left out."""
    letters = operator.shapes.arrays
    whole = np.asarray(operator.function(**copies(given), **options))
    first = {name: _first_half(letters.get(name, ()), letter, x) for name, x in given.items()}
    part = np.asarray(operator.function(**copies(first), **options))
    expected = _first_half(operator.shapes.result, letter, whole)
    return part.shape != expected.shape or not np.allclose(part, expected, rtol=1e-9, atol=1e-12, equal_nan=True)


def _first_half(letters: Letters, letter: str, array: Array) -> Array:
    """An array with the axis of a letter, if any, cut in half."""
    if letter not in letters or not array.ndim:
        return array
    axis = array.ndim - len(letters) + letters.index(letter)
    return np.take(array, np.arange(array.shape[axis] // 2), axis=axis)


def few_tokens(operator: OperatorRecord, name: str, shape: tuple[int, ...], least: int = 1) -> tuple[int, ...]:
    """The shape of an array with few tokens, without leading axes for an argument of plans."""
    letters = operator.shapes.arrays.get(name, ())
    own = shape[len(shape) - len(letters) :] if name in operator.arguments else shape
    named = (*("",) * (len(own) - len(letters)), *letters)
    return tuple(
        max(least, min(size, MAX_TOKENS)) if letter in ("n", "m") else size
        for letter, size in zip(named, own, strict=True)
    )
