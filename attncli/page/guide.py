"""The story of a page: the stops of one cell's computation, and the strip of tables that shows all of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.plan.build import plan_of
from attncli.plan.graph import GIVEN, GRADIENT, Node, Plan
from attncli.plan.trace import AxisPositions, Step, Trace, value_at
from attncli.problem.fields import CONTEXT, TABLES
from attncli.problem.spec import ProblemSpec
from attncli.render.by_hand import worked_positions
from attncli.render.explanation import explained_steps
from attncli.render.formats import EVERY_STEP
from attncli.render.view import View

MOST_STOPS, ENOUGH_STOPS = 9, 6
# The stages of stops: first those in every story, then those told if there is room; others are told if the story would
# have too few stops.
_STAGES = (
    frozenset({"score", "normalize", "context", "recurrence"}),
    frozenset({"mask", "bias", "cap", "scale", "sink", "difference", "empty_rows"}),
    frozenset({"project", "position"}),
)
_NO_STOPS = frozenset({GIVEN, GRADIENT, "align", "derive", "repeat"})  # stages that compute nothing for a cell
_READERS = frozenset({"score", "context", "recurrence"})  # stages that read queries, keys and values
_ROLES = ("query", "key", "value")
_TOKENS = frozenset("nmqk")  # letters of axes of tokens
_KEYS = frozenset("mkpg")  # letters of the keys' axes, whose heads are the keys'


@dataclass(frozen=True)
class Stop:
    """A step that the story explains, and its table in the strip, by the names of their nodes."""

    step: str
    box: str


@dataclass(frozen=True)
class Story:
    """The columns of the strip, from the sequences to the result, and the stops, by the names of nodes."""

    strip: tuple[tuple[str, ...], ...]
    stops: tuple[Stop, ...]


def check_story(problem: ProblemSpec) -> None:
    """Raise AttnError if a problem has no story: its page lacks steps, or nothing is computed."""
    plan, result = plan_of(problem), problem.default_selection[-1]
    if plan.size > EVERY_STEP:
        message = f"the steps have {plan.size:,} numbers together, and a story needs every step: up to {EVERY_STEP:,}"
        raise AttnError(message, where="--guide", hint="take fewer tokens or heads, or leave out --guide")
    needed = plan.needed_for([result])
    if all(node.is_input or node.stage in _NO_STOPS for node in plan.nodes if node.name in needed):
        message = f"{result} are given, and a story tells what is computed"
        raise AttnError(message, where="--guide", hint="give value, or leave out --guide")


def story_of(trace: Trace) -> Story | None:
    """The story of a problem up to its last result; None if nothing is computed. It reads no numbers of tables."""
    plan = trace.plan
    needed = plan.needed_for([trace.problem.default_selection[-1]])
    steps = [step.node for step in _steps_on_the_way(trace, needed)]
    if not steps:
        return None
    ranks = {node.name: (_rank(node), at) for at, node in enumerate(steps)}
    ranks[steps[-1].name] = (-1, 0)  # the story always tells the result
    first = sorted(ranks, key=lambda name: ranks[name])
    count = sum(rank < len(_STAGES) for rank, _ in ranks.values())
    kept = first[: min(max(count, ENOUGH_STOPS), MOST_STOPS)]
    stops = [node for node in steps if node.name in kept]
    strip = _strip(plan, needed, stops)
    boxes = [name for column in strip for name in column]
    return Story(strip, tuple(Stop(node.name, _box(plan, node, boxes)) for node in stops))


def _steps_on_the_way(trace: Trace, needed: frozenset[str]) -> Iterator[Step]:
    """The computed steps that the story explains, in order."""
    for entry in explained_steps(trace, needed):
        step = entry.steps[0]
        is_given = entry.number is None or entry.are_copies or step.node.is_input or step.stage in _NO_STOPS
        if not is_given and not step.node.is_boolean and len(step.axes) > 1:
            yield step


def _rank(node: Node) -> int:
    """The priority of a step as a stop: the position of its stage."""
    return next((rank for rank, stages in enumerate(_STAGES) if node.stage in stages), len(_STAGES))


def _strip(plan: Plan, needed: frozenset[str], stops: Sequence[Node]) -> tuple[tuple[str, ...], ...]:
    """The names of the tables in columns: sequences, queries with keys and values, and each stop after them."""
    readers = [node for node in plan.nodes if node.name in needed and node.stage in _READERS]
    found = [node.inputs[role] for role in _ROLES for node in readers if role in node.inputs]
    roles = [name for name in dict.fromkeys(found) if plan.by_name[name].stage not in _READERS]
    before = frozenset[str]().union(*(plan.needed_for([name]) for name in roles))
    sequences = [node.name for node in plan.nodes if node.name in needed and _is_sequence(node)]
    later = [node.name for node in stops if node.tapped_from is None and node.name not in before]
    names = dict.fromkeys((*sequences, *roles, *later))
    depths: dict[str, int] = {}
    for group in ({*sequences, *roles}, {*later}.difference(roles)):
        for node in plan.nodes:
            if node.name in group:
                sources = plan.needed_for([node.name])
                depths[node.name] = 1 + max((depths[name] for name in depths if name in sources), default=-1)
        depths |= dict.fromkeys(roles, max((depths[name] for name in roles), default=0))  # next to one another
    return tuple(tuple(name for name in names if depths[name] == at) for at in sorted(set(depths.values())))


def _is_sequence(node: Node) -> bool:
    """Whether a node is a given sequence of vectors, or a given table of scores or weights."""
    letters = node.letters
    is_vectors = len(letters) > 1 and letters[-2] in _TOKENS and not _TOKENS & {letters[-1]}
    return node.is_input and (node.name in TABLES or is_vectors)


def _box(plan: Plan, node: Node, boxes: Sequence[str]) -> str:
    """The table of a stop in the strip: its own, or the first one computed from it."""
    if node.name in boxes:
        return node.name
    return next((name for name in boxes if node.name in plan.needed_for([name])), boxes[-1])


def guide_object(view: View, stories: Sequence[Story | None], nodes: Mapping[str, Node]) -> dict[str, Any]:
    """The object of a page's story, with the story of each plan and the nodes of all stops by name.

    It has the `pair` of the story, [letter, position] on each axis, and `cells`, the index of the followed cell in each
    node of a stop, by name. `stories` has each story once, as names of nodes: the columns of the `strip`, and the
    `stops`, each an explained step and its table in the strip. `plans` is the position of each plan's story, null if it
    computes nothing.
    """
    known = list(dict.fromkeys(story for story in stories if story is not None))
    return {
        "pair": _followed_pair(view),
        "cells": _cells(view, nodes),
        "stories": [
            {"strip": story.strip, "stops": [[stop.step, stop.box] for stop in story.stops]} for story in known
        ],
        "plans": [None if story is None else known.index(story) for story in stories],
    }


def _cells(view: View, nodes: Mapping[str, Node]) -> dict[str, list[int]]:
    """The followed cell of each node: its index on all axes.

    They belong to the pair of a query and a key that is worked out by hand. In vectors it is the feature that
    contributes most: in queries and keys to their product, in the key's value to the context.
    """
    trace, at = view.result.trace, _positions(view)
    features = _Features(trace, at)
    return {name: [*features.index(node)] for name, node in nodes.items()}


def _followed_pair(view: View) -> list[tuple[str, int]]:
    """The pair of the story: the query, the key and the head by their letters; in a recurrence the token."""
    trace, at = view.result.trace, _positions(view)
    lengths = dict(trace.plan.pair_axes)
    pair = ("n", "m") if trace.plan.has_weights else ("n",)
    leading = [letter for letter in lengths if letter not in ("n", "m") and lengths[letter] > 1]
    return [(letter, at[letter]) for letter in (*pair, *leading)]


def _positions(view: View) -> AxisPositions:
    """The positions of the story's pair; in a recurrence the last token, whose state includes all others."""
    worked = worked_positions(view)
    return worked[0] if view.result.trace.plan.has_weights else worked[-1]


