"""Slips of recurrences: decay, corrections, the carried state, and the features of queries and keys."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial, wraps
from math import log
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.checks.slips.numbers import EPSILONS
from attncli.checks.slips.records import (
    Change,
    Computation,
    FittedNumber,
    Variant,
    add_slips,
    instead_of,
    plan_slip,
    problem_slip,
    tile_sizes,
    without,
)
from attncli.ops.records import Operator
from attncli.ops.states import CHUNK, Tokens, in_chunks, normalized, tokens_of
from attncli.plan.graph import Node
from attncli.plan.stages.recurrences import STATE
from attncli.problem.spec import ProblemSpec

A_DECAY = "a recurrence has a decay"
A_DELTA_RULE = "a recurrence has a delta rule"

Step = Callable[[Tokens], tuple[Array, Array]]  # for one token: its reading, and the state after it


def recurrence_node(case: Computation, reads: Sequence[str] = ()) -> Node | None:
    """The node of a built-in recurrence that reads these arrays; otherwise None."""
    node = case.node_of_stage("recurrence")
    if node is None or node.record is None or not node.record.is_built_in or not {*reads} <= {*node.inputs}:
        return None
    return node


def _step_slip(applies_where: str, *reads: str) -> Callable[[Step], Step]:
    """A decorator: the function defines each token's step; its name and docstring are the slip's.

    The recurrence `reads` some arrays.
    """

    def register(step: Step) -> Step:
        @wraps(step)
        def change(case: Computation) -> Iterator[Variant]:
            return _with_states(case, _step_by_step, *reads, step=step)

        plan_slip(applies_where)(change)
        return step

    return register


def _with_states(
    case: Computation, run: Callable[..., tuple[Array, Array]], *reads: str, sentence: str = "", **options: Any
) -> Iterator[Variant]:
    """The plan whose readings and last state come from another recurrence of the same tokens."""
    node = recurrence_node(case, reads)
    if node is None:
        return
    changed = case.with_function(node.name, _readings, run=run, **options)
    if STATE in case.plan.by_name:
        changed = changed.with_function(STATE, _last_state, run=run, **options)
    yield Variant(changed, sentence)


def _readings(
    *,
    run: Callable[..., tuple[Array, Array]],
    scale: float | None = None,
    feature_map: str = "identity",
    eps: float = 1e-6,
    normalize: bool = False,
    step: Step | None = None,
    size: int | None = None,
    wrong: str | None = None,
    **arrays: Array,
) -> Array:
    """The tokens' readings by another recurrence."""
    more = {name: value for name, value in (("step", step), ("size", size), ("wrong", wrong)) if value is not None}

    def read(tokens: Tokens) -> Array:
        return run(tokens, **more)[0]

    tokens = tokens_of(arrays, scale, feature_map, eps)
    return normalized(tokens, read) if normalize else read(tokens)


def _last_state(
    *,
    run: Callable[..., tuple[Array, Array]],
    feature_map: str = "identity",
    eps: float = 1e-6,
    step: Step | None = None,
    size: int | None = None,
    wrong: str | None = None,
    **arrays: Array,
) -> Array:
    """The state after the last token by another recurrence."""
    more = {name: value for name, value in (("step", step), ("size", size), ("wrong", wrong)) if value is not None}
    return run(tokens_of(arrays, None, feature_map, eps), **more)[1]


def _step_by_step(tokens: Tokens, *, step: Step) -> tuple[Array, Array]:
    """The readings of each token and the last state."""
    state, found = tokens.state, []
    for at in range(tokens.key.shape[-2]):
        read, state = step(tokens.part(slice(at, at + 1), state))
        found.append(read)
    return np.concatenate(found, axis=-2), state


def _kept(token: Tokens) -> Array:
    """The state after decay."""
    return token.state if token.decay is None else np.exp(token.decay).mT * token.state


