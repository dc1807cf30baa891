"""Changes of texts and bytes as people, programs and disks make them, by which a file differs from a sound one."""

import random
import re
from collections.abc import Callable, Sequence

from tests.fuzz.literals import NEARLY_NUMBERS, NON_FINITE, PLAIN

_TOKEN = re.compile(r"\s+|[A-Za-z_][\w.]*|[-+]?[0-9][0-9.eE]*|.", re.DOTALL)
_NUMBER = re.compile(r"[-+]?[0-9][0-9.eE]*")
INSERTED = (
    *(
        "[",
        "]",
        "{",
        "}",
        ":",
        ": ",
        ",",
        ";",
        "#",
        " #",
        "&a ",
        "*a",
        "!!int ",
        "!x ",
        "|",
        ">",
        "%",
        "@",
        "`",
        "'",
        '"',
    ),
    *(
        "\t",
        "\n",
        "\r",
        "\0",
        "\x1b[31m",
        "\u202e",
        "\ufeff",
        "\u2028",
        "\u0301",
        "\U0001f600",
        "[red]",
        "[/]",
        ":smile:",
    ),
    *("- ", "---\n", "...\n", "? ", "<<: ", "null", "~", "true", "[]", "{}", "[[]]", "[" * 200, "(" * 150, "~" * 150),
    *("..", "...", "/", "\\", "\\ud83d", "$", "=", "==", "\u221a", "\u2212", "\u00e9", "-", "--", "x" * 300),
)
_SCALARS = (*NEARLY_NUMBERS, *NON_FINITE, *PLAIN)


def changed_text(choose: random.Random, text: str, changes: int | None = None) -> str:
    """A text with a few changes of its words, numbers, signs and lines."""
    for _ in range(changes or choose.choice([1, 1, 1, 2, 3, 6])):
        text = choose.choice(_CHANGES)(choose, text)
    return text


def changed_bytes(choose: random.Random, raw: bytes) -> bytes:
    """Bytes of which a few are changed, missing or repeated."""
    changed = bytearray(raw)
    for _ in range(choose.choice([1, 1, 2, 4, 16])):
        if not changed:
            break
        at = choose.randrange(len(changed))
        sort = choose.randrange(5)
        if sort == 0:
            changed[at] ^= 1 << choose.randrange(8)
        elif sort == 1:
            changed[at] = choose.choice([0, 1, 9, 10, 32, 44, 127, 128, 255])
        elif sort == 2:
            del changed[at : at + choose.choice([1, 2, 8, 64])]
        elif sort == 3:
            changed[at:at] = changed[at : at + choose.choice([1, 2, 8, 64])]
        else:
            del changed[choose.randrange(len(changed)) :]
    return bytes(changed)


def _replace_token(choose: random.Random, text: str) -> str:
    """Another word, number or sign of the text in place of one, or none."""
    tokens = _TOKEN.findall(text)
    if not tokens:
        return text
    at = choose.randrange(len(tokens))
    tokens[at] = choose.choice([choose.choice(tokens), choose.choice(tokens), "", tokens[at] * 2])
    return "".join(tokens)


def _replace_number(choose: random.Random, text: str) -> str:
    """A text that is nearly a number, or a very large one, in place of a number."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    match = choose.choice(found)
    number = choose.choice(
        [choose.choice(_SCALARS), str(choose.choice([0, -1, 1, 2, 3, 7, 10**6, 2**31, 2**63, 10**20]))]
    )
    return f"{text[: match.start()]}{number}{text[match.end() :]}"


def _insert(choose: random.Random, text: str) -> str:
    """A sign, a letter or a sequence that a syntax has a meaning for, at any place."""
    at = choose.randrange(len(text) + 1)
    return f"{text[:at]}{choose.choice(INSERTED)}{text[at:]}"


def _change_line(choose: random.Random, text: str) -> str:
    """A line that is missing, there twice, indented, or at another place."""
    lines = text.split("\n")
    at, to = choose.randrange(len(lines)), choose.randrange(len(lines) + 1)
    sort = choose.randrange(5)
    line = lines[at]
    if sort == 0:
        del lines[at]
    elif sort == 1:
        lines.insert(to, line)
    elif sort == 2:
        lines[at] = choose.choice([f"  {line}", f"- {line}", line.lstrip(), f"{line} {line}", f"'{line}'", f"# {line}"])
    elif sort == 3:
        lines.insert(to, lines.pop(at))
    else:
        lines[at] = line[: choose.randrange(len(line) + 1)]
    return "\n".join(lines)


def _cut(choose: random.Random, text: str) -> str:
    """A part of the text that is missing, or its end."""
    start = choose.randrange(len(text) + 1)
    end = choose.choice([len(text), start + 1, start + choose.choice([2, 5, 20])])
    return text[:start] + text[end:]


_CHANGES: Sequence[Callable[[random.Random, str], str]] = (
    *(_replace_token, _replace_token, _replace_number, _replace_number, _replace_number),
    *(_insert, _insert, _change_line, _change_line, _cut),
)