class _Features:
    """The followed feature of each kind of vector, counted in the vector of one head."""

    def __init__(self, trace: Trace, at: AxisPositions) -> None:
        self.trace, self.at = trace, at
        query, key = (self._vector(role) for role in ("query", "key"))
        value, context = self._vector("value"), trace.plan.results.get(CONTEXT)
        is_empty = value is None or not value.any()
        self.value = self._row(context) if is_empty and context is not None else value
        if query is not None and key is not None and query.shape == key.shape:
            query = query * key
        self.pair = query

    def _vector(self, role: str) -> Array | None:
        """The vector that scores or a recurrence read as a role; None if they read none."""
        readers = (node for node in self.trace.plan.nodes if node.stage in _READERS and role in node.inputs)
        reader = next(readers, None)
        return None if reader is None else self._row(reader.inputs[role])

    def _row(self, name: str) -> Array:
        """The numbers of a node at the positions, along its last axis."""
        step = self.trace[name]
        vector = value_at(self.trace, step, {letter: at for letter, at in self.at.items() if letter in step.axes[:-1]})
        sizes: Array = np.abs(np.nan_to_num(vector.astype(np.float64).reshape(-1, step.value.shape[-1])[0]))
        return sizes

    def index(self, node: Node) -> Iterator[int]:
        """The position on each axis of a node."""
        for place, (letter, length) in enumerate(node.axes):
            if letter in self.at:
                yield min(self.at[letter], length - 1)
            else:
                yield self._feature(node, letter, length) if place >= len(node.axes) - 2 else 0

    def _feature(self, node: Node, letter: str, length: int) -> int:
        """The feature of a vector, which may concatenate the features of all heads."""
        vector = {"d": self.pair, "c": self.pair, "e": self.value}.get(letter)
        if vector is None or length % len(vector):
            own = self._row(node.name) if node.name in self.trace and len(node.axes) > 1 else np.zeros(length)
            return int(np.argmax(own)) if len(own) == length else 0
        share = length // len(vector)
        head = self.at.get("g" if _KEYS & {*node.letters} else "h", 0)
        has_heads = share > 1 and not {"h", "g"} & {*node.letters}
        return int(np.argmax(vector)) + (len(vector) * min(head, share - 1) if has_heads else 0)