def _written(token: Tokens, state: Array) -> Array:
    """The written vector; a delta rule first subtracts the state's reading for the key."""
    return token.value if token.beta is None else token.beta * (token.value - token.key @ state)


def _after(token: Tokens, kept: Array, written: Array) -> tuple[Array, Array]:
    """The reading of the state after this write, and that state."""
    state = kept + token.key.mT @ written
    return token.query @ state, state


@_step_slip("a recurrence has a decay and a delta rule", "decay", "beta")
def error_before_decay(token: Tokens) -> tuple[Array, Array]:
    """The delta rule reads back from the state before its decay, instead of after it."""
    return _after(token, _kept(token), _written(token, token.state))


@_step_slip(A_DECAY, "decay")
def decay_not_exponentiated(token: Tokens) -> tuple[Array, Array]:
    """The state is multiplied by the decay itself, a logarithm, instead of by its exponential."""
    assert token.decay is not None
    kept = token.decay.mT * token.state
    return _after(token, kept, _written(token, kept))


@_step_slip(A_DECAY, "decay")
def decay_after_write(token: Tokens) -> tuple[Array, Array]:
    """The state decays after a token wrote to it, and what the token wrote decays too."""
    state = _after(token, token.state, _written(token, token.state))[1]
    state = _kept(replace(token, state=state))
    return token.query @ state, state


@_step_slip(A_DECAY, "decay")
def decay_to_first_order(token: Tokens) -> tuple[Array, Array]:
    """The state is multiplied by 1 + g, where g is the decay, instead of by exp(g)."""
    assert token.decay is not None
    kept = (1 + token.decay).mT * token.state
    return _after(token, kept, _written(token, kept))


@plan_slip(A_DECAY, partial(recurrence_node, reads=("decay",)))
def decay_in_base_2(case: Computation, node: Node) -> Iterator[Variant]:
    """The decay is a power of 2 instead of e: exp2 without the factor log₂ e."""
    yield Variant(case.with_changed_value(node.inputs["decay"], lambda decay: decay * log(2)))


@plan_slip(A_DECAY, partial(recurrence_node, reads=("decay",)))
def no_decay(case: Computation, node: Node) -> Iterator[Variant]:
    """The decay is forgotten: the state keeps all that was written."""
    yield Variant(case.with_changed_value(node.inputs["decay"], np.zeros_like))


@plan_slip(A_DELTA_RULE, partial(recurrence_node, reads=("beta",)))
def no_beta(case: Computation, node: Node) -> Iterator[Variant]:
    """Beta is forgotten: tokens write the whole difference of their value and what they read back."""
    yield Variant(case.with_changed_value(node.inputs["beta"], np.ones_like))


@_step_slip(A_DELTA_RULE, "beta")
def no_read_back(token: Tokens) -> tuple[Array, Array]:
    """What the state has for a key is not subtracted from the value: the delta rule writes β v."""
    assert token.beta is not None
    return _after(token, _kept(token), token.beta * token.value)


@_step_slip(A_DELTA_RULE, "beta")
def beta_on_value_alone(token: Tokens) -> tuple[Array, Array]:
    """Beta multiplies the value alone, and not what is read back from the state."""
    assert token.beta is not None
    kept = _kept(token)
    return _after(token, kept, token.beta * token.value - token.key @ kept)


@_step_slip(A_DECAY, "decay")
def read_before_decay(token: Tokens) -> tuple[Array, Array]:
    """Each query reads the state before its own token decayed it and wrote to it."""
    kept = _kept(token)
    return token.query @ token.state, _after(token, kept, _written(token, kept))[1]


@_step_slip("there is a recurrence")
def read_before_write(token: Tokens) -> tuple[Array, Array]:
    """Each query reads the state before its own token wrote to it."""
    kept = _kept(token)
    return token.query @ kept, _after(token, kept, _written(token, kept))[1]


