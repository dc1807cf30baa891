"""Programs for steps of a page whose functions its scripts lack, read from recordings of the functions."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

from attncli.base.axes import Letters
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.recording.arrays import NotRecordedError
from attncli.ops.recording.derivatives import RecordedDerivative, is_of_this_package, recording_of
from attncli.ops.recording.expression import evaluate
from attncli.ops.recording.guard import COUNTED, copies, numbers_for
from attncli.ops.recording.lengths import Length, for_any_numbers
from attncli.ops.recording.program import nothing_program, program_of
from attncli.ops.recording.record import Recording
from attncli.page.document import page_functions
from attncli.plan.graph import GRADIENT, Axes, Node, Plan

HEADS = "heads"  # an option that follows a choice in a page
LengthOf = Callable[[Letters, str, int], int]  # for an axis of an array with these axes, from its own length
_HEADS = {"h", "g"}
_TOKENS = frozenset({"n", "m", "k", "p", "q", "m+1"})
_WHOLE = COUNTED | {"rows", "lengths", "bounds", "bounds_of_keys", "sequences"}  # arguments with integers
FAR = 100_000  # a position beyond the ends of tables, which have branches for it
SEEDS = 6  # sets of numbers for recording a function with branches on them
SPECIAL = (1.0, 1.5, 2.0)  # options at which a function may have another form, such as entmax at α = 1, 1.5 and 2
OWN_PACKAGE = "attncli."


@dataclass(frozen=True)
class PageProgram:
    """The page's program for a step; `program` is None if there is none, and `reason` says why.

    `follows_tokens` and `follows_heads` say whether it works for other numbers of words, and of heads.
    """

    program: Mapping[str, Any] | None
    reason: str = ""
    follows_tokens: bool = False
    follows_heads: bool = False


NO_PROGRAM = PageProgram(None)


@dataclass(frozen=True)
class _Call:
    """A call of a plan's function, with everything that its program depends on; equal calls are recorded once."""

    function: Any
    arguments: tuple[tuple[str, Axes, str], ...]  # with the kinds of their numbers
    options_text: str
    followed: frozenset[str]  # the options read at computation
    is_gradient: bool
    options: Mapping[str, Any] = field(compare=False)


def is_in_scripts(node: Node) -> bool:
    """Whether the scripts of the page have a node's function."""
    if node.function is None or isinstance(node.function, RecordedDerivative):
        return False
    return function_name(node.function) in page_functions()


def function_name(function: Any) -> str:
    """The name of a function of a plan; the name of another package's function begins with its module.

    >>> from attncli.ops.normalizers import sum_
    >>> function_name(sum_), function_name(len)
    ('sum', 'builtins.len')
    """
    module, name = str(function.__module__), function.__name__.rstrip("_")
    return name if module.startswith(OWN_PACKAGE) else f"{module}.{name}"


def page_program(plan: Plan, node: Node, settings: Mapping[str, str]) -> PageProgram:
    """The program of a computed node; `settings` has the options that follow settings of the page."""
    if not node.inputs or node.is_input or is_in_scripts(node):  # without inputs there is nothing to record
        return NO_PROGRAM
    sources = {name: plan.by_name[source] for name, source in node.inputs.items()}
    arguments = tuple((name, own.axes, _kind(name, own)) for name, own in sources.items())
    followed = frozenset(name for name in node.options if name in settings or name == HEADS)
    text = repr(sorted((name, repr(value)) for name, value in node.options.items()))
    return _program(_Call(node.function, arguments, text, followed, node.stage == GRADIENT, node.options))


def _kind(argument: str, source: Node) -> str:
    """The kind of an array's numbers: booleans, integers or any."""
    is_truth = source.is_boolean or argument in ("visible", "key_mask")
    return "b" if is_truth else "i" if argument in _WHOLE else "f"


@cache
def _program(call: _Call) -> PageProgram:
    """The program of a call, recorded with invented numbers."""
    try:
        made, has_branches = _written(call, _own_length)
        for seed in range(1, SEEDS if has_branches else 2):
            if not _is_same(call, made, _own_length, seed=seed):
                return PageProgram(None, "it has other steps with other numbers")
        if not _is_same(call, made, _own_length, more=1):
            names = ", ".join(sorted(call.followed - {HEADS}))
            return PageProgram(None, f"it has other steps with another number of {names}")
    except NotRecordedError as error:
        return PageProgram(None, f"{error.message} ({error.where})" if error.where else error.message)
    return PageProgram(
        made,
        follows_tokens=_is_same(call, made, _more_tokens),
        follows_heads=_is_same(call, made, _more_heads) and _is_same(call, made, _more_features),
    )


def _own_length(_letters: Letters, _letter: str, length: int) -> int:
    return length


