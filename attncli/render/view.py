"""What a person asked to see of a result."""

from dataclasses import dataclass

from attncli.trace import Result

PLACES = 4


@dataclass(frozen=True)
class View:
    """What a person asked to see of a result."""

    result: Result
    explain: bool = False
    places: int = PLACES
    cell: tuple[int, int] | None = None  # a query and a key
    head: int | None = None
