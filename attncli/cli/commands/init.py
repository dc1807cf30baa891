"""`attn init`: a problem to start from, or the samples of the guides."""

import os
import shlex

from attncli.base.errors import AttnError
from attncli.cli.output_file import STDOUT, check_is_new, said_of, write_new_file
from attncli.cli.problem_options import Force, argument, flag
from attncli.io.paths import SAMPLES, path_of, sample_files

DEFAULT_FILE = "problem.yaml"


def init(
    file: str | None = argument(f"A new file, {DEFAULT_FILE} by default; {STDOUT} prints it.", "FILE"),
    *,
    every_key: bool = flag("Write every key, with its meaning.", "--all"),
    samples: bool = flag("Write the samples of the guides, to the folder samples or FILE.", "--samples"),
    force: Force = False,
) -> None:
    """Write a problem to start from, and the command that computes it; a new name without a suffix gets `.yaml`."""
    if samples:
        _write_samples(file, every_key=every_key, force=force)
        return
    from attncli.io.problem_text import problem_template

    file = DEFAULT_FILE if file is None else file
    path = path_of(file)
    if file not in ("", STDOUT) and not path.suffix and not os.path.lexists(path):
        file += path_of(DEFAULT_FILE).suffix
    write_new_file(problem_template(every_key=every_key), file, "FILE", force=force)


def _write_samples(folder: str | None, *, every_key: bool, force: bool) -> None:
    """Write the folder of samples; raises AttnError if it can't, or would lose a change without `force`."""
    from attncli.cli import streams
    from attncli.io.output_files import atomic_write_folder

    if every_key:
        raise AttnError("can't be given with --samples", where="--all", hint="leave out one of them")
    folder = SAMPLES if folder is None else folder
    if folder in ("", STDOUT):
        raise AttnError("the samples are a folder", where="FILE", hint=f"name one, or none for {SAMPLES}")
    files = sample_files()
    for name, content in files.items():
        path = path_of(folder) / name
        if not force and path.exists() and not (path.is_file() and path.read_bytes() == content):
            check_is_new(str(path), force=False)
    atomic_write_folder(folder, files)
    tutorial = shlex.quote(str(path_of(folder) / "tutorial.yaml"))
    streams.write_output(f"{said_of(folder, following=f'attn compute {tutorial}')}\n")
