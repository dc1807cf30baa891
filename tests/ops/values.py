"""Values for every operator from its record alone: arguments, and parameters off their defaults."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from attncli.base.axes import Letters
from attncli.base.errors import AttnError
from attncli.ops import kinds, operators
from attncli.ops.records import Operator, OperatorRecord, OperatorUse, Parameter

RECORDS = [record for kind in kinds() for record in operators(kind).values()]
WITH_ARRAYS = [record for record in RECORDS if record.kind != "generator"]

# The length of each axis: primes, but for the features d of a head, which rotations take in pairs, and x of a table,
# which are those of a head where nothing projects it.
LENGTHS: Mapping[str, int] = {
    "b": 2, "h": 3, "n": 5, "m": 7, "d": 4, "c": 11, "e": 13, "a": 17, "f": 1, "r": 19, "s": 31, "t": 23, "x": 4,
    "w": 3, "u": 29, "μ": 37, "λ": 41, "η": 43,
}  # fmt: skip


def length(letter: str) -> int:
    """The length of an axis; `e+d` is the sum of two."""
    return sum(LENGTHS[part] for part in letter.split("+"))


def random_numbers(letters: Letters, seed: int = 0) -> np.ndarray:
    """Normally distributed numbers, other ones for other letters."""
    return np.random.default_rng([seed, *map(ord, "".join(letters))]).standard_normal([length(x) for x in letters])


def random_weights(letters: Letters, seed: int = 0) -> np.ndarray:
    """Rows of probabilities, with a weight of 0 in every row."""
    weights = np.exp(random_numbers(letters, seed))
    weights[..., 2] = 0
    return weights / weights.sum(axis=-1, keepdims=True)


# The arguments that a plan passes to operators besides their parameters, by name.
ARGUMENTS: Mapping[str, Callable[[Letters, int], Any]] = {
    "query": random_numbers,
    "key": random_numbers,
    "value": random_numbers,
    "decay": random_numbers,
    "beta": random_numbers,
    "past_state": random_numbers,
    "scale": lambda letters, seed: 0.5,
    "x": random_numbers,
    "scores": random_numbers,
    "weights": random_weights,
    "visible": lambda letters, seed: random_weights(letters, seed) != 0,
    "table": lambda letters, seed: np.where(random_numbers(letters, seed) > -0.5, 1.0, -np.inf),
    "positions": lambda letters, seed: np.arange(length("n")) + seed % 3,
    "query_rows": lambda letters, seed: np.arange(length("n")),
    "query_positions": lambda letters, seed: np.sort(np.random.default_rng(seed).integers(-2, 9, length("n"))),
    "key_positions": lambda letters, seed: np.arange(length("m")),
    "key_lengths": lambda letters, seed: np.random.default_rng(seed).integers(0, 8, length("b")),
    "query_key_lengths": lambda letters, seed: np.random.default_rng(seed).integers(0, 8, (length("b"), length("n"))),
    "key_mask": lambda letters, seed: random_numbers(letters, seed) > -0.5,
    "query_sequences": lambda letters, seed: np.sort(np.random.default_rng(seed).integers(0, 4, length("n"))),
    "key_sequences": lambda letters, seed: np.sort(np.random.default_rng(seed + 1).integers(0, 4, length("m"))),
    "index_scores": random_numbers,
    "candidates": lambda letters, seed: random_numbers(letters, seed + 7) > -0.5,
    "real_key_starts": lambda letters, seed: np.random.default_rng(seed).integers(0, 3, length("b")),
    "features": lambda letters, seed: length("x"),
    "heads": lambda letters, seed: length("h"),
    "stream": lambda letters, seed: np.random.default_rng(seed),
    "shape": lambda letters, seed: (length("n"), length("m")),
}


def arguments(record: OperatorRecord, seed: int = 0) -> dict[str, Any]:
    """The arguments that a plan passes to the operator, without its parameters and derived arrays."""
    code = record.function.__code__
    names = code.co_varnames[: code.co_argcount]
    known = [name for name in names if name not in record.derived]
    letters = record.shapes.arrays
    return {name: ARGUMENTS[name](letters.get(name, ()), seed) for name in known}


def with_derived(record: OperatorRecord, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as a plan has them, with the derived arrays that are not given."""
    missing = {name: rule for name, rule in record.derived.items() if name not in given and rule.is_needed(given)}
    axes = {name: letters for name, letters in record.shapes.arrays.items() if np.ndim(given.get(name))}
    lengths = {x: size for name in axes for x, size in zip(axes[name], np.shape(given[name]), strict=True)}
    made = {}
    for name, rule in missing.items():
        own, sizes = axes_of_derived(record, name), {"h": 1, **lengths, **rule.lengths(given, lengths)}
        shape = tuple(sizes[letter] for letter in rule.axes if letter != "…")
        array = rule.function(shape=shape, **{option: given[option] for option in rule.parameters})
        made[name] = array if len(own) == array.ndim else np.broadcast_to(array[0], [lengths[x] for x in own])
    return {**given, **made}


