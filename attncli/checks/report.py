"""What a check is asked and what it finds, as data: its options, a report of each quantity, the outcome in a suite."""

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

FEW_NUMBERS = 4  # fewer for each slip are near its numbers by chance


@dataclass(frozen=True)
class CheckOptions:
    """How expected numbers are checked.

    Where `rtol`, `atol` or `ulp` is given (a finite number from 0), two numbers agree if they differ by no more than
    `atol + rtol · |expected|`, or by no more than `ulp` units in the last place of the type; otherwise the tolerance is
    derived. `head` and `batch` check one head and one batch item. Where numbers differ, slips are tried for `seconds`;
    `finds_unnoticed` also looks for slips that these inputs can't tell from the right computation, and `finds_passed`
    for those that the tolerance that was given lets pass and the derived one does not.
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
    """The cell whose error is largest in proportion to its tolerance."""

    position: tuple[int, ...]
    labels: tuple[str, ...]
    expected: float
    computed: float
    allowed: float  # by how much both may differ


@dataclass(frozen=True)
class Reading:
    """How the numbers of a result that differ can be read, without a mistake of computing: its name, and a sentence.

    `parameters` has the numbers in it. What `may_be_computed` may also come from a mistake of computing, unless it
    `is_partial`: some numbers are right. One that `is_of_sheet` holds for all results that have it;
    a mistake without a number in it is likelier than one that `is_doubtful`.
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
    """So many typed numbers that agree to as many digits: their largest error, and the largest that is allowed."""

    count: int
    digits: int
    max_abs: float
    tolerance: float


@dataclass(frozen=True)
class QuantityCheck:
    """One quantity: how many of its numbers are expected, how many of them differ, and how far.

    The arrays have the axes of the step in the trace. Where no number is expected, `is_given` and `differs` are false
    and `expected` is NaN.
    """

    name: str
    count: int
    differ: int
    digits: int  # to how many significant digits all numbers agree
    by_digits: tuple[DigitsOfAgreement, ...]  # the same of numbers typed to different decimals, most digits first
    tolerance: float  # the largest difference that is allowed in any cell
    tolerance_reason: str  # the tolerance, in a sentence
    max_abs: float
    max_rel: float
    max_ulp: float  # in units in the last place of `ulp_dtype`
    ulp_dtype: str
    correlation: float | None  # None where one of both does not vary
    cosine: float | None
    worst: WorstCell | None  # None where nothing differs
    expected: Array
    computed: Array
    is_given: Array
    differs: Array
    follows: bool | None = None  # whether numbers that differ follow from those expected before them; None if unknown
    other_step: str | None = None  # the step that has the numbers that differ, in the same cells
    reading: Reading | None = None  # of the numbers that differ, where a plain one accounts for them
    half_type: str | None = None  # in which they would agree, were the problem computed in it and not in a finer type
    remarks: tuple[str, ...] = ()  # which shapes were matched, which part was checked
    is_array: bool = False  # numbers of a program, with a type of their own, not typed ones
    looser: str = ""  # that numbers agree only as those of a half type in every step, in words: `within what …`

    @property
    def agrees(self) -> bool:
        """Whether no number differs."""
        return self.differ == 0


@dataclass(frozen=True)
class Explanation:
    """Slips that explain the numbers together, and a sentence that says what was done instead.

    `parameters` has the numbers that were found for them, by name.
    """

    slips: tuple[str, ...]
    sentence: str
    parameters: Mapping[str, float | tuple[float, ...]] = field(default_factory=dict)

    @property
    def chosen_count(self) -> int:
        """How much was chosen so that it explains the numbers: slips, and the numbers in them."""
        return len(self.slips) + len(self.parameters)


@dataclass(frozen=True)
class Telling:
    """Which explanations are the `same` on these inputs, and a number in which others differ.

    It is of the result `name`, at the cell of these labels, with the `numbers` by the names of slips; the name is empty
    where there is no such number. `by_other_inputs` says that other inputs of the same shapes tell more of them apart.
    """

    same: tuple[tuple[str, ...], ...]
    name: str = ""
    labels: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    by_other_inputs: bool = False


@dataclass(frozen=True)
class PartExplanation:
    """Slips that explain the numbers at some positions along an axis of a result, where none explains all of them."""

    name: str
    part: AxisPart
    explanation: Explanation
    others_agree: bool = False  # or differ, and are not explained by it


@dataclass(frozen=True)
class NearestSlip:
    """A slip that explains most of the numbers that differ in a result, `count` of them, where nothing explains all."""

    name: str  # of the result
    count: int
    explanation: Explanation


