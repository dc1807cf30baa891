"""What happened, in order: Step, Trace, Result."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attncli.base.axes import COUNTED_FROM_0, PART, Letters
from attncli.base.dtypes import Precision
from attncli.base.errors import UnknownNameError
from attncli.base.lazy_numpy import Array
from attncli.ops.registry import OperatorRecord, Quantity

RESULTS = (
    "scores",
    "capped_scores",
    "masked_scores",
    "weights",
    "context",
    "output",
    "present_key",
    "present_value",
)
# A stage that did nothing leaves no step; its result is then the one before it.
BEFORE = {
    "masked_scores": "biased_scores",
    "biased_scores": "positioned_scores",
    "positioned_scores": "capped_scores",
    "capped_scores": "scores",
    "present_key": "key",
    "present_value": "value",
}


def unchanged(x: Array) -> Array:
    """The function of a step that has nothing to do: the identity."""
    return x


@dataclass(frozen=True)
class Step:
    """One quantity, how it came about, and its value.

    `value` is `function(**{argument: value of the step named}, **options)`; a given quantity has no function.
    The last two of `axes` are rows and columns, named by the legend of letters.
    """

    quantity: Quantity
    stage: str
    value: Array
    function: Callable[..., Array] | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    record: OperatorRecord | None = None
    tapped_from: str | None = None  # the step whose function this quantity passed by, on the way to its result
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the step is called: unique in its trace."""
        return self.quantity.name

    @property
    def symbol(self) -> str:
        """The letter it has in formulas."""
        return self.quantity.symbol

    @property
    def formula(self) -> str:
        """How it is computed, as a terminal shows it."""
        return self.quantity.formula

    @property
    def axes(self) -> Letters:
        """The letters of its axes."""
        return self.quantity.axes

    @property
    def is_identity(self) -> bool:
        """Whether the step hands on what it got."""
        return self.function is unchanged


@dataclass(frozen=True)
class Trace:
    """The steps of one computation, in order, the labels of queries (n) and keys (m), and the type of the numbers."""

    pipeline: Mapping[str, str]
    labels: Mapping[str, tuple[str, ...]]
    steps: tuple[Step, ...]
    precision: Precision

    def __getitem__(self, name: str) -> Step:
        """The step of that name; a stage that did nothing answers with the step before it."""
        return answering(name, self.steps)

    @property
    def given(self) -> Sequence[Step]:
        """What went in, as it was given."""
        return [step for step in self.steps if step.stage == "given" and step.name not in ("query", "key", "value")]

    @property
    def computed(self) -> Sequence[Step]:
        """What came out, beginning with query, key and value."""
        given = {step.name for step in self.given}
        return [step for step in self.steps if step.name not in given]

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know of any step."""
        return [note for step in self.steps for note in step.notes]

    def labels_of(self, step: Step, axis: int) -> tuple[str, ...]:
        """The labels along an axis (counted from the end): tokens, `head 0`, or the axis' letter and a number from 1.

        A mask may have one row for every query, or fewer columns than there are keys.
        """
        if -axis > len(step.axes):
            return ()
        letter, count = step.axes[axis], step.value.shape[axis]
        if letter in self.labels:
            labels = self.labels[letter]
            return ("all",) if count == 1 < len(labels) else labels[:count]
        if letter in COUNTED_FROM_0:
            return tuple(f"{PART[letter]} {number}" for number in range(count))
        return tuple(f"{letter}{number}" for number in range(1, count + 1))


def answering(name: str, steps: Iterable[Step]) -> Step:
    """The step of that name; a stage that did nothing answers with the step before it.

    Raises UnknownNameError where there is none.
    """
    by_name = {step.name: step for step in steps}
    wanted = name
    while wanted not in by_name and wanted in BEFORE:
        wanted = BEFORE[wanted]
    if wanted not in by_name:
        raise UnknownNameError("result", name, [*RESULTS, *(n for n in by_name if n not in RESULTS)])
    return by_name[wanted]
