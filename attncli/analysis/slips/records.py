"""Slips: the record of each mistake that people make in attention, and the table of all of them by name."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from attncli.base.dataclasses import dataclass
from attncli.plan.graph import Plan
from attncli.problem.spec import ProblemSpec


@dataclass(frozen=True)
class Computation:
    """A problem and its plan, which a slip changes, and the type of the numbers that are checked.

    The problem may be computed in a wider type than `dtype`; only a slip that overflows or rounds asks for the latter.
    """

    problem: ProblemSpec
    plan: Plan
    dtype: str


@dataclass(frozen=True)
class Variant:
    """A problem or a plan with a slip in it, and a sentence where it says more than that of the slip."""

    changed: ProblemSpec | Plan
    sentence: str = ""


Change = Callable[[Computation], Iterator[Variant]]


@dataclass(frozen=True, eq=False)
class Slip:
    """One mistake: its name, what is done wrong, where it can be made, and how it changes a problem or a plan.

    `change` yields nothing where the mistake can't be made, and several variants where there are several. Where
    `needs_all_queries` is set, the result of a query depends on the others, and no part of them can be computed alone;
    where `needs_all_heads` is, that of a head does.
    """

    name: str
    sentence: str
    applies_where: str  # completes "It can be made where …"
    change: Change
    changes_problem: bool
    needs_all_queries: bool = False
    needs_all_heads: bool = False


_SLIPS: dict[str, Slip] = {}
SLIPS: Mapping[str, Slip] = MappingProxyType(_SLIPS)


def problem_slip(applies_where: str, *, needs_all_heads: bool = False) -> Callable[[Change], Change]:
    """A decorator: the function yields changed problems; its name and docstring are the slip's name and sentence."""
    return _register(applies_where, changes_problem=True, needs_all_heads=needs_all_heads)


def plan_slip(
    applies_where: str, *, needs_all_queries: bool = False, needs_all_heads: bool = False
) -> Callable[[Change], Change]:
    """A decorator: the function yields changed plans; its name and docstring are the slip's name and sentence."""
    needs = {"needs_all_queries": needs_all_queries, "needs_all_heads": needs_all_heads}
    return _register(applies_where, changes_problem=False, **needs)


def _register(applies_where: str, *, changes_problem: bool, **needs: bool) -> Callable[[Change], Change]:
    def register(change: Change) -> Change:
        name, sentence = change.__name__, (change.__doc__ or "").partition("\n")[0]
        assert name not in _SLIPS, name
        _SLIPS[name] = Slip(name, sentence, applies_where, change, changes_problem, **needs)
        return change

    return register
