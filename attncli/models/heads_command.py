"""`attn heads`: what each head of a model does, by its maps, saved or from a capture."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.command_group import whole_number
from attncli.cli.completion import complete_from
from attncli.cli.option_values import check_stdin, make_inputs, no_effect, read_positions
from attncli.cli.output import write_answer
from attncli.cli.output_file import check_is_no_input, say_written
from attncli.cli.output_options import STYLE_OPTIONS, OutputOptions, with_output_options, writes_maps
from attncli.cli.problem_options import MaxSize, argument, flag, option

if TYPE_CHECKING:
    from attncli.io.inputs import Inputs
    from attncli.io.maps import Maps
    from attncli.models.captured_maps import ModelFile
    from attncli.models.heads_document import HeadsView, ModelHeads

LENGTHS, MASK_FILE = "--lengths", "--mask-file"


@complete_from
def _complete_statistic() -> Sequence[str]:
    """The statistics for sorting heads."""
    from attncli.models.heads import STATISTICS

    return STATISTICS


@with_output_options(
    "format", "json", "output", *STYLE_OPTIONS, "lines", "safe_csv", "pager", "strict", is_written=writes_maps
)
def heads(
    file: str = argument("Saved maps [layers heads n m]: .npy, .npz, .safetensors; or a capture.", "FILE", default=...),
    *,
    tokens: str | None = option("The words: 'the cat sat', the,cat,sat, or a file of them.", metavar="WORDS|FILE"),
    query_tokens: str | None = option("Words of the queries, if they differ.", metavar="WORDS|FILE"),
    lengths: str | None = option("Tokens of each batch item; the rest is padding.", metavar="N[,N]"),
    mask_file: str | None = option("1 for each token, 0 for padding, [items tokens].", metavar="FILE"),
    layer: str | None = option("Only these layers: 3, 0-3, -1.", metavar="N"),
    head: str | None = option("Only these heads of each layer: 5, 0,2.", metavar="N"),
    batch: int | None = option("The batch item, if there are several.", metavar="N"),
    sort: str | None = option("The largest first: entropy, first …", metavar="NAME", complete=_complete_statistic),
    top: int | None = option("Only the first N heads in that order.", metavar="N"),
    kind: str | None = option("Only heads of this kind: induction …", metavar="WORD"),
    heatmap: bool = flag("Show a grid of layers and heads as small maps.", "--heatmap"),
    logarithm: bool = flag("Colour maps by log10, to see small weights.", "--logarithm"),
    rollout: bool = flag("Multiply the layers: what reached each query.", "--rollout"),
    maps: bool = flag("Add the weights of each head to JSON, every bit.", "--maps"),
    precision: int | None = option("Decimals; default 2, in CSV every digit.", metavar="DIGITS"),
    max_size: MaxSize = None,
    output_options: OutputOptions,
) -> None:
    """Write the report on each head of some maps."""
    from dataclasses import replace

    from attncli.models.heads_document import DECIMALS, HeadsView, statistic_name

    output_options = replace(output_options, precision=precision)
    output_options.check_format("list of heads", writes_maps)
    check_stdin(file, tokens, query_tokens, mask_file)
    if top is not None and top < 1:
        raise AttnError(f"{top} is not a number of heads", where="--top", hint="expected a number from 1")
    inputs = make_inputs(max_size)
    found = _read(file, (tokens, query_tokens), inputs, batch)
    found = replace(found, maps=_without_padding(found.maps, lengths, mask_file, inputs, batch))
    most = max(len(each.weights) for each in found.maps)
    view = HeadsView(
        layers=read_positions(layer, len(found.maps), "--layer", "layer", [each.name for each in found.maps]),
        heads=read_positions(head, most, "--head", "head"),
        sort=None if sort is None else statistic_name(sort, "--sort"),
        top=top,
        kind=kind,
        decimals=DECIMALS if output_options.precision is None else output_options.decimals,
        heatmap=heatmap,
        logarithm=logarithm,
        rollout=rollout,
        maps=maps,
    )
    check_is_no_input(output_options.file, inputs)
    streams.write_warnings([*output_options.warnings, *_idle(view, output_options)], strict=output_options.strict)
    _write(found, view, output_options)


def _read(file: str, tokens: Sequence[str | None], inputs: "Inputs", batch: int | None) -> "ModelFile":
    """The maps, with the words of the options; raises AttnError if no layer has so many."""
    from dataclasses import replace

    from attncli.io.maps import read_words, with_words
    from attncli.models.captured_maps import read_model_maps

    found = read_model_maps(file, inputs, batch)
    words: list[tuple[str, ...] | None] = [None, None]
    for side, (name, axis, text) in enumerate(zip(("--tokens", "--query-tokens"), (-1, -2), tokens, strict=True)):
        if text is not None:
            own = words[side] = read_words(text, inputs, name)
            lengths = {each.weights.shape[axis] for each in found.maps}
            if len(own) not in lengths:
                message = f"{len(own)} words, and the maps have {min(lengths)}"
                raise AttnError(message, where=name, hint="one for each token, as the tokenizer splits the text")
    return replace(found, maps=with_words(found.maps, *words))


def _without_padding(
    maps: "Maps", lengths: str | None, mask_file: str | None, inputs: "Inputs", batch: int | None
) -> "Maps":
    """The maps, with their padding marked; raises AttnError if the options do not fit them."""
    from attncli.io.formats import read_array
    from attncli.io.maps import with_padding
    from attncli.io.paths import locate

    numbers = None if lengths is None else [whole_number(part, LENGTHS) for part in lengths.split(",")]
    mask = None
    if mask_file is not None:
        name, entry = locate(mask_file)
        mask = read_array(inputs.open(name), entry)
    return with_padding(maps, numbers, mask, batch, (LENGTHS, MASK_FILE))


def _idle(view: "HeadsView", options: OutputOptions) -> list[str]:
    """Warnings of options without effect."""
    row = options.output_format
    found = []
    if view.heatmap and not row.has_heatmaps:
        reason = "has the maps anyway" if row.is_picture else "has no blocks of colour"
        found.append(no_effect("heatmap", f"{row.name} {reason}"))
    if view.logarithm and options.has_effect("lines"):
        found.append(no_effect("logarithm", "lines are as strong as the weights"))
    elif view.logarithm and not (row.is_figure or (view.heatmap and row.has_heatmaps)):
        found.append(no_effect("logarithm", "it is how --heatmap has its colours"))
    if view.rollout and row.is_picture:
        found.append(no_effect("rollout", f"{row.name} has the maps alone"))
    if view.maps and not row.is_object:
        found.append(no_effect("maps", f"{row.name} has no arrays; --json has"))
    if row.page is not None and options.precision is not None:
        found.append(no_effect("precision", f"{row.name} has decimals of its own"))
    return found


def _write(file: "ModelFile", view: "HeadsView", options: OutputOptions) -> None:
    """Write the answer to standard output or to a file."""
    from dataclasses import replace

    from attncli.models.heads_document import ModelHeads, heads_answer

    row = options.output_format
    has_lines = row.is_figure and options.has_effect("lines")
    view = replace(view, heatmap=view.heatmap and row.has_heatmaps, logarithm=view.logarithm and not has_lines)
    model = ModelHeads(file.maps, view)
    if row.is_figure:
        _write_figure(model, options)
        return

    def page() -> Mapping[str, Any]:
        from attncli.models.page import model_object

        return model_object(file, view)

    write_answer(replace(heads_answer(model), page=page), options)


def _write_figure(model: "ModelHeads", options: OutputOptions) -> None:
    """Write the figure of the maps; raises AttnError if there are too many, or Matplotlib is missing."""
    from attncli.figure.drawing import check_matplotlib
    from attncli.io.output_files import atomic_write
    from attncli.models.heads_figure import HeadsFigure

    assert options.file is not None  # a figure has a suffix
    try:
        check_matplotlib()
        figure = HeadsFigure(model, options.figure_style, options.has_effect("lines"))
        streams.write_warnings(options.output_format.warnings_of(figure), strict=options.strict)
        with atomic_write(options.file) as stream:
            options.output_format.write(figure, stream)
    except AttnError as error:
        raise error.at(f"--output {options.file}") from None
    say_written(options.file)