@problem_slip("a recurrence has a past_state")
def no_past_state(case: Computation) -> Iterator[Variant]:
    """The state that earlier tokens have left is forgotten: the first token finds zeros."""
    return without(case, "past_state")


def _sizes(case: Computation) -> Sequence[float]:
    return (1, *tile_sizes(case.key_count)) if recurrence_node(case) is not None else ()


@plan_slip("there is a recurrence", number=FittedNumber("chunk", _sizes, is_whole=True))
def state_reset(case: Computation, number: int) -> Iterator[Variant]:
    """The state is not carried over from a chunk of tokens to the next one."""
    sentence = f"The state is not carried over: it is zeros again every {count_of(number, 'token')}."
    yield from _with_states(case, _chunks_from_zeros, sentence=sentence, size=number)
    if case.problem.past_state is not None:
        sentence = f"The state is not carried over: it is past_state again every {count_of(number, 'token')}."
        yield from _with_states(case, _chunks_from_past, sentence=sentence, size=number)


def _chunks_from_past(tokens: Tokens, *, size: int) -> tuple[Array, Array]:
    """The readings and the last state of chunks that all begin with the same state."""
    count = tokens.key.shape[-2]
    filled = tokens.map_rows(lambda x: _in_chunks(x, size))
    state = np.broadcast_to(tokens.state[..., None, :, :], (*filled.key.shape[:-2], *tokens.state.shape[-2:]))
    read, states = in_chunks(replace(filled, state=state), CHUNK)
    return read.reshape(*read.shape[:-3], -1, read.shape[-1])[..., :count, :], states[..., -1, :, :]


def _in_chunks(x: Array, size: int) -> Array:
    """Rows [… n x] with an axis of chunks, [… chunks size x]; zero tokens, which write nothing, fill the last."""
    *leading, count, features = x.shape
    rows = np.zeros((*leading, -count % size, features), x.dtype)
    return np.concatenate([x, rows], axis=-2).reshape(*leading, -1, size, features)


def _chunks_from_zeros(tokens: Tokens, *, size: int) -> tuple[Array, Array]:
    """The readings and the last state of chunks; only the first one begins with the state before it."""
    count = tokens.key.shape[-2]
    first = in_chunks(tokens.part(slice(0, size), tokens.state), CHUNK)
    if count <= size:
        return first
    read, state = _chunks_from_past(tokens.part(slice(size, count), np.zeros_like(tokens.state)), size=size)
    return np.concatenate([first[0], read], axis=-2), state


def _chunk_slip(wrong: str, sentence: str) -> Change:
    """A slip of chunks of tokens, of what is wrong in each; the sentence has the size."""

    def change(case: Computation, _: Node, number: int) -> Iterator[Variant]:
        said = sentence.replace("chunk", f"chunk of {count_of(number, 'token')}", 1)
        yield from _with_states(case, _wrong_chunks, sentence=said, size=number, wrong=wrong)

    return change


def _wrong_chunks(tokens: Tokens, *, size: int, wrong: str) -> tuple[Array, Array]:
    """The readings and the last state of chunks, with what was carried into one, and what it wrote itself, apart."""
    state, found = tokens.state, []
    for first in range(0, tokens.key.shape[-2], size):
        chunk = tokens.part(slice(first, first + size), state)
        own, written = in_chunks(replace(chunk, state=np.zeros_like(state)), size)
        carried, kept = in_chunks(replace(chunk, value=np.zeros_like(chunk.value)), size)
        match wrong:
            case "reading":
                carried = chunk.query @ state
            case "state":
                kept = state
            case "within":
                own = in_chunks(replace(chunk, decay=None, state=np.zeros_like(state)), size)[0]
            case "twice":
                carried = chunk.query @ (kept + written)
        found.append(carried + own)
        state = kept + written
    return np.concatenate(found, axis=-2), state


