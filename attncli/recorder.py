"""Recorder: applies functions to named steps and keeps every result, inner quantities included."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from attncli.arrays import Array, np
from attncli.catalogue import Entry, Quantity, Tap
from attncli.trace import Step


class Recorder:
    """Computes steps one after another, each from the ones before, and keeps them by name."""

    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}

    def give(self, quantity: Quantity, value: Array) -> None:
        """Keep a quantity as the user gave it."""
        self.steps[quantity.name] = Step(quantity, "given", value)

    def step(
        self,
        quantity: Quantity,
        stage: str,
        function: Callable[..., Array],
        inputs: Mapping[str, str],
        *,
        options: Mapping[str, Any] | None = None,
        entry: Entry | None = None,
    ) -> None:
        """Apply a function to earlier steps and keep its result, after what passed through its taps."""
        options = options or {}
        arguments = {argument: self.steps[source].value for argument, source in inputs.items()}
        listening = {"tap": self._tap(quantity, stage, inputs, entry)} if entry is not None and entry.inner else {}
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # told in a note, not by Python
            value = function(**arguments, **options, **listening)
        notes = _empty_rows(value) if quantity.name == "weights" else ()
        if all(np.isfinite(x).all() for x in arguments.values()) and not np.isfinite(value).all():
            notes += (f"{quantity.name} has numbers that are not finite: the arithmetic overflowed, or divided by 0",)
        self.steps[quantity.name] = Step(quantity, stage, value, function, inputs, options, entry, notes=notes)

    def _tap(self, outer: Quantity, stage: str, inputs: Mapping[str, str], entry: Entry) -> Tap:
        """What an entry's function hands its inner quantities to, on the way to the outer one: they become steps."""
        known = {quantity.name: quantity for quantity in entry.inner}
        leading = outer.axes[:1] if outer.axes[0] == "h" else ()

        def tap(name: str, value: Array) -> Array:
            axes = (*leading, *known[name].axes)[-value.ndim :]
            kept = name if name not in self.steps else f"{outer.name}_{name}"
            self.steps[kept] = Step(
                replace(known[name], name=kept, axes=axes), stage, value, inputs=inputs, inside=outer.name
            )
            return value

        return tap


def _empty_rows(weights: Array) -> tuple[str, ...]:
    """A note where a query attends to nothing."""
    empty = np.argwhere(~(weights != 0).any(axis=-1))
    if not len(empty):
        return ()
    rows = ", ".join(str(int(row[-1])) for row in empty[:5]) + (", …" if len(empty) > 5 else "")
    return (f"nothing is attended by {len(empty)} of the queries (positions {rows}): weights 0, output 0",)
