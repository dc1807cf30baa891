"""`attn merge`: outputs and log-sum-exps of parts of the keys merged to the whole, or compared with a merged one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.program import DIFFERS
from attncli.cli import streams
from attncli.cli.completion import complete_from
from attncli.cli.option_values import check_stdin, make_inputs
from attncli.cli.output import write_answer
from attncli.cli.output_file import check_is_new, check_is_no_input, named_file, say_written
from attncli.cli.output_options import OutputOptions, with_output_options, writes_documents
from attncli.cli.problem_options import Force, MaxSize, Strict, argument, flag, option

if TYPE_CHECKING:
    from attncli.io.inputs import Inputs
    from attncli.kernels.merge import Merged, MergePart

NAME_ARRAYS = "name its entries: 'output=FILE#NAME,lse=FILE#NAME'"


@with_output_options("format", "json", "precision", "pager", is_written=writes_documents)
def merge(
    parts: list[str] | None = argument("Files with output and lse, or output=FILE#NAME,lse=FILE#NAME.", "PART"),
    *,
    lse_base: str | None = option(
        "The base of the logarithms; default e.", metavar="e|2", complete=complete_from(lambda: {"e": "", "2": ""})
    ),
    lse_axes: str | None = option(
        "Order of tokens and heads in lse: that of output, or not.",
        metavar="same|swapped",
        complete=complete_from(lambda: {"same": "", "swapped": ""}),
    ),
    against: list[str] | None = option("Compare with output=FILE, lse=FILE.", metavar="NAME=VALUE"),
    explain: bool = flag("Work out one number by hand.", "--explain", "-e"),
    cell: str | None = option("With --explain: which number, as 0,1,2.", metavar="N,N"),
    output: str | None = option("Write output and lse: .npz .safetensors.", "--output", "-o", metavar="FILE"),
    output_options: OutputOptions,
    force: Force = False,
    max_size: MaxSize = None,
    strict: Strict = False,
) -> None:
    """Merge parts of one attention, whose keys are no other part's."""
    from attncli.kernels.merge import AXES, BASES, judge, merge_parts
    from attncli.kernels.merge_document import merge_answer, worked_cell
    from attncli.problem.fields import OUTPUT

    output_options.check_format("merge", writes_documents)
    decimals = output_options.decimals
    if not parts:
        raise AttnError("no parts", hint="type attn merge a.npz b.npz")
    for text, name, known in ((lse_base, "--lse-base", list(BASES)), (lse_axes, "--lse-axes", AXES)):
        if text is not None and text not in known:
            raise UnknownNameError(name.removeprefix("--").replace("-", " "), text, known, where=name)
    if cell is not None and not explain:
        raise AttnError("only --explain works a number out", where="--cell", hint="add --explain")
    check_stdin(*parts, *(against or ()))
    file = None if output is None else _checked_file(output)
    check_is_new(file, force=force)
    inputs = make_inputs(max_size)
    read = [_read_part(text, inputs, lse_axes) for text in parts]
    streams.write_notes(note for part in read for note in part.notes)
    streams.write_warnings(dict.fromkeys(text for part in read for text in part.warnings), strict=strict)
    merged = merge_parts(read, lse_base or "e")
    verdicts = [
        judge(merged, name, value) for name, value in (_read(against, inputs, "against") if against else {}).items()
    ]
    wrong = next((v.position for v in verdicts if v.name == OUTPUT and not v.agrees), None)
    chosen = worked_cell(merged, cell, wrong) if explain else None
    if file is not None:
        check_is_no_input(file, inputs)
        _write(merged, file)
    with streams.while_read():
        write_answer(merge_answer(merged, verdicts, decimals, chosen), output_options)
    say_written(file)
    if not all(verdict.agrees for verdict in verdicts):
        raise typer.Exit(DIFFERS)


def _read(texts: Sequence[str], inputs: "Inputs", key: str) -> dict[str, object]:
    """The arrays of texts that name files or their entries, by the names of results."""
    from attncli.io.expected import read_against
    from attncli.problem.fields import LSE, OUTPUT

    found = read_against(texts, inputs, (OUTPUT, LSE), key).by_name
    for name in found:
        if name not in (OUTPUT, LSE):
            raise UnknownNameError("result of a merge", name, (OUTPUT, LSE), where=f"--{key}")
    return {name: each.value for name, each in found.items()}


def _read_part(text: str, inputs: "Inputs", axes: str | None) -> "MergePart":
    """A part; raises AttnError where a file has no output or no lse."""
    from attncli.kernels.merge import read_part
    from attncli.problem.fields import LSE, OUTPUT

    try:
        found = _read([text], inputs, "part")
    except AttnError as error:
        if error.where == "--part":
            raise AttnError("names no output and lse", where=text, hint=NAME_ARRAYS) from None
        raise
    for name in (OUTPUT, LSE):
        if name not in found:
            raise AttnError(f"has no {name}", where=text, hint=NAME_ARRAYS)
    return read_part(text, found[OUTPUT], found[LSE], axes)


def _checked_file(output: str) -> str:
    """The file to write; raises AttnError where its suffix is not that of an archive."""
    file = named_file(output, "--output")
    if not file.endswith((".npz", ".safetensors")):
        raise AttnError("is not an archive", where=file, hint="name a .npz or .safetensors file")
    return file


def _write(merged: "Merged", file: str) -> None:
    """Write the output and the log-sum-exp, each in the type of the parts."""
    from attncli.io.npy import write_npz
    from attncli.io.output_files import atomic_write
    from attncli.io.safetensors import write_tensors
    from attncli.problem.arrays import GivenArray
    from attncli.problem.fields import LSE, OUTPUT

    output, lse = GivenArray(merged.output, dtype=merged.dtype), GivenArray(merged.lse, dtype=merged.lse_dtype)
    with atomic_write(file) as stream:
        if file.endswith(".npz"):
            write_npz(stream, {OUTPUT: output.array, LSE: lse.array})
        else:
            write_tensors(stream, {OUTPUT: output, LSE: lse})
