"""Recorder: applies functions to named steps and keeps every result, inner quantities included."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.axes import COUNTED_FROM_0
from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.registry import OperatorRecord, Quantity, Tap
from attncli.trace.diagnostics import empty_rows_warning, overflow
from attncli.trace.steps import Step, unchanged

# Stages that count, or move numbers and compute none: nothing is widened or rounded.
MOVES = {"index", "place", "given", "split", "cache", "share", "merge"}


class Recorder:
    """Computes steps one after another, each from the ones before, and keeps them by name.

    What is kept is rounded to the precision once, at the end of its step. `current` says which step stands for a
    role (query, key, value, scores …) by now.
    """

    def __init__(self, precision: Precision) -> None:
        self.precision = precision
        self.steps: dict[str, Step] = {}
        self.current: dict[str, str] = {}

    def give(self, quantity: Quantity, value: Array, *, role: str | None = None, notes: tuple[str, ...] = ()) -> None:
        """Keep a quantity as the user gave it; from now on it stands for the role, if one is named."""
        with np.errstate(over="ignore"):
            self.steps[quantity.name] = Step(quantity, "given", self.precision.stored(value), notes=notes)
        self.current |= {role: quantity.name} if role else {}

    def now(self, role: str) -> Step:
        """The step that stands for a role by now."""
        return self.steps[self.current[role]]

    def step(
        self,
        quantity: Quantity,
        stage: str,
        function: Callable[..., Array],
        inputs: Mapping[str, str],
        *,
        options: Mapping[str, Any] | None = None,
        record: OperatorRecord | None = None,
        role: str | None = None,
    ) -> None:
        """Apply a function to earlier steps and keep its result, after what passed through its taps.

        From now on the result stands for the role, if one is named.
        """
        options = options or {}
        exact = stage in MOVES or function is unchanged
        widened = unchanged if exact else self.precision.computing
        rounded = unchanged if exact else self.precision.stored
        arguments = {name: widened(self.steps[source].value) for name, source in inputs.items()}
        listening = {"tap": self._tap(quantity, stage, inputs, record)} if record is not None and record.inner else {}
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):  # told in a note
            try:
                value = rounded(np.asarray(function(**arguments, **options, **listening)))
            except MemoryError:
                hint = "compute some of the queries with only"
                raise AttnError(f"there is not enough memory for {quantity.name}", hint=hint) from None
        notes = () if exact else self.noticed(quantity.name, stage, arguments, value)
        self.steps[quantity.name] = Step(quantity, stage, value, function, inputs, options, record, notes=notes)
        self.current |= {role: quantity.name} if role else {}

    def noticed(self, name: str, stage: str, arguments: Mapping[str, Array], value: Array) -> tuple[str, ...]:
        """What the user should know of a step."""
        return overflow(name, stage, arguments, value)

    def note_empty_rows(self, name: str, labels: Sequence[str]) -> None:
        """Add to the weights a note that says which queries attend to nothing; `labels` has a name for each row."""
        step = self.steps[name]
        found = empty_rows_warning(~(step.value != 0).any(axis=-1), step.axes[:-1], labels)
        self.steps[name] = replace(step, notes=(*step.notes, *found))

    def _tap(self, outer: Quantity, stage: str, inputs: Mapping[str, str], record: OperatorRecord) -> Tap:
        """What an operator's function hands its inner quantities to, on the way to the outer one: they become steps."""
        known = {quantity.name: quantity for quantity in record.inner}
        leading = tuple(letter for letter in outer.axes if letter in COUNTED_FROM_0)
        renamed = dict(zip(record.shapes.result, outer.axes[len(leading) :], strict=True))

        def tap(name: str, value: Array) -> Array:
            axes = (*leading, *(renamed.get(letter, letter) for letter in known[name].axes))[-value.ndim :]
            kept = name if name not in self.steps else f"{outer.name}_{name}"
            self.steps[kept] = Step(
                Quantity(kept, known[name].symbol, known[name].formula, axes),
                stage,
                self.precision.stored(value),
                inputs=inputs,
                tapped_from=outer.name,
            )
            return value  # what is shown is rounded; what is computed on is not

        return tap
