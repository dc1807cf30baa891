"""The values of a problem's options, as those of a file: the keys of the problem file, and the options over them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attncli.base.errors import AttnError
from attncli.cli.unquoted import QUOTE_HINT, is_part_of_list
from attncli.problem.fields import option_name
from attncli.problem.spec import FIELDS

if TYPE_CHECKING:
    from attncli.io.inputs import Inputs
    from attncli.io.problem_files import Document
    from attncli.problem.edits import Edit, EditedProblem
    from attncli.problem.spec import ProblemSpec


def read_problem_options(problem: str | None, keys: Mapping[str, Any], inputs: "Inputs") -> "Document":
    """The keys of the problem file, if there is one, with those of the options over them.

    Files are opened through `inputs`. Raises AttnError where standard input is named more than once, or the file can't
    be read.
    """
    from attncli.io.assemble import read_option
    from attncli.io.origin import Origin, RawValue
    from attncli.io.problem_files import read_document

    texts = {name: text for name, text in keys.items() if text not in (None, [], ())}
    check_stdin(problem, *texts.values())
    if problem is not None and is_part_of_list(problem):
        raise AttnError(f"{problem!r} is no problem file", hint=QUOTE_HINT)
    document = read_document(problem, inputs) if problem is not None else {}
    origin = Origin(options=True, inputs=inputs)
    return document | {
        name: RawValue(read_option(FIELDS[name], text, (option_name(name),)), origin) for name, text in texts.items()
    }


def check_stdin(*texts: Any) -> None:
    """Raise AttnError where more than one of the values of arguments and options is standard input."""
    from attncli.io.paths import STDIN

    if sum(text == STDIN for text in texts) > 1:
        raise AttnError("is named twice, and can be read once", where="standard input", hint="use - once")


def read_edits(texts: Sequence[str] | None) -> "list[Edit]":
    """The edits that `--set` gives; raises AttnError where a text is none."""
    if not texts:
        return []
    from attncli.io.edit import parse_edit

    return [parse_edit(text) for text in texts]


def edited_problem(problem: "ProblemSpec", edits: "Sequence[Edit]") -> "EditedProblem":
    """A problem before and after some edits; raises AttnError where the problem does not allow one of them."""
    if edits:
        from attncli.problem.edits import edit_problem

        return edit_problem(problem, edits)
    from attncli.problem.edits import EditedProblem

    return EditedProblem(problem, problem)


def parse_tolerance(text: str | None, option: str) -> float | None:
    """The number of an option that is not negative; None where it is not given. Raises AttnError for others."""
    from attncli.io.literals import read_number
    from attncli.problem.numbers import is_number, to_number_from

    if text is None:
        return None
    value = read_number(text, (option,))
    return to_number_from(value if is_number(value) else text, (option,), 0)
