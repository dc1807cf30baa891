"""`attn show`: what a word means, or what a file of arrays holds."""

from typing import Annotated

import typer

from attncli.base.errors import AttnError, did_you_mean
from attncli.cli import streams
from attncli.cli.completion import Meanings, complete_from
from attncli.cli.option_values import make_inputs
from attncli.cli.problem_options import MaxSize, Strict
from attncli.io.paths import is_there, path_of
from attncli.ops import broken_packages, kinds, operators
from attncli.problem.names_elsewhere import hint_elsewhere
from attncli.problem.spec import FIELDS

HINT = "attn list has the catalogue, attn list keys every key"


@complete_from
def _complete_word() -> Meanings:
    """The entries, keys, steps, slips, conventions and terms, each with its meaning.

    Symbols would take NumPy to find. Where there is none, the shell offers files.
    """
    from attncli.analysis.slips import SLIPS
    from attncli.plan.build import PURPOSES
    from attncli.problem.conventions import CONVENTIONS
    from attncli.render.reports.glossary import GLOSSARY

    records = (record for kind in kinds() for record in operators(kind).values())
    words = {name: term.text for term in GLOSSARY for name in (term.name, *term.aliases) if " " not in name}
    words |= {slip.name: slip.sentence for slip in SLIPS.values()}
    words |= {convention.name: convention.title for convention in CONVENTIONS.values()}
    words |= PURPOSES
    words |= {field.name: field.help for field in FIELDS.values()}
    return words | {record.name: record.summary for record in records}


def show(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORD|FILE",
            help="An entry, key, result, step, symbol, slip, convention or word: additive, QKᵀ, gqa, flash; or a file.",
            autocompletion=_complete_word,
        ),
    ],
    *,
    max_size: MaxSize = None,
    strict: Strict = False,
) -> None:
    """Write everything that a word means, or a line for each array in a file or a checkpoint's folder.

    Words need no quotes: `attn show layer norm`.
    """
    from attncli.io import formats
    from attncli.models.checkpoint import CONFIG
    from attncli.render.reports.meanings import every_meaning, find_meanings, render_meanings

    streams.write_warnings(broken_packages(), strict=strict)
    word = " ".join(words)
    path = path_of(word)
    meanings = [] if formats.format_of_suffix(path) is not None else find_meanings(word)
    if meanings:
        streams.write_output(render_meanings(meanings, streams.output_target()))
    elif is_there(path / CONFIG):
        from attncli.models.checkpoint import read_checkpoint
        from attncli.render.reports.checkpoint import tensor_lines

        lines = tensor_lines(read_checkpoint(word, make_inputs(max_size)))
        streams.write_output("".join(f"{streams.output_target().text(line)}\n" for line in lines))
    elif formats.format_of_suffix(path) is not None or is_there(path):
        from attncli.render.reports.checkpoint import render_array_list

        arrays = formats.list_arrays(make_inputs(max_size).open(word))
        streams.write_output(render_array_list(arrays, streams.output_target()))
    else:
        known = [name for meaning in every_meaning() for name in meaning.names]
        hint = hint_elsewhere(word, is_option=True) or did_you_mean(word, known) or HINT
        raise AttnError(f"unknown name {word!r}", hint=hint)
