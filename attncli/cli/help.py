"""The help of a command as text: what it does, commands to copy, how values are written, and its options in groups."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.cli.commands import CommandRef
from attncli.io.parse import forms
from attncli.problem.spec import FIELDS
from attncli.render.formats.text_page import TextPage
from attncli.render.target import TextTarget

TITLE_WIDTH = 21  # columns of the options' names; the text of a longer one begins on the next line
INDENT = "  "
MIN_TEXT_WIDTH = 30
OPTIONS = "Options"  # the title of the options without a panel
MATRIX_FORMS = (*forms.NUMBERS, *forms.FILES, *forms.DRAWN)
NAME_FORMS = (("gaussian:sigma=2", "NAME or NAME:key=value,key=value; see attn show NAME"),)

Pair = tuple[str, str]


def render_help(command: Any, context: Any, ref: CommandRef | None, target: TextTarget, *, every_option: bool) -> str:
    """The help of a command, or of the group of commands where there is no `ref`.

    The options that are not hidden are listed, or every one. A target without a width has that of COLUMNS, or 80.
    """
    width = target.width or shutil.get_terminal_size().columns
    page = TextPage(replace(target, width=width))
    parameters = command.get_params(context)
    page.print(("Usage: ", "bold"), f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}")
    arguments = [p for p in parameters if p.param_type_name == "argument" and p.help]
    _print_pairs(page, [(_metavar(argument), argument.help) for argument in arguments])
    for paragraph in command.help.split("\n\n"):
        page.skip_line()
        page.print(" ".join(paragraph.split()))
    if ref is None:
        names = command.list_commands(context)
        _print_section(page, "Commands", [(name, command.get_command(context, name).help) for name in names])
    shown = [p for p in parameters if p.param_type_name == "option" and (every_option or not p.hidden)]
    if ref is not None:
        _print_section(page, "Examples", [(example, "") for example in ref.examples])
        has_keys = any(option.name in FIELDS for option in shown)
        value_forms = (*MATRIX_FORMS, *NAME_FORMS) if ref.has_problem and has_keys else ()
        _print_section(page, "How a MATRIX and a NAME are written", value_forms)
    for title, panel in _panels(shown).items():
        _print_section(page, title, [(title_of_option(option), option.help or "") for option in panel])
    return page.text


def _panels(options: Iterable[Any]) -> Mapping[str, Sequence[Any]]:
    """The options by the titles of their panels, those without one last."""
    panels: dict[str, list[Any]] = {}
    for option in sorted(options, key=lambda option: option.rich_help_panel is None):
        panels.setdefault(option.rich_help_panel or OPTIONS, []).append(option)
    return panels


def title_of_option(option: Any) -> str:
    """The names of an option, and its value where it takes one: `--output, -o FILE`; `--[no-]causal`."""
    if option.secondary_opts:
        return f"--[no-]{option.opts[0].removeprefix('--')}"
    names = ", ".join(sorted(option.opts, key=len, reverse=True))  # those of --help have no order of their own
    return names if option.is_flag else f"{names} {_metavar(option)}"


def _metavar(parameter: Any) -> str:
    """What stands for the value of an option or an argument."""
    return str(parameter.metavar or parameter.name.upper())


def _print_section(page: TextPage, title: str, pairs: Sequence[Pair]) -> None:
    """Print pairs of a name and its text under a title, where there are any."""
    if pairs:
        page.skip_line()
        page.print((title, "bold"))
        _print_pairs(page, pairs)


def _print_pairs(page: TextPage, pairs: Sequence[Pair]) -> None:
    """Print pairs of a name and its text in two columns."""
    for pair in pairs:
        for name, text in _wrap_pair(pair, page.target):
            page.print((name, "cyan"), text, is_wrapped=False)


def _wrap_pair(pair: Pair, target: TextTarget) -> Iterator[Pair]:
    """The name and the text of each line of a pair, wrapped; the text of a long name begins on the next line."""
    name, text = map(target.text, pair)
    width, column = target.width or 0, len(INDENT) + TITLE_WIDTH
    if width - column < MIN_TEXT_WIDTH:  # a narrow terminal
        column = 2 * len(INDENT)
    texts = textwrap.wrap(text, max(width - column, 1), break_on_hyphens=False)
    title = f"{INDENT}{name}"
    if len(title) >= column or not texts:
        yield title, ""
    else:
        yield title.ljust(column), texts.pop(0)
    for rest in texts:
        yield "", f"{' ' * column}{rest}"
