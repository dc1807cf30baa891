"""The problem from the texts of its options: a file's keys, replaced by options, then edits; and warnings."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.command_group import is_sentence
from attncli.cli.commands import COMMANDS
from attncli.cli.usage_errors import QUOTE_HINT, is_part_of_list
from attncli.io.paths import STDIN
from attncli.problem.fields import INPUTS, RANDOM, option_name
from attncli.problem.spec import FIELDS

if TYPE_CHECKING:
    from attncli.io.inputs import Inputs
    from attncli.io.problem_files import Document
    from attncli.problem.edits import Edit, EditedProblem
    from attncli.problem.spec import ProblemSpec


_POSITIONS = re.compile(r"\s*(-?[0-9]{1,9})(?:-([0-9]{1,9}))?\s*", re.ASCII)


def check_is_given(command: str, problem: str | Sequence[str] | None, keys: Mapping[str, Any]) -> None:
    """Raise AttnError, with examples of what to type, if there is neither a problem nor a key to make one."""
    if not problem and not any(FIELDS[name].panel in (INPUTS, RANDOM) for name in given_keys(keys)):
        raise AttnError("no input", hint=f"type {' or '.join(COMMANDS[command].examples[:2])}")


def given_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a problem given as options, with their texts."""
    return {name: text for name, text in keys.items() if text not in (None, [], ())}


def command_words(problem: str | None, options: Mapping[str, Any], keys: Mapping[str, Any]) -> tuple[str, ...]:
    """The tokens of a command line that gives a problem, for a shell in the folder of its files.

    `options` are by name, `keys` are the problem's. Files of the same folder lose its name. If a file is standard
    input, there is no such command.
    """
    given = {**given_keys(options), **{option_name(key): value for key, value in given_keys(keys).items()}}
    texts = [text for value in given.values() for text in (value if isinstance(value, list) else [value])]
    if STDIN in (problem, *texts):
        return ()
    files = {text: Path(text) for text in (problem, *texts) if isinstance(text, str) and _is_file(text)}
    is_one_folder = len({path.parent for path in files.values()}) == 1
    bare = {text: path.name for text, path in files.items()} if is_one_folder else {}
    words = ["attn", "compute", *([] if problem is None else [bare.get(problem, problem)])]
    for name, value in given.items():
        if isinstance(value, bool):
            words.append(name if value else f"--no-{name.removeprefix('--')}")
        else:
            for text in value if isinstance(value, list) else [value]:
                words += [name, bare.get(text, str(text))]
    return tuple(words)


def _is_file(text: str) -> bool:
    """Whether a text names a file or a named folder."""
    try:
        return bool(Path(text).name) and Path(text).exists()
    except (OSError, ValueError):  # a text too long for a name, or with a null character
        return False


def read_problem_options(problem: str | None, keys: Mapping[str, Any], inputs: "Inputs") -> "Document":
    """The keys of the problem file, or of a mapping or a sentence, with the options replacing keys.

    It opens files through `inputs`. Raises AttnError if standard input is named more than once, an option has several
    values, or the file can't be read.
    """
    from attncli.io.assemble import read_option
    from attncli.io.problem_files import (
        DECIMAL_COMMA,
        Origin,
        RawValue,
        is_problem_text,
        read_decimal_commas,
        read_document,
        read_problem_text,
    )

    texts = given_keys(keys)
    check_stdin(problem, *texts.values())
    has_commas = texts.get(DECIMAL_COMMA) in (True, "true")
    if has_commas:
        numbers = read_decimal_commas(texts)
        texts = {name: str(value) if isinstance(value, float) else value for name, value in numbers.items()}
    if texts:
        _check_single_values(texts)
    if problem is not None and is_part_of_list(problem):
        raise AttnError(f"{problem!r} is not a problem file", hint=QUOTE_HINT)
    if problem is not None and is_sentence(problem):
        problem, texts = None, {"sentence": problem, **texts}
    read = read_problem_text if problem is not None and is_problem_text(problem) else read_document
    document = read(problem, inputs) if problem is not None else {}
    origin = Origin(options=True, inputs=inputs)
    if has_commas:
        values = read_decimal_commas({key: raw.value for key, raw in document.items()})
        document = {key: replace(raw, value=values[key]) for key, raw in document.items()}
    return document | {
        name: RawValue(read_option(FIELDS[name], text, (option_name(name),)), origin) for name, text in texts.items()
    }


def at_layers(problems: Sequence[str], layers: Sequence[str]) -> list[str]:
    """The names of these layers of captures, or the files themselves if no layer is chosen.

    Raises AttnError if there is no file.

    >>> at_layers(["captured.safetensors"], ["3", "decoder.3.cross"])
    ['captured.safetensors#3', 'captured.safetensors#decoder.3.cross']
    """
    if layers and not problems:
        raise AttnError("no capture to choose a layer of", where="--layer", hint="name a file of attn capture")
    return [f"{problem}#{layer}" for problem in problems for layer in layers] if layers else list(problems)


