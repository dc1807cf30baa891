"""CheckOptions: the tolerance that replaces the derived one, the reference, and what else is looked for."""

from attncli.base.dataclasses import dataclass
from attncli.engine.options import RunOptions
from attncli.engine.run import LOCAL


@dataclass(frozen=True)
class CheckOptions:
    """How expected numbers are checked.

    Where one of `rtol`, `atol` and `ulp`, finite numbers from 0, is given, two numbers agree where they differ by no
    more than `atol + rtol · |expected|`, or by no more than `ulp` units in the last place of the type; without them the
    tolerance is derived. `head` and `batch` check one head and one batch item. Slips are tried where numbers differ, as
    long as `seconds` last; `finds_unnoticed` also looks for slips that these inputs can't tell from the right
    computation.
    """

    rtol: float | None = None
    atol: float | None = None
    ulp: float | None = None
    many_digits: bool = False  # the option --reference
    head: int | None = None
    batch: int | None = None
    finds_unnoticed: bool = False
    tries_slips: bool = True
    seconds: float = 10.0
    run: RunOptions = LOCAL