@dataclass(frozen=True)
class CheckReport:
    """What a check found: the quantities in the order of the computation, and the slips that explain them."""

    trace: Trace  # of the reference
    results: tuple[QuantityCheck, ...]
    reference: str  # in which type the reference was computed: "float64", "longdouble", "50 digits"
    explanations: tuple[Explanation, ...] = ()
    telling: Telling | None = None  # of several explanations
    parts: tuple[PartExplanation, ...] = ()  # where nothing explains all numbers
    nearest: NearestSlip | None = None  # where nothing explains all or a part
    tried_count: int = 0  # how many variants of slips and of pairs of slips were tried
    untried: tuple[str, ...] = ()  # sentences: which were not, and why
    unnoticed: tuple[Explanation, ...] | None = None  # slips that would not be noticed; None where it was not asked
    passed: tuple[str, ...] | None = None  # slips that the tolerance given lets pass; None where it was not asked
    reference_remark: str = ""  # why the reference does not have 50 digits, where that was asked for
    pair_count: int = 0  # how many of those that were tried are pairs
    searched: str = ""  # where nothing is expected: the result in which slips were looked for
    searched_reason: str = ""  # the tolerance of that result, in words
    blank: Mapping[str, int] = field(default_factory=dict)  # how many numbers of each result were left blank

    @property
    def has_verdict(self) -> bool:
        """Whether any number was compared; otherwise only slips that would go unnoticed were looked for."""
        return bool(self.results)

    @property
    def count(self) -> int:
        """How many numbers are expected."""
        return sum(result.count for result in self.results)

    @property
    def differ(self) -> int:
        """How many of them differ."""
        return sum(result.differ for result in self.results)

    @property
    def blank_count(self) -> int:
        """How many numbers that are asked for were left blank."""
        return sum(self.blank.values())

    @property
    def differing(self) -> Sequence[QuantityCheck]:
        """The quantities of which numbers differ."""
        return [result for result in self.results if not result.agrees]

    @property
    def agrees(self) -> bool:
        """Whether no number differs, and none was left blank."""
        return not self.differing and not self.blank

    @property
    def first_difference(self) -> str | None:
        """The name of the first quantity that differs."""
        return next((result.name for result in self.differing), None)

    @property
    def other_step(self) -> str | None:
        """The step whose few numbers were given in place of those of the first quantity that differs; else None."""
        return next((result.other_step for result in self.differing), None)

    @property
    def half_type(self) -> str | None:
        """The half type in which all quantities would agree, were the problem computed in it; None without one."""
        types = {result.half_type for result in self.differing}
        return types.pop() if len(types) == 1 else None

    @property
    def looser(self) -> str:
        """That numbers agree only as those of a half type in every step, in words; empty where they agree closer."""
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
        """Whether the context or the output differs, and nothing before it is expected, although it is computed.

        Of a person's numbers: a kernel computes all steps at once, and has no others to give.
        """
        early = {name for name in ("scores", "weights") if name in self.trace.plan.results}
        is_late = self.first_difference in ("context", "output") and not any(x.is_array for x in self.results)
        return is_late and bool(early) and early.isdisjoint(result.name for result in self.results if result.count)

    @property
    def is_undecided(self) -> bool:
        """Whether so few numbers are expected that slips explain them which are not the same on these inputs."""
        return self.may_be_chance and self.telling is not None and len(self.telling.numbers) > 1


@dataclass(frozen=True)
class BeforeEdits:
    """What the check of a problem found before numbers of it were set, and which were."""

    report: CheckReport
    cells: tuple[EditedCell, ...]


@dataclass(frozen=True)
class CheckOutcome:
    """A problem of a suite, with its report or the error why it could not be checked.

    `file` is as it was named, empty where options alone are the problem. `part` is the title or the number of a part,
    empty where the file is one problem. `before` is there where numbers of the problem were set. `unanswered` has how
    many numbers of each result are asked for and not given; where that are all of them there is no report, otherwise
    the report has them as `blank`.
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
        """The file and the part, as errors name them."""
        file = STDIN_NAME if self.file == STDIN else self.file
        return ", ".join(filter(None, (file, self.part and f"part {self.part}"))) or "the problem"

    @property
    def is_unanswered(self) -> bool:
        """Whether numbers are asked for, and none is given."""
        return self.report is None and self.error is None

    @property
    def agrees(self) -> bool:
        """Whether it was checked and no number differs."""
        return self.report is not None and self.report.agrees

    @property
    def has_verdict(self) -> bool:
        """Whether numbers were to be compared, not only slips looked for."""
        return self.report is None or self.report.has_verdict
