"""CheckOutcome: what became of one problem of a suite: its report, or why it could not be checked."""

from attncli.analysis.check.report import CheckReport
from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.io.inputs import STDIN_NAME
from attncli.io.paths import STDIN
from attncli.problem.edits import EditedCell


@dataclass(frozen=True)
class BeforeEdits:
    """What the check of a problem found before numbers of it were set, and which were."""

    report: CheckReport
    cells: tuple[EditedCell, ...]


@dataclass(frozen=True)
class CheckOutcome:
    """A problem that was to be checked: a file, or one part of it, by its title or its number.

    It has a report or an error. `file` is as it was named, empty where all of the problem was given as options; `part`
    is empty where the file is one problem. `before` is there where numbers of the problem were set.
    """

    file: str
    part: str
    report: CheckReport | None
    error: AttnError | None
    seconds: float
    before: BeforeEdits | None = None

    @property
    def name(self) -> str:
        """The file and the part, as errors name them."""
        file = STDIN_NAME if self.file == STDIN else self.file
        return ", ".join(filter(None, (file, self.part and f"part {self.part}"))) or "the problem"

    @property
    def agrees(self) -> bool:
        """Whether it was checked and no number differs."""
        return self.report is not None and self.report.agrees

    @property
    def has_verdict(self) -> bool:
        """Whether numbers were to be compared; they were not where only slips were looked for."""
        return self.report is None or self.report.has_verdict
