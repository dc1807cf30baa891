"""`attn model`: the problem file of one layer of a model's checkpoint, or the checkpoint's contents."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.program import FAILED, __version__
from attncli.cli import streams
from attncli.cli.output_file import STDOUT, check_is_new, write_new_file, write_new_files
from attncli.cli.problem_options import Force, argument, option
from attncli.io.paths import name_of_path, path_of

if TYPE_CHECKING:
    from attncli.models.layer import Entry, LayerRows

LAYER = "{layer}"  # each layer's number, in the name of an output


def _complete_part(context: typer.Context, incomplete: str) -> list[str]:
    """The parts of the checkpoint with this beginning."""
    from attncli.io.inputs import Inputs
    from attncli.models.checkpoint import read_checkpoint
    from attncli.models.config import model_parts

    name = context.params.get("checkpoint") or next(iter(context.args), "")
    try:
        parts = model_parts(read_checkpoint(name, Inputs()))
    except AttnError:  # the command itself reports the mistake
        return []
    return [name for name in parts if name.startswith(incomplete)]


def model(
    checkpoint: str = argument("A folder with config.json and .safetensors files.", "CHECKPOINT", default=...),
    layer: str | None = option(
        "0 the first, -1 the last; 0-5, 0,3,5 or all; without it a list of them.", metavar="LAYERS"
    ),
    part: str | None = option(
        "Encoder, decoder, cross …: else the first with tensors.", "--part", complete=_complete_part
    ),
    text: str | None = option("The text of layer 0's file, which tokenizer.json splits.", "--sentence", metavar="TEXT"),
    output: str = option(
        f"A new YAML file; {STDOUT} prints it. Of several layers a folder, or a name with {LAYER}.",
        "-o",
        "--output",
        metavar="FILE",
        default=STDOUT,
    ),
    force: Force = False,
) -> None:
    """Write the problem file of a layer's attention, or of several, or the checkpoint's contents."""
    from attncli.io.inputs import Inputs
    from attncli.models.checkpoint import read_checkpoint
    from attncli.models.checkpoint_document import render_checkpoint, tensor_lines
    from attncli.models.layer import find_layers, find_part

    found = read_checkpoint(checkpoint, Inputs())
    try:
        if layer is not None:
            rows = find_layers(find_part(found, part), layer)
            _write_layers(rows, output, text, force=force)
        elif part is None and text is None and output == STDOUT:
            check_is_new(None, force=force)
            streams.write_output(render_checkpoint(found, checkpoint, streams.output_target()))
        else:
            raise AttnError("is missing", where="--layer", hint="give a number from 0, or -1 for the last layer")
    except UnknownNameError as error:
        if error.path != (found.config_name,):
            raise
        # An unknown family: a hand-written problem file needs the tensors.
        for line in (error.typed, f"{checkpoint} holds", *tensor_lines(found)):
            streams.write_error(line)
        raise typer.Exit(FAILED) from None


def _write_layers(layers: Sequence["LayerRows"], output: str, sentence: str | None, *, force: bool) -> None:
    """Write the file of each layer, and report the next command."""
    files, part = _file_names(output, [rows.layer for rows in layers]), layers[0].part
    written = [_layer_file(rows, file, sentence) for rows, file in zip(layers, files, strict=True)]
    texts = {file: text for file, (text, _) in zip(files, written, strict=True)}
    about, command = f"layer {layers[0].layer} of the {part.label}", written[0][1]
    if len(layers) > 1:
        write_new_files(texts, force=force, about=f"{len(layers)} layers of the {part.label}", command=command)
    else:
        write_new_file(texts[files[0]], files[0], "-o", force=force, about=about, command=command)


def _file_names(output: str, layers: Sequence[int]) -> list[str]:
    """The name of each layer's file; raises AttnError if several layers would share a file."""
    if LAYER in output:
        return [output.replace(LAYER, str(layer)) for layer in layers]
    path = None if output in ("", STDOUT) else path_of(output)
    if path is not None and (path.is_dir() or (len(layers) > 1 and not path.suffix)):
        return [name_of_path(path / f"layer_{layer}.yaml") for layer in layers]
    if len(layers) > 1:
        message, hint = f"{len(layers)} layers are {len(layers)} files", f"give -o FOLDER, or -o 'layer_{LAYER}.yaml'"
        raise AttnError(message, where="-o", hint=hint)
    return [output]


