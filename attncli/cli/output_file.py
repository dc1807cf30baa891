"""The output file: names it must not have, the format that it picks, and the space it needs."""

import glob
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from attncli.base.errors import AttnError
from attncli.base.memory import format_bytes, largest_sizes
from attncli.cli import streams
from attncli.cli.option_values import no_effect
from attncli.io.paths import path_of
from attncli.render.formats import DEFAULT_FORMAT, OutputFormat, find_format, format_of_file

if TYPE_CHECKING:
    from attncli.io.inputs import Inputs
    from attncli.io.problem_text import ExampleValues
    from attncli.problem.spec import ProblemSpec

STDOUT = "-"


def output_file(output: str | None, option: str = "--output") -> str | None:
    """The file that the option names; None for standard output. Raises AttnError if the name is empty."""
    if output == "":
        raise AttnError("the name is empty", where=option, hint=f"name a file, or {STDOUT} for standard output")
    return None if output == STDOUT else output


def named_file(file: str, option: str) -> str:
    """The file that an option names; raises AttnError for standard output."""
    if output_file(file, option) is None:
        raise AttnError("standard output has the report", where=option, hint="name a file")
    return file


def format_of_output(file: str) -> OutputFormat:
    """The format of a file's suffix; pipes, devices and open files need none and get the terminal's.

    Raises AttnError if the suffix is unknown, or the file is a folder.
    """
    from attncli.io.output_files import is_in_place
    from attncli.io.paths import path_of

    try:
        return format_of_file(file)
    except AttnError:
        if is_in_place(path_of(file)):
            return find_format(DEFAULT_FORMAT)
        if path_of(file).is_dir():
            raise AttnError("is a folder", where=f"--output {file}", hint="name a file in it") from None
        raise


def check_is_new(file: str | None, *, force: bool, idle: str = "no file is written") -> None:
    """Raise AttnError if a problem would replace a file without `force`; warn of `force` without a file (None).

    `idle` says why `force` then has no effect.
    """
    from attncli.io.output_files import check_is_new as check_file

    if file is None:
        streams.write_warnings([no_effect("force", idle)] if force else [], strict=False)
    elif not force:
        check_file(file)


def said_of(file: str, about: str = "", following: str = "") -> str:
    """The message after writing a file, with the command to type next.

    >>> said_of("p.yaml", following="attn compute p.yaml"), said_of("out.npz (1.2 kB)")
    ('Wrote p.yaml. Next: attn compute p.yaml', 'Wrote out.npz (1.2 kB).')
    """
    return f"Wrote {file}{about and f': {about}'}.{following and f' Next: {following}'}"


def say_written(file: str | None, following: str = "") -> None:
    """Report a written file or folder on standard error, if that is a terminal; a pipe is not reported."""
    from attncli.io.output_files import is_in_place

    if file is None or not sys.stderr.isatty() or is_in_place(path := path_of(file)):
        return
    size = "" if path.is_dir() else f" ({format_bytes(path.stat().st_size)})"
    streams.write_notice(said_of(f"{file}{size}", following=following))


def write_new_file(
    text: str, output: str, option: str, *, force: bool, about: str = "", command: str | None = None
) -> None:
    """Write a YAML text to a new file, or to a pipe or an open file, and report the command to type next.

    The default command computes the file.

    Raises AttnError, which names the option, if the name is empty, if its suffix belongs to another format, or, unless
    `force`, if the file exists.
    """
    from attncli.io.output_files import atomic_write_file

    file = output_file(output, option)
    if file is None:
        check_is_new(file, force=force)
        streams.write_output(text)
        return
    _check_is_new_yaml(file, force=force)
    atomic_write_file(file, text)
    streams.write_output(f"{said_of(file, about, command or f'attn compute {shlex.quote(file)} --explain')}\n")


def write_new_files(texts: Mapping[str, str], *, force: bool, about: str, command: str) -> None:
    """Write several YAML texts to new files, create their folders, and report it; raises AttnError as `write_new_file`.

    If one of them is refused, no file is written.
    """
    from attncli.io.output_files import atomic_write_folder

    for file in texts:
        _check_is_new_yaml(file, force=force)
    for file, text in texts.items():
        path = path_of(file)
        atomic_write_folder(str(path.parent), {path.name: text})
    first, *_, last = texts
    streams.write_output(f"{said_of(f'{first} … {last}', about, command)}\n")


