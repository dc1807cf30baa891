"""CompareOptions: which variants are compared with which, and on which heads and batch items."""

from collections.abc import Mapping
from dataclasses import field

from attncli.base.dataclasses import dataclass
from attncli.engine.options import Progress, RunOptions
from attncli.engine.run import LOCAL


@dataclass(frozen=True)
class CompareOptions:
    """How variants are compared.

    Each is compared with the first, one with edits with that before them too, and with `all_pairs` every two.
    `positions` has the one position that is compared on an axis, by the letter of the axis (b batch items, h heads).
    `progress(done, total)` is called after each variant.
    """

    all_pairs: bool = False
    positions: Mapping[str, int] = field(default_factory=dict)
    run: RunOptions = LOCAL
    progress: Progress | None = None
