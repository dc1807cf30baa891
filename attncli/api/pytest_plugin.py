"""The plugin for pytest: the fixture `attn_check`, and files `*.attn.yaml` as tests of what they expect.

pytest imports it at every start: it imports what checks when a test needs it.
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
WHOLE_FILE = "check"  # the name of the test of a file without parts


class AttnCheck:
    """What the fixture `attn_check` is: calling it checks numbers, and fails the test with the report of the check.

    A problem file that a call names is looked for in `folder`, that of the test.
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
        over whose keys the keywords win. A file or a problem alone is checked by what its file expects:
        `attn_check("case.yaml")`. Arrays, tolerances and the other parameters are those of `attncli.check`.

        Raises AssertionError, whose message is the report, where a number differs, and AttnError where the numbers
        can't be checked.

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
            raise error.with_traceback(None) from None  # it says itself what is wrong
        report.raise_for_difference()
        return report

    def _find_problem(
        self, problem: "str | os.PathLike[str] | Problem | None", convention: str | None, keys: "ProblemKeys"
    ) -> "Problem":
        """The problem of a file, of keys, or one that is given, with these keys in place of its own."""
        from attncli.api.attention import load  # noqa: PLC0415 - pytest starts without it
        from attncli.api.problem import Problem  # noqa: PLC0415

        if problem is None:
            return Problem(convention=convention, **keys)
        if isinstance(problem, str | os.PathLike):
            return load(str(self._folder / problem), convention=convention, **keys)
        return problem.replace(convention=convention, **keys) if keys or convention else problem


def _is_problem(value: Any) -> bool:
    """Whether the only positional argument is a problem, or the name of its file, in place of an output."""
    from attncli.api.problem import Problem  # noqa: PLC0415 - pytest starts without it

    return isinstance(value, str | os.PathLike | Problem)


def _with_output(output: Any, against: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The results that are checked by their names, the output among them; raises AttnError where it is given twice."""
    from attncli.base.errors import AttnError  # noqa: PLC0415 - pytest starts without it

    if output is None:
        return against
    if against is not None and "output" in against:
        raise AttnError("the output is given twice", where="against", hint="leave out one of them")
    return {"output": output, **(against or {})}


@pytest.fixture(scope="module")  # Hypothesis refuses fixtures that are made anew for each function
def attn_check(request: pytest.FixtureRequest) -> AttnCheck:
    """Assert that an output is right, as in `attn_check(output, query=q, key=k, value=v, causal=True)`."""
    return AttnCheck(request.path.parent)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ProblemFile | None":
    """Collect a problem file whose name says that it is a test."""
    return ProblemFile.from_parent(parent, path=file_path) if file_path.name.endswith(FILE_SUFFIX) else None


class ProblemFile(pytest.File):
    """A problem file, with a test for each part of which something is expected."""

    def collect(self) -> Iterator["ProblemTest"]:
        """The tests of the parts; of a file that can't be checked one, which fails: others are run all the same."""
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
        """The path as one types it after `attn check`, from the folder in which the process is."""
        return os.path.relpath(self.path)


class ProblemTest(pytest.Item):
    """The test of a part of a problem file: its numbers are those that the file expects."""

    parent: ProblemFile
    selector: str
    number: int

    @classmethod
    def of_part(cls, file: ProblemFile, name: str, selector: str, number: int) -> Self:
        """The test of the part with this number, of those with expected numbers; `selector` names it in its file."""
        test: Self = cls.from_parent(file, name=name)
        test.selector, test.number = selector, number
        return test

    def runtest(self) -> None:
        """Check the part; a failure is what `attn check` prints, without a traceback."""
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
