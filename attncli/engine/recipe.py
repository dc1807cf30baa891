"""The recipe: what is done to every block, read off the steps of two queries and two keys."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array
from attncli.engine.blocks import Block, Lengths, Source
from attncli.engine.dense import MOVES, Recorder
from attncli.engine.likeness import likeness
from attncli.ops.registry import Quantity
from attncli.plan.build import ANSWER, SCORE
from attncli.problem.spec import ProblemSpec
from attncli.trace.steps import Step, unchanged


@dataclass(frozen=True)
class Move:
    """One step without its value: a function of earlier ones; `taps` names the steps that pass by on the way."""

    name: str
    stage: str
    function: Callable[..., Array]
    inputs: Mapping[str, str]
    options: Mapping[str, Any]
    taps: Mapping[str, str]

    @property
    def exact(self) -> bool:
        """Whether numbers are moved, and none is computed."""
        return self.stage in MOVES or self.function is unchanged

    def read(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """The arguments of the function."""
        return {name: values[source] for name, source in self.inputs.items()}


@dataclass(frozen=True)
class Recipe:
    """The moves from queries and keys to scores, those from scores to the context, and what they read.

    `scores` names the step that the normalizer (or the sink before it) reads.
    """

    sources: Mapping[str, Source]
    scoring: Sequence[Move]
    answering: Sequence[Move]
    scores: str
    lengths: Lengths
    precision: Precision

    @property
    def groups(self) -> int:
        """How many query heads share a key head."""
        return self.lengths.heads // self.lengths.kv_heads

    @property
    def moves(self) -> Sequence[Move]:
        """Every move, in order."""
        return (*self.scoring, *self.answering)

    def cut(self, block: Block, asking: bool) -> dict[str, Array]:
        """What belongs to a block, of the sources that belong to queries, or of the others."""
        return {name: x.cut(block, self.groups) for name, x in self.sources.items() if x.asks == asking}

    def of_keys(self, arrays: Mapping[str, Array], first: int, end: int) -> dict[str, Array]:
        """The parts of a block's arrays that belong to some keys."""
        part = dict(arrays)
        for name, before in self._of_keys:
            part[name] = part[name][(*before, slice(first, end))]
        return part

    @cached_property
    def _of_keys(self) -> Sequence[tuple[str, tuple[Any, ...]]]:
        """The sources that have an axis of keys, and how the axes before it are taken."""
        return [(name, before) for name, x in self.sources.items() if (before := x.before_keys) is not None]


@dataclass(frozen=True)
class _Reading:
    """What the steps of the first queries and keys say of any number of them; no array of the problem is held."""

    scoring: Sequence[Move]
    answering: Sequence[Move]
    scores: str
    read: Sequence[str]
    steps: Mapping[str, Step]


MOST_KNOWN = 64
_KNOWN: dict[Hashable, _Reading] = {}


class _Probe(Recorder):
    """A recorder of two of everything, where there are two: what is given on the way is kept whole as well."""

    def __init__(self, precision: Precision, lengths: Lengths) -> None:
        super().__init__(precision)
        self.block = Block(slice(0, 2), slice(0, min(2, lengths.heads)), slice(0, 2))
        self.groups = lengths.heads // lengths.kv_heads
        self.given: dict[str, Step] = {}

    def take(self, step: Step) -> None:
        """Keep the part of a step that belongs to the first queries and keys."""
        source = Source(step.name, step.value, step.axes)
        before, part = source.before_keys, source.cut(self.block, self.groups)
        first = part if before is None else part[(*before, slice(0, 2))]
        self.steps[step.name] = Step(step.quantity, step.stage, first, notes=step.notes)

    def give(self, quantity: Quantity, value: Array, *, role: str | None = None, notes: tuple[str, ...] = ()) -> None:
        """Keep a quantity as the user gave it."""
        super().give(quantity, value, role=role, notes=notes)
        self.given[quantity.name] = self.steps[quantity.name]
        self.take(self.given[quantity.name])

    def noticed(self, name: str, stage: str, arguments: Mapping[str, Array], value: Array) -> tuple[str, ...]:
        """Nothing: the first queries and keys do not speak for the others."""
        return ()

    def note_empty_rows(self, name: str, labels: Sequence[str]) -> None:
        """No note, for the same reason."""


def read_off(problem: ProblemSpec, front: Recorder, lengths: Lengths) -> tuple[Recipe, Mapping[str, Step]]:
    """The recipe of a problem, whose queries, keys and values stand in `front`.

    Beside it the steps of the first queries and keys, for their names and axes; what is given among them is whole.
    Problems that are alike are read once: a model asks the same of every layer.
    """
    like = likeness(problem)
    reading, given = _KNOWN.get(like), dict[str, Step]()
    if reading is None:
        reading, given = _read(problem, front, lengths)
        if like is not None and not given:  # what is given on the way has to be taken from each problem
            if len(_KNOWN) == MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN[like] = reading
    whole = front.steps | given
    sources = {name: Source(name, whole[name].value, whole[name].axes) for name in reading.read if name in whole}
    recipe = Recipe(sources, reading.scoring, reading.answering, reading.scores, lengths, front.precision)
    return recipe, {**reading.steps, **given}


def _read(problem: ProblemSpec, front: Recorder, lengths: Lengths) -> tuple[_Reading, dict[str, Step]]:
    """What the steps of the first queries and keys say, and what was given on the way."""
    probe = _Probe(front.precision, lengths)
    probe.current = dict(front.current)
    for name in dict.fromkeys(front.current.values()):
        probe.take(front.steps[name])
    before = set(probe.steps)
    for stage in SCORE:
        stage(problem, probe)
    scoring, scores = set(probe.steps), probe.current["scores"]
    for stage in ANSWER:
        stage(problem, probe)
    made = {name: step for name, step in probe.steps.items() if name not in before}
    moves = {name: _move(step, made) for name, step in made.items() if step.function is not None}
    reading = _Reading(
        scoring=[move for name, move in moves.items() if name in scoring],
        answering=[move for name, move in moves.items() if name not in scoring],
        scores=scores,
        read=tuple(dict.fromkeys(source for move in moves.values() for source in move.inputs.values())),
        steps=made,
    )
    return reading, probe.given


def numbers(step: Step) -> int:
    """How many numbers a table has for each pair of a query and a key; a list of vectors counts as one."""
    beyond = step.axes[step.axes.index("m") + 1 :] if {"n", "m"} <= set(step.axes) else ()
    return math.prod(step.value.shape[len(step.axes) - len(beyond) :])


def _move(step: Step, made: Mapping[str, Step]) -> Move:
    """What a step does, and which steps pass by on the way."""
    assert step.function is not None
    inside = {name for name, other in made.items() if other.tapped_from == step.name}
    inner = [quantity.name for quantity in step.record.inner] if step.record is not None else []
    taps = {name: name if name in inside else f"{step.name}_{name}" for name in inner}
    return Move(step.name, step.stage, step.function, step.inputs, step.options, taps)