def _check_single_values(texts: Mapping[str, Any]) -> None:
    """Raise AttnError, with the command to compare them, if an option has several values of its key."""
    from attncli.io.variants import VARY, has_several_values, spelled_range

    for name, text in texts.items():
        if has_several_values(name, text):
            hint = f"attn compare {VARY} {name}={spelled_range(text)}"
            raise AttnError("several values", where=option_name(name), hint=hint)


def check_stdin(*texts: Any) -> None:
    """Raise AttnError if more than one value of arguments and options is standard input."""
    if sum(text in (STDIN, [STDIN]) for text in texts) > 1:
        raise AttnError("is named twice, but can be read only once", where="standard input", hint="use - once")


def make_inputs(max_size: str | None) -> "Inputs":
    """The inputs of a command; standard error announces a terminal that is read."""
    from attncli.io.inputs import Inputs

    return Inputs(max_size, on_terminal=streams.announce_terminal)


def check_convention(name: str | None) -> None:
    """Raise UnknownNameError if no convention has that name."""
    if name is not None:
        from attncli.problem.conventions import find_convention

        find_convention(name, where="--as")


def read_edits(texts: Sequence[str] | None) -> "list[Edit]":
    """The edits of `--set`; raises AttnError if a text is not an edit."""
    if not texts:
        return []
    from attncli.problem.edits import parse_edit

    return [parse_edit(text) for text in texts]


def edited_problem(problem: "ProblemSpec", edits: "Sequence[Edit]") -> "EditedProblem":
    """A problem before and after some edits; raises AttnError if the problem does not allow one of them."""
    if edits:
        from attncli.problem.edits import edit_problem

        return edit_problem(problem, edits)
    from attncli.problem.edits import EditedProblem

    return EditedProblem(problem, problem)


def with_parts(edited: "EditedProblem", document: "Document", file: str) -> "EditedProblem":
    """A problem with its file's `about` and parts."""
    from attncli.io.examples import example_of
    from attncli.io.problem_files import names_of_parts
    from attncli.problem.edits import ProblemPart

    example = example_of(document, file)
    names = names_of_parts([part.title for part in example.parts])
    alone = ("attn", "compute", *edited.command[2:3])
    is_alone = edited.command == alone  # no option of a problem follows the file: it would replace the part's own
    commands = [(*alone[:2], f"{alone[-1]}#{name}") if is_alone else () for name in names]
    parts = [
        ProblemPart(part.title, part.about, part.problem, part.show, command)
        for part, command in zip(example.parts, commands, strict=True)
    ]
    return replace(edited, about=example.about, parts=tuple(parts) if "parts" in document else ())


def problem_warnings(problem: "ProblemSpec", document: "Document", unread: Mapping[str, str]) -> list[str]:
    """Warnings on options unknown to the convention, and on unused options, with the reasons.

    A file may have keys that only some of its readers use, and a convention may set keys that were not given.
    """
    remarks = () if problem.convention is None else problem.convention.remarks
    given = {name for name, raw in document.items() if raw.origin.options}
    return [*remarks, *(no_effect(name, reason) for name, reason in unread.items() if name in given)]


def write_alias_notes(document: "Document") -> None:
    """Report on standard error the names in a problem's file that stand for other names."""
    streams.write_notes(document_notes(document))


def document_notes(document: "Document") -> list[str]:
    """The names in a problem's file that are aliases, a sentence for each of its keys."""
    from attncli.io.entries import alias_notes

    return [note for raw in document.values() for note in alias_notes(raw.origin.name, raw.origin.aliases)]


def no_effect(name: str, reason: str) -> str:
    """The warning on an option without effect, by the name of its key or parameter."""
    return f"{option_name(name)} has no effect: {reason}"


def read_positions(text: str | None, count: int, option: str, noun: str, names: Sequence[str] = ()) -> list[int] | None:
    """The positions that an option lists: `3`, `0-3`, `0,2,-1`, or some `names`; None without the option.

    Raises AttnError if there is no such position.

    >>> read_positions("0-2,-1", 6, "--layer", "layer")
    [0, 1, 2, 5]
    """
    if text is None:
        return None
    found: dict[int, None] = {}
    for part in map(str.strip, text.split(",")):
        if part in names:
            found[names.index(part)] = None
            continue
        match = _POSITIONS.fullmatch(part)
        if match is None:
            raise AttnError(f"{part!r} is not a {noun}", where=option, hint=f"expected {option} 3, 0-3 or 0,2")
        first, last = int(match[1]), int(match[2] or match[1])
        missing = next((at for at in (first, last) if not -count <= at < count), None)
        if missing is not None:
            raise AttnError(f"there is no {noun} {missing}", where=option, hint=f"they go from 0 to {count - 1}")
        found |= dict.fromkeys(range(first % count, last % count + 1))
    return list(found)
