"""The plugin for pytest: the fixture `attn_check`, and files `*.attn.yaml` as tests of their expected numbers.

pytest imports it at every start, so it imports the checks only when a test needs them.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import pytest

if TYPE_CHECKING:
    from attncli.api.arguments import ProblemKeys
    from attncli.api.check import Report
    from attncli.api.problem import Problem

__all__ = ["AttnCheck"]

FILE_SUFFIX = ".attn.yaml"
WHOLE_FILE = "check"  # the test's name for a file without parts


class AttnCheck:
    """The fixture `attn_check`: calling it checks numbers, and fails the test with the report of the check.

    It looks for a problem file that a call names in `folder`, the test's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __repr__(self) -> str:
        return f"AttnCheck({str(self._folder)!r})"

    def __call__(
        self,
        output: Any = None,
        problem: "str | os.PathLike[str] | Problem | None" = None,
        /,
        *,
        against: Mapping[str, Any] | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        ulp: float | None = None,
        reference: bool = False,
        head: int | None = None,
        batch: int | None = None,
        convention: str | None = None,
        **keys: "Unpack[ProblemKeys]",
    ) -> "Report":
        """Compare an output, and other results by their names in `against`, with the reference; return the report.

        The problem is its keys as keywords (`query=q, key=k, value=v, causal=True`), a file or an `attncli.Problem`,
        whose keys the keywords replace. A file or a problem alone is checked against its own expected numbers:
        `attn_check("case.yaml")`. Arrays, tolerances and the other parameters work as in `attncli.check`.

        Raises AssertionError, whose message is the report, if a number differs, and AttnError if the numbers can't be
        checked.

        >>> check = AttnCheck(Path())
        >>> check([[1.5]], weights=[[0.5, 0.5]], value=[[1], [2]])
        Report(The number agrees)
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        from attncli.api.check import check  # noqa: PLC0415 - pytest starts without it
        from attncli.base.errors import AttnError  # noqa: PLC0415

        try:
            if problem is None and _is_problem(output):
                problem, output = output, None
            results = _with_output(output, against)
            found = self._find_problem(problem, convention, keys)
            report = check(
                found, against=results, rtol=rtol, atol=atol, ulp=ulp, reference=reference, head=head, batch=batch
            )
        except AttnError as error:
            raise error.with_traceback(None) from None  # the error is complete
        report.raise_for_difference()
        return report

    def _find_problem(
        self, problem: "str | os.PathLike[str] | Problem | None", convention: str | None, keys: "ProblemKeys"
    ) -> "Problem":
        """The problem from a file, from keys, or a given one, with these keys replacing its own."""
        from attncli.api.attention import load  # noqa: PLC0415 - pytest starts without it
        from attncli.api.problem import Problem  # noqa: PLC0415

        if problem is None:
            return Problem(convention=convention, **keys)
        if isinstance(problem, str | os.PathLike):
            return load(str(self._folder / problem), convention=convention, **keys)
        return problem.replace(convention=convention, **keys) if keys or convention else problem


def _is_problem(value: Any) -> bool:
    """Whether the only positional argument is a problem, or the name of its file, instead of an output."""
    from attncli.api.problem import Problem  # noqa: PLC0415 - pytest starts without it

    return isinstance(value, str | os.PathLike | Problem)


def _with_output(output: Any, against: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The results to check by name, the output among them; raises AttnError if it is given twice."""
    from attncli.base.errors import AttnError  # noqa: PLC0415 - pytest starts without it

    if output is None:
        return against
    if against is not None and "output" in against:
        raise AttnError("the output is given twice", where="against", hint="leave out one of them")
    return {"output": output, **(against or {})}


@pytest.fixture(scope="module")  # Hypothesis rejects fixtures that are created again for each function
def attn_check(request: pytest.FixtureRequest) -> AttnCheck:
    """Assert that an output is right, as in `attn_check(output, query=q, key=k, value=v, causal=True)`."""
    return AttnCheck(request.path.parent)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ProblemFile | None":
    """Collect a problem file whose name marks it as a test."""
    return ProblemFile.from_parent(parent, path=file_path) if file_path.name.endswith(FILE_SUFFIX) else None


class ProblemFile(pytest.File):
    """A problem file, with a test for each part with expected numbers."""

    def collect(self) -> Iterator["ProblemTest"]:
        """The tests of the parts; a file that can't be checked has one, which fails, so that others still run."""
        from attncli.api.file_checks import parts_with_expected  # noqa: PLC0415 - pytest starts without it
        from attncli.base.errors import AttnError  # noqa: PLC0415

        try:
            names = [(part.name, part.selector) for part in parts_with_expected(self.typed_path)]
        except AttnError:
            names = [("", "")]
        for number, (name, selector) in enumerate(names):
            yield ProblemTest.of_part(self, name or WHOLE_FILE, selector, number)

    @property
    def typed_path(self) -> str:
        """The path as one types it after `attn check`, from the process's folder."""
        return os.path.relpath(self.path)


class ProblemTest(pytest.Item):
    """The test of a part of a problem file: its results equal the expected numbers."""

    parent: ProblemFile
    selector: str
    number: int

    @classmethod
    def of_part(cls, file: ProblemFile, name: str, selector: str, number: int) -> Self:
        """The test of the part with this number, among parts with expected numbers; `selector` names it in its file."""
        test: Self = cls.from_parent(file, name=name)
        test.selector, test.number = selector, number
        return test

    def runtest(self) -> None:
        """Check the part; a failure is the output of `attn check`, without a traceback."""
        from attncli.api.file_checks import check_file_part  # noqa: PLC0415 - pytest starts without it

        found = check_file_part(self.parent.typed_path, self.number)
        for note in found.notes:
            self.add_report_section("call", "warning", note)
        if found.failure is not None:
            pytest.fail(found.failure, pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """The file, and the heading of a failure: the command that prints the same."""
        typed = self.parent.typed_path + (f"#{self.selector}" if self.selector else "")
        return self.path, None, f"attn check {shlex.quote(typed)}"