CHUNKS = FittedNumber(
    "chunk", lambda case: [size for size in (16, 32, 64, 128, 256, 8, 4, 2) if size < case.key_count], is_whole=True
)
for _slip, _wrong, _where, _reads, _sentence in (
    ("carried_state_not_decayed", "reading", A_DECAY, ("decay",), "What is carried into a chunk is not decayed there."),
    ("state_not_decayed_over_chunk", "state", A_DECAY, ("decay",), "The state that a chunk hands on lacks its decay."),
    ("no_decay_within_chunk", "within", A_DECAY, ("decay",), "What a chunk writes is read in it without its decay."),
    (
        "chunk_read_twice",
        "twice",
        "there is a recurrence",
        (),
        "Queries read the state after a chunk, and what it wrote again.",
    ),
):
    add_slips(
        plan_slip(_where, partial(recurrence_node, reads=_reads), number=CHUNKS),
        {_slip: (_sentence, _chunk_slip(_wrong, _sentence))},
    )


@plan_slip("a recurrence has states with as many rows as columns")
def state_transposed(case: Computation) -> Iterator[Variant]:
    """The state is transposed: rows of value features are taken for rows of key features."""
    node = recurrence_node(case)
    if node is None or case.problem.lengths["d"] != case.problem.lengths["e"]:
        return
    sentence = "Queries read the transposed state: S q instead of Sᵀ q."
    yield from _with_states(case, _step_by_step, sentence=sentence, step=_read_transposed)
    if "past_state" in node.inputs:
        changed = case.with_changed_value(node.inputs["past_state"], _transposed)
        yield Variant(changed, "past_state is read transposed, as [value features, key features].")
    if STATE in case.plan.by_name:
        changed = case.with_changed_value(STATE, _transposed)
        yield Variant(changed, "The present_state is transposed: it is [value features, key features].")


def _read_transposed(token: Tokens) -> tuple[Array, Array]:
    kept = _kept(token)
    state = _after(token, kept, _written(token, kept))[1]
    is_square = state.shape[-2] == state.shape[-1]  # without the sums of the keys
    return token.query @ (state.mT if is_square else state), state


def _transposed(x: Array) -> Array:
    return x.mT


@problem_slip("a recurrence maps queries and keys to features")
def no_feature_map(case: Computation) -> Iterator[Variant]:
    """The feature map is forgotten: queries and keys are read as they are."""
    yield from _with_parameters(case.problem, "feature_map", feature_map="identity")


@problem_slip("a recurrence divides what is read by q·Σk")
def readings_not_normalized(case: Computation) -> Iterator[Variant]:
    """What is read from the state is not divided by the product of the query and the sum of the keys."""
    yield from _with_parameters(case.problem, "normalize", normalize=False)


def _recurrence_with_l2(case: Computation) -> Operator | None:
    recurrence = case.problem.recurrence
    return recurrence if recurrence is not None and recurrence.parameters.get("feature_map") == "l2" else None


@problem_slip(
    "a recurrence normalizes queries and keys by l2",
    _recurrence_with_l2,
    number=FittedNumber("eps", lambda _: EPSILONS),
)
def feature_map_eps(case: Computation, recurrence: Operator, number: float) -> Iterator[Variant]:
    """The l2 norm of queries and keys has another eps."""
    own = recurrence.parameters["eps"]
    sentence = f"The eps of l2, added to the squared length, is {instead_of(number, own)}."
    yield from _with_parameters(case.problem, "eps", sentence, eps=number)


def _with_parameters(problem: ProblemSpec, name: str, sentence: str = "", **given: Any) -> Iterator[Variant]:
    """The problem whose recurrence has other parameters, if it has one of them."""
    recurrence = problem.recurrence
    if recurrence is not None and recurrence.record.is_built_in and name in recurrence.parameters:
        changed: dict[str, Any] = {"recurrence": Operator(recurrence.record, {**recurrence.given, **given})}
        yield Variant(replace(problem, **changed), sentence)
