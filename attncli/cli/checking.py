"""One problem checked: what is expected of it is read, compared, and an error names the place of the numbers."""

from typing import TYPE_CHECKING

from attncli.base.errors import AttnError
from attncli.problem.results import EXPECTED

if TYPE_CHECKING:
    from attncli.analysis.check.options import CheckOptions
    from attncli.analysis.check.report import CheckReport
    from attncli.io.expected import Expected
    from attncli.problem.spec import ProblemSpec


def check_expected(problem: "ProblemSpec", expected: "Expected", options: "CheckOptions", place: str) -> "CheckReport":
    """Check what is expected of a problem; raises AttnError, which names the place of the numbers or of the problem."""
    from attncli.analysis.check.check import check

    by_name = expected.by_name
    try:
        return check(problem, {name: expectation.value for name, expectation in by_name.items()}, options)
    except AttnError as error:
        key, name, *_ = (*error.path, "", "")
        if key == EXPECTED and name in by_name:
            raise by_name[name].locate(error) from None
        raise error.at(place) if place else error from None
