"""`attn vectors`: a folder of test vectors for a kernel in any language, and which mistakes each of them reveals."""

import shlex
from pathlib import Path

from attncli.base.errors import AttnError, UnknownNameError
from attncli.cli import streams
from attncli.cli.completion import Meanings, complete_from
from attncli.cli.option_values import no_effect
from attncli.cli.output import write_answer
from attncli.cli.output_file import check_is_new, named_file, say_written
from attncli.cli.output_options import OutputOptions, with_output_options, writes_documents
from attncli.cli.problem_options import Force, Strict, argument, option
from attncli.cli.terminal import ProgressBar


@complete_from
def _complete_kind() -> Meanings:
    from attncli.kernels.vector_files import KINDS

    return dict.fromkeys(KINDS, "")


@complete_from
def _complete_name() -> Meanings:
    from attncli.kernels.vectors import ROWS

    return {row.name: row.about for row in ROWS}


@with_output_options("format", "json", "pager", is_written=writes_documents)
def vectors(
    names: list[str] | None = argument("Some of the vectors; all without it.", "NAME", complete=_complete_name),
    *,
    output: str | None = option("Write them, and manifest.json.", "--output", "-o", metavar="FOLDER"),
    files: str | None = option("As these files; default npz.", metavar="npz|safetensors|json", complete=_complete_kind),
    seed: str | None = option("Draw other numbers.", metavar="N"),
    force: Force = False,
    strict: Strict = False,
    output_options: OutputOptions,
) -> None:
    """List test vectors, or write a folder of them."""
    from attncli.cli.command_group import whole_number
    from attncli.io.output_files import atomic_write_folder
    from attncli.kernels.vector_files import KINDS, Pack, vectors_answer
    from attncli.kernels.vectors import ROWS, make_vector

    output_options.check_format("vectors", writes_documents)
    rows = {row.name: row for row in ROWS}
    for name in names or ():
        if name not in rows:
            raise UnknownNameError("vector", name, rows)
    if files is not None and files not in KINDS:
        raise UnknownNameError("kind of files", files, KINDS, where="--files")
    folder = None if output is None else named_file(output, "--output")
    if folder is not None and Path(folder).is_file():
        raise AttnError("is a file", where=f"--output {folder}", hint="name a folder")
    if folder is None:
        idle = [name for name, is_given in (("files", files is not None), ("force", force)) if is_given]
        streams.write_warnings([no_effect(name, "no file is written") for name in idle], strict=strict)
    else:
        check_is_new(folder, force=force)
    number = 0 if seed is None else whole_number(seed, "--seed")
    chosen = [row for row in ROWS if not names or row.name in names]
    pack = Pack([make_vector(row, number) for row in chosen], number)
    with ProgressBar("trying mistakes") as progress:
        for done, vector in enumerate(pack.vectors, 1):
            _ = vector.reveals
            progress(done, len(pack.vectors))
    if folder is not None:
        atomic_write_folder(folder, pack.files(files or KINDS[0]))
    with streams.while_read():
        write_answer(vectors_answer(pack), output_options)
    say_written(folder, "" if folder is None else f"attn check {shlex.quote(folder)}")
