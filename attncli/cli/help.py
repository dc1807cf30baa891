"""The help of a command as text: its purpose, commands to copy, forms of values, and its options in groups.

It does not use Rich, whose import would take as long as everything else that the help needs.
"""

import os
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attncli.cli.commands import COMMANDS, CommandRef
from attncli.render.target import TextTarget

TITLE_WIDTH = 21  # columns of the options' names; after a longer one the text begins on the next line
INDENT = "  "
MIN_TEXT_WIDTH = 30
OPTIONS = "Options"  # the title of options without a panel
BOLD, CYAN = "1", "36"  # terminals' names for styles

Pair = tuple[str, str]


def render_help(command: Any, context: Any, ref: CommandRef | None, target: TextTarget, *, every_option: bool) -> str:
    """The help of a command, or, without `ref`, of the group of commands.

    It lists all options, or only those that are not hidden. A target without a width uses COLUMNS, or 80.
    """
    parameters = command.get_params(context)
    shown = [p for p in parameters if p.param_type_name == "option" and (every_option or not p.hidden)]
    page = _Page(target)
    page.write("Usage: ", f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}")
    page.write_pairs([(metavar(p), p.help) for p in parameters if p.param_type_name == "argument" and p.help])
    for paragraph in command.help.split("\n\n"):
        page.lines.append("")
        page.write("", " ".join(paragraph.split()))
    if ref is None:
        names = [name for name in command.list_commands(context) if COMMANDS[name].is_listed]
        page.write_section("Commands", [(name, command.get_command(context, name).help) for name in names])
    else:
        has_keys = ref.has_problem and any(option.rich_help_panel for option in shown)
        page.write_section("How a MATRIX and a NAME are written", value_forms() if has_keys else ())
    panels: dict[str, list[Any]] = {}
    for option in sorted(shown, key=lambda option: option.rich_help_panel is None):
        panels.setdefault(option.rich_help_panel or OPTIONS, []).append(option)
    for number, (title, panel) in enumerate(panels.items()):
        pairs = [(title_of_option(option), _text_of_option(option, every_option=every_option)) for option in panel]
        page.write_section(title, pairs, has_gap=number == 0)
    page.write_section("Examples", [(example, "") for example in ref.examples] if ref is not None else ())
    return target.encodable("\n".join([*(line.rstrip() for line in page.lines), ""]))


def value_forms() -> Sequence[Pair]:
    """How to write the values of a problem's keys, each form with an explanation."""
    from attncli.io.formats import MATRIX_FORMS

    name = ("gaussian:sigma=2", "NAME or NAME:key=value,key=value; see attn show NAME")
    return (*MATRIX_FORMS, name)


def title_of_option(option: Any) -> str:
    """The names of an option, and its value if it takes one: `--output, -o FILE`; `--[no-]causal`."""
    if option.secondary_opts:
        return f"--[no-]{option.opts[0].removeprefix('--')}"
    names = ", ".join(sorted(option.opts, key=len, reverse=True))  # --help's names have no fixed order
    return names if option.is_flag else f"{names} {metavar(option)}"


def _text_of_option(option: Any, *, every_option: bool) -> str:
    """The effect of an option; if it names an operator, the choices, or how to list them.

    It does not look up operators of other packages: that takes 30 ms, and help must appear at once.
    """
    if option.rich_help_panel is None:  # not a key
        return option.help or ""
    from attncli.ops.registry import kinds, plural_of, registered, taken_kinds
    from attncli.problem.spec import FIELDS

    field = FIELDS.get(option.name)
    if field is None or field.kind not in taken_kinds() or option.help is None:
        return option.help or ""
    is_whole = every_option or field.kind not in kinds()
    names = ", ".join(registered(field.kind)) if is_whole else f"attn list {plural_of(field.kind)}"
    return f"{option.help.removesuffix('.')}: {names}."


def metavar(parameter: Any) -> str:
    """The placeholder for the value of an option or an argument."""
    return str(parameter.metavar or parameter.name.upper())


class _Page:
    """The lines of a help, as a target shows them."""

    def __init__(self, target: TextTarget) -> None:
        self.target = target
        self.width = target.width or shutil.get_terminal_size().columns
        self.lines: list[str] = []

    def write(self, title: str, text: str) -> None:
        """Write a line that begins with a title, wrapped to the width."""
        first, *others = textwrap.wrap(self.target.text(f"{title}{text}"), self.width, break_on_hyphens=False)
        self.lines += [f"{self._styled(title, BOLD)}{first.removeprefix(title)}", *others]

    def write_section(self, title: str, pairs: Sequence[Pair], *, has_gap: bool = True) -> None:
        """Write pairs of a name and its text under a title, if there are any."""
        if pairs:
            self.lines += [
                *([""] if has_gap else []),
                *(self._styled(line, BOLD) for line in textwrap.wrap(title, self.width)),
            ]
            self.write_pairs(pairs)

    def write_pairs(self, pairs: Iterable[Pair]) -> None:
        """Write pairs of a name and its text in two columns."""
        for pair in pairs:
            self.lines += [f"{self._styled(name, CYAN)}{text}" for name, text in self._wrapped(pair)]

    def _wrapped(self, pair: Pair) -> Iterator[Pair]:
        """The name and the text of each line of a pair, wrapped; after a long name the text begins on the next line."""
        name, text = map(self.target.text, pair)
        column = len(INDENT) + TITLE_WIDTH
        if self.width - column < MIN_TEXT_WIDTH:  # a narrow terminal
            column = 2 * len(INDENT)
        texts = textwrap.wrap(text, max(self.width - column, 1), break_on_hyphens=False)
        title = f"{INDENT}{name}"
        if len(title) >= column or not texts:
            yield title, ""
        else:
            yield title.ljust(column), texts.pop(0)
        for rest in texts:
            yield "", f"{' ' * column}{rest}"

    def _styled(self, text: str, style: str) -> str:
        """The text in a style, if the target has styles; NO_COLOR keeps the styles that are not colours."""
        has_style = self.target.has_styles and (style == BOLD or not os.environ.get("NO_COLOR"))
        return f"\x1b[{style}m{text}\x1b[0m" if has_style and text else text