def axes_of_derived(record: OperatorRecord, name: str) -> Letters:
    """The axes of a derived array as the operator's shapes have them, which may be those of one head."""
    derived = tuple(letter for letter in record.derived[name].axes if letter != "…")
    return record.shapes.arrays.get(name, derived)


def off_default(parameter: Parameter, seed: int = 0) -> Any:
    """A value of a parameter in its range, and not its default."""
    if parameter.is_counts:
        return np.random.default_rng(seed + 3).integers(0, 4, [length(x) for x in parameter.letters])
    if parameter.kind == "array":
        return random_numbers(parameter.letters, seed)
    if parameter.kind == "boolean":
        return not parameter.default
    if parameter.kind == "word":
        return next(word for word in parameter.words if word != parameter.default)
    return numbers_in_range(parameter)[0]


def numbers_in_range(parameter: Parameter) -> list[float]:
    """Numbers in the range of a parameter, near its default and near the lower end, without the default."""
    low = max(parameter.range.least or 0, parameter.range.above or 0)
    start = low if parameter.required or parameter.default is None else parameter.default
    steps = (2, 4, 8) if parameter.kind == "integer" else (0.75, 2.5, 6.5)
    found = [start, *(start + step for step in steps), *(low + step for step in steps)]
    return [number for number in found if number != parameter.default and parameter.range.holds(number)]


def parameters_off_default(record: OperatorRecord, seed: int = 0) -> dict[str, Any]:
    """Every parameter of the operator, none of them at its default."""
    return {parameter.name: off_default(parameter, seed) for parameter in record.parameters}


def off_default_operator(record: OperatorRecord, seed: int = 0) -> Operator:
    """The operator with every parameter off its default."""
    return Operator(record, parameters_off_default(record, seed))


def required(record: OperatorRecord) -> dict[str, Any]:
    """The parameters that have no default."""
    return {parameter.name: off_default(parameter) for parameter in record.parameters if parameter.required}


def uses(record: OperatorRecord, *, left_out: bool = True) -> Iterator[dict[str, Any]]:
    """Parameters with which an operator may be used, as a plan has them: with defaults that are something.

    They are those that are required, all of them off their defaults, the arrays alone, each of the others alone, and
    all but it, if any are to be `left_out`. What a recurrence derives is given too.
    """
    own, least, derived = parameters_off_default(record), required(record), dict[str, Any]()
    defaults = {name: value for name, value in record.defaults.items() if value is not None}
    if record.kind == "recurrence":
        derived = {name: random_numbers(axes_of_derived(record, name)) for name in record.derived}
    arrays = {name: value for name, value in own.items() if np.ndim(value)}
    found = [least, own, {**least, **arrays}]
    for parameter in record.parameters:
        if parameter.name not in arrays and not parameter.required:
            found.append({**least, parameter.name: own[parameter.name]})
            if left_out:
                found.append({name: value for name, value in own.items() if name != parameter.name})
    for given in found:
        parameters = {**defaults, **given}
        use = OperatorUse({**record.defaults, **given}, LENGTHS, range(length("m")))
        if record.check is None or is_allowed(record.check, use):
            yield {**derived, **parameters}


def calls(record: OperatorRecord, *, left_out: bool = True) -> Iterator[dict[str, Any]]:
    """All arguments of an operator for each of its `uses`; each query is at one of the keys."""
    for parameters in uses(record, left_out=left_out):
        given = with_derived(record, {**arguments(record), **parameters})
        yield given | ({"query_positions": np.array([0, 2, 3, 5, 6])} if "query_positions" in given else {})


def is_allowed(check: Callable[[OperatorUse], None], use: OperatorUse) -> bool:
    """Whether the check of an operator lets it be used."""
    try:
        check(use)
    except AttnError:
        return False
    return True


def inner_values(record: OperatorRecord, **given: Any) -> dict[str, np.ndarray]:
    """The inner quantities of an operator for these arguments, by name."""
    kept: dict[str, np.ndarray] = {}

    def tap(name: str, value: np.ndarray) -> np.ndarray:
        kept[name] = value
        return value

    if record.inner:
        record.function(**given, tap=tap)
    return kept
