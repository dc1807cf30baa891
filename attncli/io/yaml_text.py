"""YAML: a value as text that our reader and those of YAML 1.1 read back the same."""

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from attncli.base.lazy_numpy import np
from attncli.base.text import escape_overrides
from attncli.io.literals import is_word
from attncli.io.yaml import STRING
from attncli.numbers.formatting import format_rows
from attncli.numbers.parsing import TypedNumber

_FLOAT = "tag:yaml.org,2002:float"
NON_FINITE = {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # the C dumper has no type
    """PyYAML's dumper with the representers below."""


def _represent_text(dumper: Any, text: str) -> Any:
    """Text, in quotes where a reader would convert it to another type.

    So is text that is not ASCII: in quotes its escapes in other encodings are read back.
    """
    return dumper.represent_scalar(STRING, text, style=None if text.isascii() and is_word(text) else '"')


class _Paragraph(str):
    """A value of several lines, which are written under each other."""


def _represent_list(dumper: Any, value: list[Any]) -> Any:
    """A list of scalars on one line, a list of lists over several."""
    is_flat = not any(isinstance(entry, (list, dict)) for entry in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_flat)


def _represent_typed_number(dumper: Any, number: TypedNumber) -> Any:
    """A number with the digits that were typed, where it has any."""
    if number.half_unit is None:
        return dumper.represent_float(float(number))
    kind = "int" if number.text.lstrip("+-").isdecimal() else "float"
    return dumper.represent_scalar(f"tag:yaml.org,2002:{kind}", number.text)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(_Paragraph, lambda dumper, text: dumper.represent_scalar(STRING, str(text), style="|"))
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(np.longdouble, lambda dumper, number: dumper.represent_scalar(_FLOAT, str(number)))
_Dumper.add_representer(TypedNumber, _represent_typed_number)


def yaml_text(value: Mapping[str, Any], format_finite: Callable[[Any], str] = str) -> Iterator[str]:
    r"""A mapping of mappings, lists, arrays, numbers and text as YAML, in chunks: a row of numbers on each line.

    `format_finite` writes the finite numbers of arrays.

    >>> "".join(yaml_text({"heads": 2, "w_q": np.array([[1, 0], [0, 1]])}))
    'heads: 2\nw_q:\n- [1, 0]\n- [0, 1]\n'
    """
    for line in _lines(value, lambda number: _with_point(format_finite(number))):
        yield f"{line}\n"


def _lines(value: Any, format_number: Callable[[Any], str]) -> Iterator[str]:
    """The lines of a mapping, of a list or of an array that take more than one line."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.size:
        for rows in format_rows(value, NON_FINITE, format_finite=format_number):
            for row in rows:
                yield f"- [{row}]"
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            if _has_lines(entry):
                *lines, last = _dump({key: 0})  # a key with line ends takes several
                yield from (*lines, last.removesuffix(" 0"))
                margin = "  " if isinstance(entry, Mapping) else ""
                yield from (f"{margin}{line}" for line in _lines(entry, format_number))
            else:
                yield from _dump({key: entry})
    else:
        for entry in value:
            if _has_lines(entry):
                margins = itertools.chain(["- "], itertools.repeat("  "))
                yield from map(operator.add, margins, _lines(entry, format_number))
            else:
                yield from _dump([entry])


def _has_lines(value: Any) -> bool:
    """Whether a value takes more than one line."""
    if isinstance(value, np.ndarray):
        return value.ndim > 1 and len(value) > 0
    return bool(value) and (
        isinstance(value, Mapping) or (isinstance(value, list) and isinstance(value[0], (list, dict)))
    )


def _dump(value: Any) -> list[str]:
    """The lines of a mapping or a list of one entry that is neither a mapping nor a list of lists."""
    plain = (
        {key: _plain(entry) for key, entry in value.items()} if isinstance(value, dict) else list(map(_plain, value))
    )
    text = str(yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1))
    return escape_overrides(text).removesuffix("\n").split("\n")  # what is not ASCII is in double quotes


def _plain(value: Any) -> Any:
    """A value with its array as lists, and its lines as a paragraph."""
    if isinstance(value, str) and _is_paragraph(value):
        return _Paragraph(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def _is_paragraph(text: str) -> bool:
    """Whether a text is several lines of ASCII, without spaces at its ends that an editor could remove."""
    lines = text.removesuffix("\n").split("\n")
    is_plain = all(line.isascii() and line.isprintable() and line == line.rstrip() for line in lines)
    return len(lines) > 1 and is_plain and bool(lines[-1]) and lines[0] != "" and not lines[0].startswith(" ")


def _with_point(number: str) -> str:
    """A number as readers of YAML 1.1 take it for one: `1e+16` is a word to them."""
    return number.replace("e", ".0e") if "e" in number and "." not in number else number


def quoted(text: str) -> str:
    r"""A text on one line, in double quotes.

    >>> quoted("model.safetensors#w[0:2]")
    '"model.safetensors#w[0:2]"'
    """
    written = yaml.dump(text, Dumper=_Dumper, default_style='"', allow_unicode=True, width=2**31 - 1)
    return escape_overrides(str(written)).removesuffix("\n")
