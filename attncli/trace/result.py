"""The result of a computation: its selected arrays as attributes."""

from collections.abc import Iterable, Sequence
from typing import Any

from attncli.trace.steps import Trace


class RunResult:
    """The selected results of one computation, as attributes.

    `result.weights` is an array [… n m] where `weights` was selected; every other name of `select` likewise. `trace`
    has the steps, `query_tokens` and `key_tokens` the labels of the queries and keys. Raises UnknownNameError where
    `select` has a name that is no result, AttributeError for a result that was not selected.

    >>> import attncli
    >>> result = attncli.attention([[1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], select=("weights", "output"))
    >>> result.weights.tolist()
    [[0.5, 0.5]]
    >>> result
    Result(weights (1, 2), output (1, 2))
    """

    def __init__(self, trace: Trace, select: Iterable[str] | None = None) -> None:
        self.trace = trace
        names = trace.problem.default_selection if select is None else select
        self.select = (names,) if isinstance(names, str) else tuple(names)
        for name in self.select:
            trace.value(name)  # raises here, not at the first use of the name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.select:
            selected = ", ".join(self.select)
            raise AttributeError(f"{name!r} was not selected; select= has {selected}")
        return self.trace.value(name)

    def __dir__(self) -> Sequence[str]:
        return [*super().__dir__(), *self.select]

    @property
    def query_tokens(self) -> tuple[str, ...]:
        """The labels of the queries."""
        return self.trace.labels["n"]

    @property
    def key_tokens(self) -> tuple[str, ...]:
        """The labels of the keys."""
        return self.trace.labels["m"]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {self.trace.value(name).shape}" for name in self.select)
        return f"{type(self).__name__}({sizes})"
