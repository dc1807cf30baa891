"""The head and the batch item that `--head` and `--batch` choose, as positions on their axes."""

from typing import TYPE_CHECKING

from attncli.base.errors import AttnError
from attncli.cli.output_options import ALL

if TYPE_CHECKING:
    from attncli.cli.output_options import OutputOptions
    from attncli.problem.layout import Layout


def parse_positions(options: "OutputOptions", layout: "Layout") -> tuple[dict[str, int], frozenset[str]]:
    """The position on each axis that an option gives, and the axes whose option is `all`."""
    axes = {"b": (options.batch, "--batch", layout.batch or 1), "h": (options.head, "--head", layout.heads)}
    parsed = {
        letter: _parse_position(text, option, count)
        for letter, (text, option, count) in axes.items()
        if text is not None
    }
    positions = {letter: at for letter, at in parsed.items() if at is not None and letter in layout.score_axes}
    return positions, frozenset(letter for letter, at in parsed.items() if at is None)


def _parse_position(text: str, option: str, count: int) -> int | None:
    """The position that `--head 3` or `--batch 0` names; None for `all`."""
    if text == ALL:
        return None
    if not text.isdecimal():
        raise AttnError(f"{text!r} is no position", where=option, hint=f"expected 0 to {count - 1}, or {ALL}")
    if int(text) >= count:
        noun = {"--head": "head", "--batch": "batch item"}[option]
        raise AttnError(f"there is no {noun} {text}", where=option, hint=f"expected 0 to {count - 1}, or {ALL}")
    return int(text)
