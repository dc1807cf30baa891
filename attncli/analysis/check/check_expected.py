"""A problem checked against what was read of it: errors name the place where the numbers were given."""

from attncli.analysis.check.check import check
from attncli.analysis.check.options import CheckOptions
from attncli.analysis.check.report import CheckReport
from attncli.base.errors import AttnError
from attncli.io.expected import Expected
from attncli.problem.results import EXPECTED
from attncli.problem.spec import ProblemSpec


def check_expected(problem: ProblemSpec, expected: Expected, options: CheckOptions, place: str) -> CheckReport:
    """Check what is expected of a problem; raises AttnError, which names the place of the numbers or of the problem."""
    by_name = expected.by_name
    try:
        return check(problem, {name: expectation.value for name, expectation in by_name.items()}, options)
    except AttnError as error:
        key, name, *_ = (*error.path, "", "")
        if key == EXPECTED and name in by_name:
            raise by_name[name].locate(error) from None
        raise error.at(place) if place else error from None
