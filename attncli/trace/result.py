"""The result of a computation: its selected arrays as attributes."""

from collections.abc import Iterable
from typing import Any

from attncli.trace.steps import Trace

DEFAULT_SELECTION = ("scores", "weights", "output")


class Result:
    """The selected results of one computation, as attributes: `result.weights`."""

    def __init__(self, trace: Trace, select: Iterable[str] = DEFAULT_SELECTION) -> None:
        self.trace = trace
        self.select = (select,) if isinstance(select, str) else tuple(select)
        for name in self.select:
            trace[name]  # an unknown name is met here, not at its first use

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.select:
            chosen = ", ".join(self.select)
            raise AttributeError(f"{name!r} was not selected; select= has {chosen}")
        return self.trace[name].value

    @property
    def query_tokens(self) -> tuple[str, ...]:
        """The labels of the queries."""
        return self.trace.labels["n"]

    @property
    def key_tokens(self) -> tuple[str, ...]:
        """The labels of the keys."""
        return self.trace.labels["m"]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {self.trace[name].value.shape}" for name in self.select)
        return f"Result({sizes})"