def _check_is_new_yaml(file: str, *, force: bool) -> None:
    """Raise AttnError if a file has another format's suffix, or, unless `force`, exists."""
    from attncli.io import formats

    if formats.format_of_suffix(path_of(file)) not in (formats.YAML, None):
        hint = f"name a {' or '.join(formats.YAML.suffixes)} file"
        raise AttnError("the suffix does not name a YAML file", where=file, hint=hint)
    check_is_new(file, force=force)


def write_problem(problem: "ProblemSpec", file: str, inputs: "Inputs", example: "ExampleValues | None" = None) -> None:
    """Write a problem to a YAML or JSON file, otherwise to a folder; a terminal gets the command to compute it.

    `example` has the keys of a worked example, if the problem is one. Raises AttnError if a file of the folder was an
    input.
    """
    from attncli.io.output_files import atomic_write_file, atomic_write_folder, is_in_place
    from attncli.io.problem_text import NO_EXAMPLE, PROBLEM_FILE, problem_folder, problem_json, problem_yaml

    path, example = path_of(file), example or NO_EXAMPLE
    if path.suffix.lower() == ".json":
        atomic_write_file(file, problem_json(problem, example))
    elif path.suffix.lower() in (".yaml", ".yml") or is_in_place(path):
        atomic_write_file(file, problem_yaml(problem, example))
    else:
        files = problem_folder(problem, example)
        for name in files:
            check_is_no_input(str(path / name), inputs)
        atomic_write_folder(file, files)
    streams.write_notes(own_operator_notes(problem, file))
    say_written(file, f"attn compute {shlex.quote(str(path / PROBLEM_FILE) if path.is_dir() else file)}")


def own_operator_notes(problem: "ProblemSpec", file: str) -> list[str]:
    """A note on a file that names operators of another module, whose code it can't contain: the option to add."""
    from attncli.ops.records import Operator

    found = ((key, value) for key, value in vars(problem).items() if isinstance(value, Operator))
    return [
        f"{file} names the {value.record.title} and has no code: "
        f"give --{key.replace('_', '-')} {value.record.function.__module__}:{value} with it"
        for key, value in found
        if not value.record.is_built_in
    ]


def check_is_no_input(file: str | None, inputs: "Inputs", option: str = "--output") -> None:
    """Raise AttnError if the output (None: standard output) is an input file, under any name.

    `option` names the output.
    """
    with suppress(OSError):  # a new file, or a standard output without a descriptor, is not an input
        name = inputs.name_of(os.fstat(sys.stdout.fileno()) if file is None else path_of(file).stat())
        if name is not None:
            where = "standard output" if file is None else f"{option} {file}"
            hint = "attn never overwrites an input: name another file"
            raise AttnError(f"is the input {name}", where=where, hint=hint)


def check_beside_is_no_input(file: str | None, inputs: "Inputs") -> None:
    """Raise AttnError if an array that a script of this name may have next to it is an input file."""
    if file is not None:
        path = path_of(file)
        for beside in path.parent.glob(f"{glob.escape(path.stem)}.*.npy"):
            check_is_no_input(str(beside), inputs)


def check_free_space(file: str | None, sizes: Mapping[str, int]) -> None:
    """Raise AttnError if a file's disk (None: standard output's) has too little free space for its parts."""
    shortage = shortage_of(file, sizes)
    if shortage is not None:
        raise shortage


def shortage_of(
    file: str | None, sizes: Mapping[str, int], smaller: Mapping[str, Mapping[str, int]] | None = None
) -> AttnError | None:
    """The error of a file (None: standard output) whose parts exceed the free space of the disk; None if they fit.

    `smaller` has the sizes of other outputs, by the action to get them; it proposes those that fit.
    """
    from attncli.io.output_files import free_space

    total, free = sum(sizes.values()), free_space(file)
    if free is None or total <= free:
        return None
    parts = ", ".join(largest_sizes(sizes, total))
    message = f"the result takes about {format_bytes(total)} ({parts}) and the disk has {format_bytes(free)} left"
    fitting = {advice: sum(other.values()) for advice, other in (smaller or {}).items() if sum(other.values()) <= free}
    hint = ", or ".join(f"{advice} ({format_bytes(size)})" for advice, size in fitting.items())
    where = "standard output" if file is None else f"--output {file}"
    return AttnError(message, where=where, hint=hint or "name a file on another disk")
