"""The file that `--output` names, and the format that its name picks."""

from attncli.base.errors import AttnError
from attncli.render.formats import DEFAULT_FORMAT, OutputFormat, find_format, format_of_file

STDOUT = "-"


def output_file(output: str | None) -> str | None:
    """The file that the option names; None for standard output. Raises AttnError where the name is empty."""
    if output == "":
        raise AttnError("the name is empty", where="--output", hint=f"name a file, or {STDOUT} for standard output")
    return None if output == STDOUT else output


def format_of_output(file: str) -> OutputFormat:
    """The format that a file's suffix picks; pipes, devices and open files need none, and get that of a terminal.

    Raises AttnError where the suffix is unknown, or the file is a folder.
    """
    from attncli.io.inputs import path_of
    from attncli.io.writers.in_place import is_in_place

    try:
        return format_of_file(file)
    except AttnError:
        if is_in_place(path_of(file)):
            return find_format(DEFAULT_FORMAT)
        if path_of(file).is_dir():
            raise AttnError("is a folder", where=f"--output {file}", hint="name a file in it") from None
        raise
