"""Which part of a result is shown, and with how many decimals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attncli.problem.results import PIPELINE_STAGES
from attncli.trace.result import Result

DECIMALS = 4


@dataclass(frozen=True)
class View:
    """A result, and which part of it is shown how.

    `explain` shows every step instead of the selected results. `cell` is the position of the query and of the key whose
    arithmetic is shown. `positions` has the one position that is shown on an axis, by the letter of the axis
    (b batch items, h heads); `expanded_axes` has the axes of which an explanation shows all positions. `remark` stands
    below the selected results.
    """

    result: Result
    explain: bool = False
    decimals: int = DECIMALS
    cell: tuple[int, int] | None = None
    positions: Mapping[str, int] = field(default_factory=dict)
    expanded_axes: frozenset[str] = frozenset()
    remark: str = ""

    @property
    def names(self) -> Sequence[str]:
        """The names of the results that are shown: of every step to explain, otherwise of the selected ones."""
        return [step.name for step in self.result.trace.computed] if self.explain else self.result.select

    @property
    def heading(self) -> str:
        """The stages of the pipeline: `scaled_dot → softmax → weighted_sum`."""
        return " → ".join(self.result.trace.pipeline[stage] for stage in PIPELINE_STAGES)