def _more_tokens(_letters: Letters, letter: str, length: int) -> int:
    """One more query and key."""
    return length + (letter in _TOKENS and length > 1)


def _more_heads(letters: Letters, letter: str, length: int) -> int:
    """Twice as many heads with as many features each: heads side by side have twice as many in total."""
    is_doubled = letter in _HEADS or not (letter in _TOKENS or _HEADS & {*letters})
    return 2 * length if is_doubled and length > 1 else length


def _more_features(_letters: Letters, letter: str, length: int) -> int:
    """Twice as many features in each head."""
    return length if letter in _TOKENS or letter in _HEADS or length == 1 else 2 * length


def _is_same(call: _Call, made: Mapping[str, Any], length_of: LengthOf, more: int = 0, seed: int = 0) -> bool:
    """Whether a call with other lengths, larger options, or other numbers has the same program."""
    try:
        return json.dumps(_written(call, length_of, more, seed)[0]) == json.dumps(made)
    except (AttnError, ValueError):  # from NumPy, if array lengths do not fit one another
        return False


def _written(call: _Call, length_of: LengthOf, more: int = 0, seed: int = 0) -> tuple[dict[str, Any], bool]:
    """The program of a call with these lengths, and whether it tested the truth of numbers.

    Raises NotRecordedError.
    """
    has_more_heads = length_of(("h",), "h", 2) > 2
    exact = {name: float(x) if isinstance(x, np.longdouble) else x for name, x in call.options.items()}
    options, numbers = exact, dict[str, Any]()
    for name in call.followed:
        value = options[name]
        if isinstance(value, int) and not isinstance(value, bool):
            options[name] = Length(value * (1 + has_more_heads) if name == HEADS else value + more, "option", name)
        elif isinstance(value, float):
            numbers[name] = np.float64(value * (1 + more / 2))
            del options[name]
    shapes = {
        name: tuple(length_of(tuple(x for x, _ in axes), letter, length) for letter, length in axes)
        for name, axes, _ in call.arguments
    }
    kinds = {name: kind for name, _, kind in call.arguments}
    for last in (FAR, None):
        samples = [
            {name: _numbers(name, shape, kinds[name], at, last) for name, shape in shapes.items()}
            for at in (seed, seed + 1)
        ]
        if is_of_this_package(call.function) and not isinstance(call.function, RecordedDerivative):
            _mask_first_row(samples)
        try:
            with for_any_numbers():
                made = recording_of(call.function, {**samples[0], **numbers}, options, tuple(numbers))
            break
        except NotRecordedError:
            if last is None:
                raise
    if made is None:
        return nothing_program(call.function.argument), False
    if not is_of_this_package(call.function):
        _check(call, made, {**samples[1], **numbers}, options)
    for name, special in product(numbers, SPECIAL):
        reason = f"it may have another form at {name} = {special:g}"
        _compare(call, made, {**samples[1], **numbers, name: np.float64(special)}, options, reason)
    return program_of(made, tuple(call.options), is_gradient=call.is_gradient), bool(made.branches)


def _mask_first_row(samples: Sequence[Mapping[str, Array]]) -> None:
    """Hide every key of the first query, so that the general form is recorded, not a faster one."""
    for sample in samples:
        if np.ndim(sample.get("scores", 0.0)) > 1:
            sample["scores"][..., 0, :] = -np.inf


def _check(call: _Call, made: Recording, given: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Raise NotRecordedError if the recording of a user's function may only hold for some numbers."""
    if made.branches:
        raise NotRecordedError("it has other steps with other numbers", where=made.branches[0])
    _compare(call, made, given, options)


def _compare(
    call: _Call,
    made: Recording,
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    reason: str = "with other numbers its record and the function differ",
) -> None:
    """Raise NotRecordedError, for this reason, if the recording gives other numbers than the function."""
    with np.errstate(all="ignore"):
        value = np.asarray(call.function(**copies({**given, **options})))
        own = np.asarray(evaluate(made.result, copies({**options, **given})))
    if not np.allclose(own, value, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise NotRecordedError(reason)


def _numbers(name: str, shape: tuple[int, ...], kind: str, seed: int, last: int | None) -> Array:
    """Invented numbers for an argument: some booleans are true, and `last` is the largest integer."""
    if kind == "b":
        truths: Array = np.random.default_rng([seed, *map(ord, name)]).standard_normal(shape) > -1
        return truths
    if kind == "i":
        counted = np.arange(shape[-1]) % 2 if name == "sequences" else np.arange(shape[-1]) if shape else np.zeros(())
        whole: Array = np.broadcast_to(counted, shape).astype(np.int64)
        if last is not None and name.endswith("positions") and shape:
            whole[..., -1] = last
        return whole
    return numbers_for(name, shape, seed)
