"""What a trial of a kernel found, as data: how it was called, what failed, and the smallest input that does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from attncli.checks.report import CheckReport, Explanation
from attncli.kernels.cases import KernelCase
from attncli.kernels.domain import Domain, Sizes
from attncli.problem.spec import ProblemSpec

LEAST_TELLING = 20  # inputs with which a function passes
# What went wrong: numbers that differ, NaN or an infinity, a shape or a part of what is returned, an argument that was
# changed, an exception, the end of the process, the time limit.
Kind = Literal["differs", "not_finite", "result", "changed", "raised", "crashed", "timeout"]


@dataclass(frozen=True)
class Failure:
    """What went wrong with one input, in a sentence without its subject: `raises ValueError: …`.

    `cause` tells one failure from another. `returned` has what the function gave, by the names of results, where that
    could be compared, and `report` the comparison.
    """

    kind: Kind
    sentence: str
    cause: str
    returned: Mapping[str, Any] = field(default_factory=dict)
    report: CheckReport | None = None


@dataclass(frozen=True)
class OtherFailure:
    """A failure of another kind than the one that was made small: on how many inputs, and the smallest of these."""

    kind: Kind
    sentence: str
    count: int
    sizes: Sizes


@dataclass(frozen=True)
class LawResult:
    """Whether the function keeps a law, None where it was not tried; `detail` says how it does not, or why."""

    law: str
    sentence: str
    holds: bool | None
    detail: str = ""
    sizes: Sizes | None = None
    dtype: str = ""


@dataclass(frozen=True)
class Smallest:
    """The smallest input on which the function fails: the input, the problem of it, and what happens."""

    case: KernelCase
    problem: ProblemSpec
    failure: Failure
    printed: str = ""  # what the function printed
    has_empty_row: bool = False  # whether a query sees no key


@dataclass(frozen=True)
class TrialReport:
    """What a trial found: on how many inputs the function fails, and the smallest of them, made smaller.

    `explanations` are the mistakes that explain what it gave on larger inputs, and on the smallest one too. `called`
    says how it was called, `untried` sentences what was not, and why.
    """

    function: str
    called: Sequence[str]
    domain: Domain
    layout: str
    library: str
    count: int  # inputs that were tried, without those that were refused
    failed: int
    untried: Sequence[str] = ()
    smallest: Smallest | None = None
    explanations: tuple[Explanation, ...] = ()
    others: tuple[OtherFailure, ...] = ()
    compared: tuple[str, ...] = ()  # the results that were compared
    right_with: tuple[str, ...] = ()  # options of conventions, by which it is right where it gave wrong numbers
    is_stopped: bool = False  # whether inputs were left out after too many crashes
    is_interrupted: bool = False  # by Ctrl-C
    laws: tuple[LawResult, ...] = ()
    passed: tuple[str, ...] | None = None  # mistakes that the tolerance given lets pass; None where none was
    telling: int = 0  # inputs with more than one tile of keys, and more than one head or batch item

    @property
    def passes(self) -> bool | None:
        """Whether it failed on no input; None where too few inputs tell."""
        if self.failed:
            return False
        if self.laws:
            return True if any(law.holds for law in self.laws) else None
        return True if self.telling >= LEAST_TELLING and not self.is_interrupted else None
