"""Completion: names from a list, and results, steps and labels of the problem on the unfinished command line."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from attncli.base.errors import AttnError
from attncli.base.labels import EVERY, number_equal_labels
from attncli.cli.option_values import at_layers, given_keys, read_problem_options
from attncli.io.paths import STDIN, is_there
from attncli.ops.registry import look_up, operators, taken_kinds
from attncli.problem.fields import QUERIES, RESULTS, Field
from attncli.problem.spec import FIELDS, OPERATOR_FIELDS
from attncli.problem.vocabularies import SMALL_NAME

if TYPE_CHECKING:
    from attncli.io.problem_files import Document
    from attncli.problem.spec import ProblemSpec

MAX_SIZE = 10**7  # bytes to read of each file to complete a word: about a tenth of a second
_SPECIAL = re.compile(r"""[\s,*?!$&;|<>(){}\[\]'"`\\~]""")  # characters with a meaning to an option or a shell
MAX_DRAWN = 10**7  # numbers of an array to draw for it


Meanings = Mapping[str, str]  # meanings of some words, which shells show next to them


def complete_from(words: Callable[[], Iterable[str] | Meanings]) -> Callable[[str], list[tuple[str, str]]]:
    """The completion of a word from a fixed list, with meanings if it has them."""

    def complete(incomplete: str) -> list[tuple[str, str]]:
        known = words()
        meanings = known if isinstance(known, Mapping) else dict.fromkeys(known, "")
        return [(word, meaning) for word, meaning in meanings.items() if word.startswith(incomplete)]

    return complete


def field_completion(field: Field) -> Callable[..., Any] | None:
    """The completion of a key's value: words, operators, masks too, or queries; None for other kinds."""
    if field.panel == QUERIES:
        return complete_queries
    if field.words:
        return complete_from(lambda: field.words)
    if field.kind == "vocabulary":
        return complete_from(lambda: (SMALL_NAME,))
    if field.kind == "boolean_matrix":
        return complete_from(_masks)
    if field.kind in taken_kinds():
        return complete_from(lambda: _summaries(field.kind, operators(field.kind)))
    return None


def _masks() -> Meanings:
    """The masks that a problem can name; only completion imports their list, help does not."""
    from attncli.problem.operators import named_masks

    return _summaries("mask", named_masks())


def _summaries(kind: str, names: Iterable[str]) -> Meanings:
    """The summaries of operators of a kind, by name."""
    return {name: look_up(kind, name).summary for name in names}


@complete_from
def complete_convention() -> Meanings:
    """The conventions, each with its framework."""
    from attncli.problem.conventions import CONVENTIONS

    return {name: convention.title for name, convention in CONVENTIONS.items()}


def complete_vary(incomplete: str) -> Sequence[tuple[str, str]]:
    """`KEY=` and `KEY.PARAMETER=` with this beginning, or `KEY=VALUE` for words, operators, true and false."""
    key, sign, value = incomplete.partition("=")
    owner, dot, _ = key.partition(".")
    if not sign and dot and owner in OPERATOR_FIELDS:
        from attncli.io.variants import parameter_kinds

        parameters = {f"{owner}.{parameter}=": f"a parameter of {owner}" for parameter in parameter_kinds(owner)}
        return complete_from(lambda: parameters)(key)
    if not sign:
        return complete_from(lambda: {f"{name}=": field.help for name, field in FIELDS.items()})(key)
    if key not in FIELDS:
        return []
    field = FIELDS[key]
    complete = complete_from(lambda: ("true", "false")) if field.kind == "flag" else field_completion(field)
    if complete is None or field.kind == "labels":  # the words may lack the problem with the queries
        return []
    return [(f"{key}={word}", meaning) for word, meaning in complete(value)]


def complete_selection(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Results, and steps of the problem, that continue the last name of a list, each with its purpose."""
    from attncli.plan.build import plan_of, purposes

    texts = purposes()
    names = {name: texts[name] for name in RESULTS}
    problem = problem_on_line(context)
    if problem is not None:
        plan = plan_of(problem)
        names = {name: purpose for name, purpose in names.items() if name in plan.results}
        names |= {node.name: node.purpose for node in plan.nodes if node.name not in names}
    return [(text, names[name]) for text, name in last_of_list(incomplete, names)]


def complete_edit(context: typer.Context, incomplete: str) -> list[str]:
    """The keys of arrays with this beginning; after the bracket the labels of each axis in turn."""
    from attncli.problem.edits import editable_keys, find_array

    problem = problem_on_line(context)
    if problem is None or "]" in incomplete:
        return []
    key, bracket, index = incomplete.partition("[")
    if not bracket:
        return [f"{name}[" for name in editable_keys(problem) if name.startswith(key)]
    before, comma, last = index.rpartition(",")
    axis_number = before.count(",") + 1 if comma else 0
    try:
        axes = find_array(problem, key).axes
    except AttnError:  # the command itself reports the mistake
        return []
    if axis_number >= len(axes):
        return []
    end = "]=" if axis_number == len(axes) - 1 else ","
    labels = [*_labels([*map(str, axes[axis_number].entries)]), EVERY]
    return [f"{key}[{before}{comma}{label}{end}" for label in labels if label.startswith(last)]


def complete_layer(context: typer.Context, incomplete: str) -> list[str]:
    """The layers of the capture on the command line with this beginning."""
    from attncli.io.inputs import Inputs
    from attncli.io.problem_files import file_parts, read_document

    file = _file(context)
    if file is None or _is_stream(file):
        return []
    try:
        parts = file_parts(read_document(file, Inputs(MAX_SIZE)), file)
    except (AttnError, OSError):  # the command itself reports the mistake
        return []
    return [part.name for part in parts if part.name and part.name.startswith(incomplete)]


def complete_expected(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """`NAME=` for the results and steps with this beginning; after the sign, the shell completes a file."""
    names = [] if {"=", ","} & {*incomplete} else complete_selection(context, incomplete)
    return [(f"{name}=", purpose) for name, purpose in names]


def complete_queries(context: typer.Context, incomplete: str) -> list[str]:
    """The labels of queries that continue the last label of a list."""
    problem = problem_on_line(context)
    labels = () if problem is None else _labels(problem.query_labels)
    return [text for text, _ in last_of_list(incomplete, labels)]


def complete_cell(context: typer.Context, incomplete: str) -> list[str]:
    """The labels of queries, and after the comma the labels of keys and `*`, that continue a cell.

    `*` alone is not offered: bash would replace it by the names of all files.
    """
    problem = problem_on_line(context)
    if problem is None or incomplete.count(",") > 1:
        return []
    query, comma, key = incomplete.rpartition(",")
    labels = [*_labels(problem.key_labels), EVERY] if comma else _labels(problem.selected_query_labels)
    return [f"{query}{comma}{label}" for label in labels if label.startswith(key)]


def last_of_list(incomplete: str, names: Iterable[str]) -> Sequence[tuple[str, str]]:
    """The list with its last item completed by each matching name that is not in it yet, and the name."""
    head, comma, last = incomplete.rpartition(",")
    taken = {part.strip() for part in head.split(",")} if head else set()
    return [(f"{head}{comma}{name}", name) for name in names if name.startswith(last) and name not in taken]


def _labels(labels: Sequence[str]) -> list[str]:
    """Labels as options take them, except those that an option or a shell would read differently."""
    return [label for label in number_equal_labels(labels) if not _SPECIAL.search(label)]


def problem_on_line(context: typer.Context) -> "ProblemSpec | None":
    """The problem of the tokens before the unfinished one; None if there is none to read.

    It reads no stream, standard input included, and at most MAX_SIZE of a file, and draws no array of more than
    MAX_DRAWN numbers.
    """
    from attncli.io.assemble import assemble
    from attncli.io.inputs import Inputs

    convention = context.params.get("convention")
    convention = convention if isinstance(convention, str) else None  # several conventions share no plan
    file = _file(context)
    layer = next(iter(context.params.get("layers") or ()), context.params.get("layer"))
    if file is not None and layer is not None:
        (file,) = at_layers([file], [layer])
    keys = given_keys({name: value for name, value in context.params.items() if name in FIELDS})
    texts = [file, *(value for value in keys.values() if isinstance(value, str))]
    if (file is None and not keys) or any(text is not None and _is_stream(text) for text in texts):
        return None
    try:
        document = read_problem_options(file, keys, Inputs(MAX_SIZE))
        return None if _draws_much(document) else assemble(document, convention)
    except (AttnError, OSError, MemoryError):  # the command itself reports the mistake
        return None


def _file(context: typer.Context) -> str | None:
    """The first problem file on the unfinished command line."""
    files = context.params.get("problems") or [context.params.get("problem") or next(iter(context.args), None)]
    file: str | None = files[0]
    return file


def _draws_much(document: "Document") -> bool:
    """Whether the two largest sizes of a problem imply an array of more than MAX_DRAWN numbers."""
    from attncli.problem.random_fill import SIZE_FIELDS

    sizes = [document[name].value for name in SIZE_FIELDS if name in document]
    *_, rows, columns = 1, 1, *sorted(size for size in sizes if isinstance(size, int))
    return rows * columns > MAX_DRAWN


def _is_stream(text: str) -> bool:
    """Whether a text names standard input, or a pipe or a device."""
    return text == STDIN or (is_there(Path(text)) and not Path(text).is_file())