def _layer_file(rows: "LayerRows", output: str, sentence: str | None) -> tuple[str, str]:
    """The text of a layer's file, and the first command that computes it."""
    from attncli.models.layer_file import layer_text

    entries = rows.entries() if sentence is None else _with_sentence(rows, sentence)
    file = "layer.yaml" if output == STDOUT else output
    folder = Path() if output == STDOUT else path_of(output).parent
    commands = _commands(rows, entries, file)
    return layer_text(entries, _head(rows, commands), folder), next(iter(commands))


def _with_sentence(rows: "LayerRows", sentence: str) -> "dict[str, Entry]":
    """The keys of a layer that reads a sentence instead of drawn vectors; raises AttnError if it can't."""
    from attncli.models.checkpoint import TOKENIZER
    from attncli.models.layer import Entry

    entries = rows.entries()
    if "token_table" not in entries:
        before = f"the output of layer {rows.layer - 1}" if rows.layer else "vectors that no table has"
        hint = "leave it out, and give attn compute --residual FILE or --embeddings FILE"
        raise AttnError(f"layer {rows.layer} reads {before}", where="--sentence", hint=hint)
    if "tokenizer" not in entries:
        hint = "leave it out, and give attn compute --tokens 464,3797"
        raise AttnError(f"{rows.part.checkpoint.folder} has no {TOKENIZER}", where="--sentence", hint=hint)
    kept = {key: entry for key, entry in entries.items() if key not in ("embeddings", "token_count")}
    return {"sentence": Entry(sentence, "split by tokenizer"), **kept}


def _head(rows: "LayerRows", commands: Mapping[str, str]) -> list[str]:
    """The description of the file, and the commands that compute it."""
    part, checkpoint = rows.part, rows.part.checkpoint
    of_type = f", {rows.layer_type}" if rows.layer_type else ""
    width = max(map(len, commands))
    return [
        f"Layer {rows.layer} of {checkpoint.folder.resolve().name}: {part.label}{of_type}; "
        f"{part.family.name} ({part.family.about}).",
        f"Written by attn {__version__} from config.json and the headers of the tensors.",
        f"The model's code: {part.family.source}.",
        "",
        *(f"{command:{width}}   {text}" for command, text in commands.items()),
    ]


def _commands(rows: "LayerRows", entries: "Mapping[str, Entry]", file: str) -> dict[str, str]:
    """The commands that compute a layer's file, and the input that each adds."""
    from attncli.models.layer_file import QUERIES, needed_inputs
    from attncli.problem.fields import option_name

    others = {key: f"{option_name(key)} FILE" for key in needed_inputs(entries)}
    behind = ", after the norm of the layer" if "residual_norm" in entries else ""
    asked = "the sequences of the keys and of the queries"
    inputs = {"": "the sentence"} if "sentence" in entries else {}
    inputs |= {"--embeddings FILE": asked if QUERIES in others else f"the input of the attention{behind}"}
    if "residual_norm" in entries:
        inputs["--residual FILE"] = f"{_residual_name(rows)} of transformers: the input of that norm"
    if "token_table" in entries:
        inputs["--tokens 464,3797"] = "tokens by their numbers, which are looked up"
        if "tokenizer" in entries:
            inputs["--sentence 'The cat sat'"] = "a text, which tokenizer.json splits: pip install 'attncli[models]'"
    command = f"attn compute {shlex.quote(file)}"
    undrawn = [option for key, option in others.items() if key != QUERIES]  # a seed draws queries alone
    return {
        **{" ".join(filter(None, (command, options, *others.values()))): text for options, text in inputs.items()},
        " ".join((command, "--seed 1", *undrawn)): "a try with random numbers",
    }


def _residual_name(rows: "LayerRows") -> str:
    """The name in transformers of the vectors before a layer; without a number if only some parts' have one."""
    from attncli.models.config import model_parts

    is_alone = len(model_parts(rows.part.checkpoint)) == 1
    return f"hidden_states[{rows.layer}]" if is_alone else "output_hidden_states"
