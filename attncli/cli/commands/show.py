"""`attn show`: what a word means, or what a file of arrays holds."""

from typing import Annotated

import typer

from attncli.base.errors import AttnError, did_you_mean
from attncli.cli import streams
from attncli.cli.completion import Meanings, complete_from
from attncli.cli.option_values import make_inputs
from attncli.cli.problem_options import MaxSize, Pager, Strict
from attncli.cli.terminal import write_text
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
    pager: Pager = False,
    strict: Strict = False,
) -> None:
    """Write everything that a word means, or a line for each array in a file or a checkpoint's folder.

    Words need no quotes: `attn show layer norm`. Several names, `attn show w_q softmax`, are shown one after the other.
    """
    streams.write_warnings(broken_packages(), strict=strict)
    together = " ".join(words)
    text = _text(together, max_size)
    if text is None and len(words) > 1:
        texts = [_text(word, max_size) for word in words]
        text = None if None in texts else "\n".join(filter(None, texts))
    if text is None:
        raise _unknown_name(together)
    write_text(text, is_paged=pager)


def _text(name: str, max_size: str | None) -> str | None:
    """Everything that a name means, or a line for each array of a file or a checkpoint; None where it is unknown."""
    from attncli.io import formats
    from attncli.models.checkpoint import CONFIG
    from attncli.render.reports.meanings import find_meanings, render_meanings

    path, target = path_of(name), streams.output_target()
    is_file = formats.format_of_suffix(path) is not None and (" " not in name or is_there(path))
    if not is_file and (meanings := find_meanings(name)):
        return "".join(render_meanings(meanings, target))
    if is_there(path / CONFIG):
        from attncli.models.checkpoint import read_checkpoint
        from attncli.render.reports.checkpoint import tensor_lines

        return "".join(f"{target.text(line)}\n" for line in tensor_lines(read_checkpoint(name, make_inputs(max_size))))
    if is_file or is_there(path):
        from attncli.io.captures import capture_of
        from attncli.render.reports.captures import capture_lines
        from attncli.render.reports.checkpoint import render_array_list

        source = make_inputs(max_size).open(name)
        capture = capture_of(formats.read_metadata(source), source.name)
        if capture is not None:
            return "".join(f"{target.text(line)}\n" for line in capture_lines(capture, name))
        return "".join(render_array_list(formats.list_arrays(source), target))
    return None


def _unknown_name(name: str) -> AttnError:
    """The error of a name that means nothing, with the nearest one."""
    from attncli.render.reports.meanings import every_meaning

    known = [name for meaning in every_meaning() for name in meaning.names]
    hint = hint_elsewhere(name, is_option=True) or did_you_mean(name, known) or HINT
    return AttnError(f"unknown name {name!r}", hint=hint)
