"""`attn capture`: the inputs and outputs of every attention of a model that reads a text."""

import re
import shlex
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.memory import format_bytes
from attncli.base.text import count_of
from attncli.cli import streams
from attncli.cli.command_group import whole_number
from attncli.cli.completion import complete_from
from attncli.cli.output_file import check_free_space, check_is_new, check_is_no_input, named_file, said_of
from attncli.cli.problem_options import STRICT_HELP, Force, argument, flag, option
from attncli.cli.terminal import ProgressBar
from attncli.io.paths import STDIN, path_of

if TYPE_CHECKING:
    from attncli.io.captures import CaptureFile
    from attncli.io.inputs import Inputs
    from attncli.models.capture import CapturedRun, CaptureRequest
    from attncli.models.running import RunnableCheckpoint, TokenizedText

SUFFIX, PAGE_SUFFIX = ".safetensors", ".html"
_RANGE = re.compile(r"\s*([0-9]{1,6})\s*(?:-\s*([0-9]{1,6})\s*)?", re.ASCII)


def _dtypes() -> Sequence[str]:
    """The types in which a model may run."""
    from attncli.models.running import DTYPES

    return DTYPES


def capture(
    checkpoint: str = argument(
        "A folder with config.json, .safetensors files, a tokenizer.", "CHECKPOINT", default=...
    ),
    text: str | None = argument("What the model reads; - is standard input.", "TEXT"),
    *,
    output: str | None = option(f"A new {SUFFIX} file; .html: a page.", "-o", "--output", metavar="FILE"),
    ids: str | None = option("Tokens by their numbers: 464,3797.", "--ids", metavar="NUMBERS"),
    target: str | None = option(
        "Text that the decoder of an encoder-decoder predicts; default TEXT.", "--target", metavar="TEXT"
    ),
    layers: str | None = option("Some layers: 0-3, or 0,5,11.", "--layers", metavar="N-M"),
    max_tokens: str | None = option("Keep the first tokens of a text.", "--max-tokens", metavar="N"),
    dtype: str | None = option(
        "float32, bfloat16 …; default: the tensors' type.", "--dtype", metavar="TYPE", complete=complete_from(_dtypes)
    ),
    against: str | None = option("Compare with another capture, layer by layer.", "--against", metavar="FILE"),
    force: Force = False,
    strict: bool = flag(STRICT_HELP, "--strict"),
) -> None:
    """Run a model, and write the inputs and outputs of each of its attentions."""
    from attncli.io.captures import read_capture
    from attncli.io.inputs import Inputs
    from attncli.models.running import read_runnable

    inputs = Inputs(on_terminal=streams.announce_terminal)
    if output is None and against is None:
        raise AttnError("is missing", where="-o", hint=f"name a file: -o captured{SUFFIX}")
    file = None if output is None else _new_file(output, force=force)
    most = None if max_tokens is None else _count(max_tokens, "--max-tokens")
    numbers = None if layers is None else read_layers(layers)
    other = None if against is None else read_capture(against, inputs)
    check_is_no_input(file, inputs)
    found = read_runnable(checkpoint, inputs)
    tokens = _tokens(found, text, ids, most, inputs)
    request = _request(found, tokens, target, most, numbers, dtype)
    run = _run(found, request, strict=strict) if file is None else _run_and_write(found, request, file, strict=strict)
    if other is not None:
        _compare(run, other)


def _new_file(output: str, *, force: bool) -> str:
    """The file to write; raises AttnError if it exists, or its suffix belongs to another format."""
    file = named_file(output, "-o")
    if path_of(file).suffix not in (SUFFIX, PAGE_SUFFIX):
        hint = f"name captured{SUFFIX}, or model{PAGE_SUFFIX} for a page of all heads"
        raise AttnError(f"is not a {SUFFIX} file", where=file, hint=hint)
    check_is_new(file, force=force)
    return file


def _count(text: str, option: str) -> int:
    """A number from 1; raises AttnError for others."""
    number = whole_number(text, option)
    if number < 1:
        raise AttnError(f"{number} is less than 1", where=option)
    return number


def read_layers(text: str) -> list[int]:
    """The numbers of layers that a text names; raises AttnError if it names none.

    >>> read_layers("0-3, 7")
    [0, 1, 2, 3, 7]
    """
    found: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise AttnError(f"{part.strip()!r} is not a layer", where="--layers", hint="write 0-3, or 0,5,11")
        found += range(first, last + 1)
    return found


