"""What a person asked to see of a result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attncli.trace.result import Result

PLACES = 4


@dataclass(frozen=True)
class View:
    """What a person asked to see of a result.

    `chosen` has the position on each axis (b batch items, h heads) of which one is wanted; `every` has the axes of
    which an explanation shows all.
    """

    result: Result
    explain: bool = False
    places: int = PLACES
    cell: tuple[int, int] | None = None  # a query and a key
    chosen: Mapping[str, int] = field(default_factory=dict)
    every: frozenset[str] = frozenset()

    @property
    def names(self) -> Sequence[str]:
        """The results that are shown: the selected ones, and to explain every step."""
        return [step.name for step in self.result.trace.computed] if self.explain else self.result.select
