"""The request and the findings of a check, as data: options, a report of each quantity, the outcome in a suite."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.checks.patterns import AxisPart
from attncli.engine.options import RunOptions
from attncli.engine.run import LOCAL
from attncli.io.inputs import STDIN_NAME
from attncli.io.paths import STDIN
from attncli.plan.trace import Trace
from attncli.problem.edits import EditedCell

FEW_NUMBERS = 4  # with fewer per slip, some slip fits by chance


@dataclass(frozen=True)
class CheckOptions:
    """How expected numbers are checked.

    If `rtol`, `atol` or `ulp` is given (a finite number from 0), two numbers agree if they differ by no more than `atol
    + rtol · |expected|`, or by no more than `ulp` units in the last place of the type; otherwise the tolerance is
    derived. `head` and `batch` check one head and one batch item. If numbers differ, slips are tried for `seconds`;
    `finds_unnoticed` also looks for slips that these inputs can't distinguish from the right computation, and
    `finds_passed` for those that the given tolerance lets pass and the derived one does not.
    """

    rtol: float | None = None
    atol: float | None = None
    ulp: float | None = None
    many_digits: bool = False  # the option --reference
    head: int | None = None
    batch: int | None = None
    finds_unnoticed: bool = False
    finds_passed: bool = False
    tries_slips: bool = True
    seconds: float = 10.0
    run: RunOptions = LOCAL


@dataclass(frozen=True)
class WorstCell:
    """The cell with the largest error in proportion to its tolerance."""

    position: tuple[int, ...]
    labels: tuple[str, ...]
    expected: float
    computed: float
    allowed: float  # by how much both may differ


@dataclass(frozen=True)
class Reading:
    """A reading of a result's wrong numbers without a mistake of computing: its name, and a sentence.

    `parameters` has its numbers. A reading that `may_be_computed` may also come from a mistake of computing, unless it
    `is_partial`: some numbers are right. One that `is_of_sheet` holds for all results that have it; a mistake without a
    number is likelier than one that `is_doubtful`.
    """

    name: str
    sentence: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    may_be_computed: bool = False
    is_partial: bool = False
    is_of_sheet: bool = False
    is_doubtful: bool = False


@dataclass(frozen=True)
class DigitsOfAgreement:
    """A count of typed numbers that agree to as many digits: their largest error, and the permitted one."""

    count: int
    digits: int
    max_abs: float
    tolerance: float


@dataclass(frozen=True)
class QuantityCheck:
    """One quantity: how many of its numbers are expected, how many differ, and how far.

    The arrays have the axes of the step in the trace. Without an expected number, `is_given` and `differs` are false
    and `expected` is NaN.
    """

    name: str
    count: int
    differ: int
    digits: int  # significant digits to which all numbers agree
    by_digits: tuple[DigitsOfAgreement, ...]  # the same for numbers typed to different decimals, most digits first
    tolerance: float  # the largest permitted difference in any cell
    tolerance_reason: str  # the tolerance, in a sentence
    max_abs: float
    max_rel: float
    max_ulp: float  # in units in the last place of `ulp_dtype`
    ulp_dtype: str
    correlation: float | None  # None if either is constant
    cosine: float | None
    worst: WorstCell | None  # None if nothing differs
    expected: Array
    computed: Array
    is_given: Array
    differs: Array
    follows: bool | None = None  # whether wrong numbers follow from earlier expected ones; None if unknown
    other_step: str | None = None  # the step that has the wrong numbers in the same cells
    reading: Reading | None = None  # a plain reading of the wrong numbers, if one accounts for them
    half_type: str | None = None  # the half type in which they would agree, if the problem were computed in it
    remarks: tuple[str, ...] = ()  # which shapes were matched, which part was checked
    is_array: bool = False  # numbers from a program, with their own type, not typed ones
    looser: str = ""  # reason why numbers agree only with a half type in every step: `within what …`

    @property
    def agrees(self) -> bool:
        """Whether no number differs."""
        return self.differ == 0


@dataclass(frozen=True)
class Explanation:
    """Slips that together explain the numbers, and a sentence about the wrong computation.

    `parameters` has their fitted numbers, by name.
    """

    slips: tuple[str, ...]
    sentence: str
    parameters: Mapping[str, float | tuple[float, ...]] = field(default_factory=dict)

    @property
    def chosen_count(self) -> int:
        """How many choices explain the numbers: slips, and their fitted numbers."""
        return len(self.slips) + len(self.parameters)


@dataclass(frozen=True)
class Telling:
    """The explanations that are the `same` on these inputs, and a number in which others differ.

    The number belongs to the result `name`, at the cell with these labels; `numbers` has its value for each slip. The
    name is empty if there is no such number. `by_other_inputs` means that other inputs of the same shapes separate more
    of them.
    """

    same: tuple[tuple[str, ...], ...]
    name: str = ""
    labels: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    by_other_inputs: bool = False


@dataclass(frozen=True)
class PartExplanation:
    """Slips that explain the numbers at some positions along an axis of a result, if none explains all."""

    name: str
    part: AxisPart
    explanation: Explanation
    others_agree: bool = False  # or differ without this explanation


@dataclass(frozen=True)
class NearestSlip:
    """A slip that explains most wrong numbers of a result, `count` of them, if nothing explains all."""

    name: str  # in the result
    count: int
    explanation: Explanation


@dataclass(frozen=True)
class CheckReport:
    """The findings of a check: the quantities in the order of the computation, and the slips that explain them."""

    trace: Trace  # in the reference
    results: tuple[QuantityCheck, ...]
    reference: str  # the type of the reference: "float64", "longdouble", "50 digits"
    explanations: tuple[Explanation, ...] = ()
    telling: Telling | None = None  # for several explanations
    parts: tuple[PartExplanation, ...] = ()  # if nothing explains all numbers
    nearest: NearestSlip | None = None  # if nothing explains all or a part
    tried_count: int = 0  # variants of slips and of pairs of slips tried
    untried: tuple[str, ...] = ()  # sentences: which ones were not tried, and why
    unnoticed: tuple[Explanation, ...] | None = None  # slips that would go unnoticed; None if not requested
    passed: tuple[str, ...] | None = None  # slips that the given tolerance lets pass; None if not requested
    reference_remark: str = ""  # why the reference lacks 50 digits, if requested
    pair_count: int = 0  # pairs among the tried ones
    searched: str = ""  # without expected numbers: the result in which slips were looked for
    searched_reason: str = ""  # that result's tolerance, in words
    blank: Mapping[str, int] = field(default_factory=dict)  # blank numbers of each result

    @property
    def has_verdict(self) -> bool:
        """Whether any number was compared; otherwise only unnoticed slips were looked for."""
        return bool(self.results)

    @property
    def count(self) -> int:
        """The count of expected numbers."""
        return sum(result.count for result in self.results)

    @property
    def differ(self) -> int:
        """The count of wrong numbers."""
        return sum(result.differ for result in self.results)

    @property
    def blank_count(self) -> int:
        """The count of requested numbers left blank."""
        return sum(self.blank.values())

    @property
    def differing(self) -> Sequence[QuantityCheck]:
        """The quantities with wrong numbers."""
        return [result for result in self.results if not result.agrees]

    @property
    def agrees(self) -> bool:
        """Whether no number differs, and none is blank."""
        return not self.differing and not self.blank

    @property
    def first_difference(self) -> str | None:
        """The name of the first quantity that differs."""
        return next((result.name for result in self.differing), None)

    @property
    def other_step(self) -> str | None:
        """The step whose few numbers replace those of the first quantity that differs; else None."""
        return next((result.other_step for result in self.differing), None)

    @property
    def half_type(self) -> str | None:
        """The half type in which all quantities would agree, if the problem were computed in it; None without one."""
        types = {result.half_type for result in self.differing}
        return types.pop() if len(types) == 1 else None

    @property
    def looser(self) -> str:
        """The reason why numbers agree only with a half type in every step; empty if they agree closer."""
        return next(filter(None, (result.looser for result in self.results)), "")

    @property
    def is_read_plainly(self) -> bool:
        """Whether readings of the results explain the numbers, and no slip."""
        names = {result.reading.name for result in self.results if result.reading is not None}
        return bool(self.explanations) and all(names.issuperset(found.slips) for found in self.explanations)

    @property
    def may_be_chance(self) -> bool:
        """Whether so few numbers are expected that slips may explain them by chance."""
        return not self.is_read_plainly and any(
            self.count < FEW_NUMBERS * explanation.chosen_count for explanation in self.explanations
        )

    @property
    def has_late_steps_alone(self) -> bool:
        """Whether the context or the output differs, without expected numbers for the computed steps before.

        Only for a person's numbers: a kernel computes all steps at once, and has no others to give.
        """
        early = {name for name in ("scores", "weights") if name in self.trace.plan.results}
        is_late = self.first_difference in ("context", "output") and not any(x.is_array for x in self.results)
        return is_late and bool(early) and early.isdisjoint(result.name for result in self.results if result.count)

    @property
    def is_undecided(self) -> bool:
        """Whether there are too few numbers to choose among slips that differ on these inputs."""
        return self.may_be_chance and self.telling is not None and len(self.telling.numbers) > 1


@dataclass(frozen=True)
class BeforeEdits:
    """The findings before numbers of a problem were set, and the edits."""

    report: CheckReport
    cells: tuple[EditedCell, ...]


@dataclass(frozen=True)
class CheckOutcome:
    """A problem of a suite, with its report or the error that prevented the check.

    `file` is the name as given, empty if options alone are the problem. `part` is the title or the number of a part,
    empty if the file is one problem. `before` is present after edits. `unanswered` counts the requested but missing
    numbers of each result; if all are missing there is no report, otherwise the report has them as `blank`.
    """

    file: str
    part: str
    report: CheckReport | None
    error: AttnError | None
    seconds: float
    before: BeforeEdits | None = None
    unanswered: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The file and the part, as in errors."""
        file = STDIN_NAME if self.file == STDIN else self.file
        return ", ".join(filter(None, (file, self.part and f"part {self.part}"))) or "the problem"

    @property
    def is_unanswered(self) -> bool:
        """Whether numbers are requested, and none is given."""
        return self.report is None and self.error is None

    @property
    def agrees(self) -> bool:
        """Whether it was checked and no number differs."""
        return self.report is not None and self.report.agrees

    @property
    def has_verdict(self) -> bool:
        """Whether it compared numbers, beyond looking for slips."""
        return self.report is None or self.report.has_verdict
