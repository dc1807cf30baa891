"""`attn show`: the meaning of a word, or the contents of a file of arrays."""

from attncli.base.errors import AttnError, did_you_mean
from attncli.base.lazy_numpy import import_object
from attncli.cli import streams
from attncli.cli.completion import Meanings, complete_from
from attncli.cli.option_values import make_inputs
from attncli.cli.problem_options import MaxSize, Pager, Strict, argument
from attncli.cli.terminal import write_text
from attncli.io.paths import is_there, path_of
from attncli.ops import broken_packages, kinds, operators
from attncli.problem.names_elsewhere import hint_elsewhere
from attncli.problem.spec import FIELDS

# Functions of wings that know files: `lines(name: str, inputs: Inputs) -> Sequence[str]`, empty for other files.
FILES = ("attncli.models.checkpoint_document:lines_of_folder", "attncli.models.captures_document:lines_of_file")
HINT = "attn list has the catalogue, attn list keys every key"


@complete_from
def _complete_word() -> Meanings:
    """The entries, keys, steps, slips, conventions and terms, each with its meaning.

    Finding symbols would take NumPy. If nothing matches, the shell offers files.
    """
    from attncli.plan.build import purposes
    from attncli.problem.conventions import CONVENTIONS
    from attncli.render.glossary import GLOSSARY
    from attncli.render.meanings import meanings_of_wings

    records = (record for kind in kinds() for record in operators(kind).values())
    words = {name: term.text for term in GLOSSARY for name in (term.name, *term.aliases) if " " not in name}
    words |= {meaning.names[0]: meaning.text for meaning in meanings_of_wings()}
    words |= {convention.name: convention.title for convention in CONVENTIONS.values()}
    words |= purposes()
    words |= {field.name: field.help for field in FIELDS.values()}
    return words | {record.name: record.summary for record in records}


def show(
    words: list[str] = argument(
        "An entry, key, result, step, symbol, slip, convention or word: additive, QKᵀ, gqa, flash; or a file.",
        "WORD|FILE",
        default=...,
        complete=_complete_word,
    ),
    *,
    max_size: MaxSize = None,
    pager: Pager = False,
    strict: Strict = False,
) -> None:
    """Write every meaning of a word, or a line for each array in a file or a checkpoint's folder.

    Words need no quotes: `attn show layer norm`. Several names, `attn show w_q softmax`, follow one another.
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
    """Every meaning of a name, or a line for each array of a file or a checkpoint; None if it is unknown."""
    from attncli.io import formats
    from attncli.render.meanings import find_meanings, render_array_list, render_meanings

    path, target = path_of(name), streams.output_target()
    is_file = formats.format_of_suffix(path) is not None and (" " not in name or is_there(path))
    if not is_file and (meanings := find_meanings(name)):
        return "".join(render_meanings(meanings, target))
    if not is_file and not is_there(path):
        return None
    inputs = make_inputs(max_size)
    lines = next(filter(None, (import_object(function)(name, inputs) for function in FILES)), None)
    if lines is not None:
        return "".join(f"{target.text(line)}\n" for line in lines)
    return "".join(render_array_list(formats.list_arrays(inputs.open(name)), target))


def _unknown_name(name: str) -> AttnError:
    """The error for an unknown name, with the nearest known one."""
    from attncli.render.meanings import every_meaning

    known = [name for meaning in every_meaning() for name in meaning.names]
    hint = hint_elsewhere(name, is_option=True) or did_you_mean(name, known) or HINT
    return AttnError(f"unknown name {name!r}", hint=hint)