def _tokens(
    found: "RunnableCheckpoint", text: str | None, ids: str | None, most: int | None, inputs: "Inputs"
) -> "TokenizedText":
    """The tokens of the text or of the ids; raises AttnError if both or neither are given."""
    if (text is None) == (ids is None):
        message = "no text" if text is None else "TEXT and --ids contradict each other"
        raise AttnError(message, hint="give the text that the model reads, or --ids 464,3797")
    if ids is not None:
        numbers = [whole_number(number, "--ids") for number in ids.split(",")]
        return found.tokens_of_ids(numbers, most)
    read = (inputs.open(STDIN).text() if text == STDIN else str(text)).strip()
    if not read:
        raise AttnError("is empty", where="standard input" if text == STDIN else "TEXT", hint="give a text, or --ids")
    return found.tokens_of_text(read, most)


def _request(
    found: "RunnableCheckpoint",
    tokens: "TokenizedText",
    target: str | None,
    most: int | None,
    layers: Sequence[int] | None,
    dtype: str | None,
) -> "CaptureRequest":
    """The request; raises AttnError if the model has no decoder for a target, or no such layer or type."""
    from attncli.models.capture import CaptureRequest
    from attncli.models.running import DTYPES

    if dtype is not None and dtype not in DTYPES:
        raise UnknownNameError("type", dtype, DTYPES, where="--dtype")
    count = found.layer_count
    wrong = next((number for number in layers or () if count is not None and number >= count), None)
    if wrong is not None:
        raise AttnError(f"there is no layer {wrong}", where="--layers", hint=f"the model has {count}, counted from 0")
    if not found.config.is_encoder_decoder:
        if target is not None:
            raise AttnError("the model has no decoder that reads an encoder", where="--target", hint="leave it out")
        return CaptureRequest(tokens, None, layers, dtype)
    asked = tokens if target is None else found.tokens_of_text(target, most)
    return CaptureRequest(tokens, found.target_tokens(asked), layers, dtype)


def _run(found: "RunnableCheckpoint", request: "CaptureRequest", *, strict: bool) -> "CapturedRun":
    """The run; remarks on it go to standard error."""
    from attncli.models.capture import capture_run, check_memory
    from attncli.models.running import missing_tensors

    check_memory(found, request)
    with ProgressBar(f"running {found.config.model_type}") as progress:
        run = capture_run(found, request, progress)
    streams.write_warnings([missing_tensors(run.missing)] if run.missing else [], strict=strict)
    streams.write_notes(run.notes)
    return run


def _run_and_write(found: "RunnableCheckpoint", request: "CaptureRequest", file: str, *, strict: bool) -> "CapturedRun":
    """Write a run's capture, and report the next command; the file is opened first: it may not be writable."""
    from attncli.io.output_files import atomic_write
    from attncli.io.safetensors import write_capture
    from attncli.models.capture import capture_size

    is_page = path_of(file).suffix == PAGE_SUFFIX
    check_free_space(file, capture_size(found, request))
    with atomic_write(file) as stream:
        run = _run(found, request, strict=strict)
        if is_page:
            _write_page(run, stream)
        else:
            write_capture(stream, run.capture, run.tensors)
    made = run.capture
    about = f"{count_of(len(made.layers), 'attention')} of {made.model_type} in {made.dtype}"
    about += f", {count_of(len(made.tokens), 'token')}{'' if is_page else f', {format_bytes(run.size)}'}"
    following = "" if is_page else f"attn check {shlex.quote(file)}"
    streams.write_output(f"{said_of(file, about, following)}\n")
    return run


def _compare(run: "CapturedRun", other: "CaptureFile") -> None:
    """Write the differences of the run from another capture."""
    from attncli.models.captures_document import ReadableCapture, captures_document, compare_captures
    from attncli.render.formats import terminal

    first = ReadableCapture(run.capture, run.tensors.__getitem__)
    found = compare_captures(first, ReadableCapture(other.capture, other.array), other.input.name)
    streams.write_output(terminal.render(captures_document(found, other.input.name), streams.output_target()))


def _write_page(run: "CapturedRun", stream: IO[bytes]) -> None:
    """Write the page of a run's heads to the stream of a file."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from attncli.io.inputs import Inputs
    from attncli.io.safetensors import write_capture
    from attncli.models.captured_maps import read_model_maps
    from attncli.models.page import render_model

    with TemporaryDirectory() as folder:
        captured = Path(folder) / f"captured{SUFFIX}"
        with captured.open("wb") as capture_stream:
            write_capture(capture_stream, run.capture, run.tensors)
        for chunk in streams.buffer_chunks(render_model(read_model_maps(str(captured), Inputs()))):
            stream.write(chunk.encode("utf-8", "surrogateescape"))
