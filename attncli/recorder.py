"""Recorder: applies functions to named steps and keeps every result, inner quantities included."""

from collections.abc import Callable, Mapping
from typing import Any

from attncli.arrays import Array, np
from attncli.catalogue import Entry
from attncli.shapes import Letters
from attncli.trace import Step


class Recorder:
    """Computes steps one after another, each from the ones before, and keeps them by name."""

    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.steps

    def give(self, name: str, value: Array, axes: Letters, symbol: str, formula: str = "given") -> None:
        """Keep a quantity as the user gave it."""
        self.steps[name] = Step(name, "given", symbol, formula, value, axes)

    def step(
        self,
        name: str,
        stage: str,
        function: Callable[..., Array],
        inputs: Mapping[str, str],
        *,
        axes: Letters,
        symbol: str,
        formula: str,
        options: Mapping[str, Any] | None = None,
        entry: Entry | None = None,
    ) -> None:
        """Apply a function to earlier steps and keep its result, after what passed through its taps."""
        options = options or {}
        arguments = {argument: self.steps[source].value for argument, source in inputs.items()}
        leading = axes[:1] if axes[0] == "h" else ()

        def tap(inner_name: str, value: Array) -> Array:
            assert entry is not None  # only entries tap
            inner = next(i for i in entry.inner if i.name == inner_name)
            kept = inner_name if inner_name not in self.steps else f"{name}_{inner_name}"
            at = (*leading, *inner.axes)[-value.ndim :]
            self.steps[kept] = Step(
                kept,
                stage,
                inner.symbol,
                inner.formula,
                value,
                at,
                inputs=inputs,
                options=options,
                inside=name,
            )
            return value

        listening = {"tap": tap} if entry is not None and entry.taps else {}
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # told in a note, not by Python
            value = function(**arguments, **options, **listening)
        notes = _empty_rows(value) if name == "weights" else ()
        if all(np.isfinite(x).all() for x in arguments.values()) and not np.isfinite(value).all():
            notes += (f"{name} has numbers that are not finite: the arithmetic overflowed, or divided by 0",)
        self.steps[name] = Step(
            name, stage, symbol, formula, value, axes, function, inputs, options, entry, notes=notes
        )


def _empty_rows(weights: Array) -> tuple[str, ...]:
    """A note where a query attends to nothing."""
    empty = np.argwhere(~(weights != 0).any(axis=-1))
    if not len(empty):
        return ()
    rows = ", ".join(str(int(row[-1])) for row in empty[:5]) + (", …" if len(empty) > 5 else "")
    return (f"nothing is attended by {len(empty)} of the queries (positions {rows}): weights 0, output 0",)
