"""YAML, read and written, with YAML 1.2's core scalars in decimal: `1e3` is a number, `010` is ten, `no` a word.

Values are built from LibYAML's events: parsing limits depth and aliases, a duplicate key is an error, and the lines of
lists, mappings and labels are kept. Written text reads back the same, also in YAML 1.1.
"""

import itertools
import operator
import re
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

import yaml

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.base.text import escape_overrides
from attncli.io.formats import Lines
from attncli.io.inputs import MAX_DEPTH, TOO_DEEP
from attncli.numbers.formatting import format_rows
from attncli.numbers.parsing import TypedNumber
from attncli.problem.numbers import is_word, scalar

MAX_EXPANSION = 1_000_000  # values that all aliases together may repeat

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Two UTF-16 escapes, JSON's form of a character beyond U+FFFF; YAML has one escape of eight digits.
_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")
STRING = "tag:yaml.org,2002:str"
_FLOAT = "tag:yaml.org,2002:float"
NON_FINITE = {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}
_TAGS = {STRING: str, _FLOAT: float, "tag:yaml.org,2002:int": int}
_NO_KEY = object()


def read(
    text: str, name: str, text_keys: Container[str] = (), typed_keys: Container[str] | None = ()
) -> tuple[Any, Lines]:
    """The value of a YAML text, and the lines of its lists and mappings, and of the entries of lists of texts.

    Scalars under a key in `text_keys`, and in the list under it, keep their spelling: `010` is the text `010`.
    Numbers anywhere under a key in `typed_keys` (None: all of the text) are TypedNumbers, which know their digits.
    Raises AttnError with the file and line.
    """
    text, escapes = _join_surrogates(text)
    builder = _Builder(name, text_keys, typed_keys)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if escapes and type(event) is yaml.ScalarEvent and event.style != '"':  # not an escape, but backslashes
                for joined, pair in escapes.items():
                    event.value = event.value.replace(joined, pair)
            builder.add_event(event)
    except UnicodeEncodeError:  # an argument with bytes outside the locale's encoding
        raise AttnError("is not Unicode text", where=name, hint="write it in UTF-8") from None
    except yaml.YAMLError as error:
        from attncli.io.yaml_errors import explain  # noqa: PLC0415 - only an error needs it

        raise explain(error, text, name) from None
    return builder.result, builder.lines


def _join_surrogates(text: str) -> tuple[str, dict[str, str]]:
    r"""The text with one escape instead of two surrogates, and the replaced text for each new escape.

    >>> _join_surrogates(r"\ud83d\ude00 \\ud83d\ude00")
    ('\\U0001f600 \\\\ud83d\\ude00', {'\\U0001f600': '\\ud83d\\ude00'})
    """
    escapes: dict[str, str] = {}
    if "\\ud" not in text and "\\uD" not in text:
        return text, escapes

    def join(match: re.Match[str]) -> str:
        high, low = (int(match[2][at : at + 4], 16) for at in (2, 8))
        joined = f"\\U{0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00:08x}"
        escapes[joined] = match[2]
        return f"{match[1]}{joined}"

    return _SURROGATES.sub(join, text), escapes


class _Builder:
    """Builds a value event by event, with an explicit stack instead of recursion."""

    def __init__(self, name: str, text_keys: Container[str], typed_keys: Container[str] | None) -> None:
        self.name = name
        self._text_keys = text_keys
        self._typed_keys = () if typed_keys is None else typed_keys
        self._typed_depth = 0 if typed_keys is None else MAX_DEPTH  # depth of containers with typed numbers
        self.result: Any = None
        self.lines: dict[int | str | tuple[int, int], int] = {}
        self._containers: list[Any] = []
        self._keys: list[Any] = []
        self._are_texts: list[bool] = []  # for each container, whether it is a list of texts
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._container_anchors: list[tuple[str | None, int]] = []
        self._nodes = 0
        self._documents = 0
        self._expanded = 0

    def add_event(self, event: Any) -> None:
        """Add the next event of the parser."""
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._nodes += 1
            value = self._scalar(event)
            if event.anchor:
                self._anchors[event.anchor] = (value, 1)
            self._put(value, event)
        elif kind is yaml.SequenceStartEvent or kind is yaml.MappingStartEvent:
            self._enter([] if kind is yaml.SequenceStartEvent else {}, event)
        elif kind is yaml.SequenceEndEvent or kind is yaml.MappingEndEvent:
            self._leave()
        elif kind is yaml.AliasEvent:
            self._put(self._alias(event), event)
        elif kind is yaml.DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                self._fail("a second document begins", event, "put one problem in a file")

    def _enter(self, container: Any, event: Any) -> None:
        """Begin a list or a mapping for the following values."""
        self._nodes += 1
        if len(self._containers) == MAX_DEPTH:
            self._fail(TOO_DEEP, event)
        if event.tag not in (None, "!"):
            self._fail(f"has the tag {event.tag}", event, "leave the tag out")
        self.lines[id(container)] = event.start_mark.line + 1
        self._are_texts.append(self._is_text())
        if self._keys and self._keys[-1] in self._typed_keys:
            self._typed_depth = min(self._typed_depth, len(self._containers))
        self._put(container, event)
        self._containers.append(container)
        self._keys.append(_NO_KEY)
        self._container_anchors.append((event.anchor, self._nodes))

    def _leave(self) -> None:
        """End the innermost list or mapping; an alias may refer to it from here on."""
        container = self._containers.pop()
        if len(self._containers) == self._typed_depth:
            self._typed_depth = MAX_DEPTH
        self._are_texts.pop()
        self._keys.pop()
        anchor, before = self._container_anchors.pop()
        if anchor:
            self._anchors[anchor] = (container, self._nodes - before + 1)

    def _alias(self, event: Any) -> Any:
        """The value that an alias refers to."""
        if event.anchor not in self._anchors:
            self._fail(f"*{event.anchor} refers to an anchor that is not defined before it", event)
        value, size = self._anchors[event.anchor]
        self._nodes += size
        self._expanded += size
        if self._expanded > MAX_EXPANSION:
            self._fail(f"aliases repeat more than {MAX_EXPANSION:,} values", event)
        return value

    def _put(self, value: Any, event: Any) -> None:
        """Add a value to the innermost list or mapping, as an entry, a key, or the value of the last key."""
        if not self._containers:
            self.result = value
            return
        container = self._containers[-1]
        if type(container) is list:
            if self._are_texts[-1]:
                self.lines[id(container), len(container)] = event.start_mark.line + 1
            container.append(value)
        elif self._keys[-1] is _NO_KEY:
            if isinstance(value, (list, dict)):
                self._fail("a list or mapping can't be a key", event)
            key = event.value if type(event) is yaml.ScalarEvent else str(value)
            if key in container:
                self._fail(f"the key {key!r} is given twice", event, "keep one of them")
            self._keys[-1] = key
            if len(self._containers) == 1:
                self.lines[key] = event.start_mark.line + 1
        else:
            container[self._keys[-1]] = value
            self._keys[-1] = _NO_KEY

    def _is_text(self) -> bool:
        """Whether the next value is text, because of its key or its list's."""
        if not self._keys:
            return False
        return self._are_texts[-1] if self._keys[-1] is _NO_KEY else self._keys[-1] in self._text_keys

    def _scalar(self, event: Any) -> Any:
        """The value of a scalar: text if quoted, tagged or under a text key, else by the core schema."""
        text = event.value
        if event.tag is None or event.tag == "!":
            # Among texts an empty scalar is missing, and so is `null` instead of the list.
            is_missing = not text or (self._is_text() and not self._are_texts[-1] and scalar(text) is None)
            if not event.implicit[0] or (self._is_text() and not is_missing):
                return text
            return self._plain(text, event)
        if event.tag not in _TAGS:
            self._fail(f"has the tag {event.tag}", event, "leave the tag out")
        if event.tag == STRING:
            return text
        value = self._plain(text, event)
        if isinstance(value, (str, bool)) or value is None:
            self._fail(f"{text!r} does not match its tag", event)
        return value if isinstance(value, TypedNumber) else _TAGS[event.tag](value)

    def _plain(self, text: str, event: Any) -> Any:
        """The value of a scalar without quotes."""
        try:
            value = scalar(text)
        except AttnError as error:
            self._fail(error.message, event)
        is_typed = len(self._containers) > self._typed_depth and type(value) in (int, float)
        return TypedNumber(text, value) if is_typed else value

    def _fail(self, message: str, event: Any, hint: str | None = None) -> Any:
        """Raise AttnError at the line of an event."""
        raise AttnError(message, where=(self.name, f"line {event.start_mark.line + 1}"), hint=hint)


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # the C dumper has no type
    """PyYAML's dumper with the representers below."""


def _represent_text(dumper: Any, text: str) -> Any:
    """Text, in quotes if a reader would convert it to another type.

    Non-ASCII text is also quoted, so that its escapes in other encodings read back.
    """
    return dumper.represent_scalar(STRING, text, style=None if text.isascii() and is_word(text) else '"')


class _Paragraph(str):
    """A value of several prepared lines."""


def _represent_list(dumper: Any, value: list[Any]) -> Any:
    """A list of scalars on one line, a list of lists over several."""
    is_flat = not any(isinstance(entry, (list, dict)) for entry in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_flat)


def _represent_typed_number(dumper: Any, number: TypedNumber) -> Any:
    """A number with its typed digits, if any."""
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
    r"""A mapping of mappings, lists, arrays, numbers and text as YAML, in chunks, with a row of numbers per line.

    `format_finite` writes the finite numbers of arrays.

    >>> "".join(yaml_text({"heads": 2, "w_q": np.array([[1, 0], [0, 1]])}))
    'heads: 2\nw_q:\n- [1, 0]\n- [0, 1]\n'
    """
    for line in _lines(value, lambda number: _with_point(format_finite(number))):
        yield f"{line}\n"


def _lines(value: Any, format_number: Callable[[Any], str]) -> Iterator[str]:
    """The lines of a mapping, a list or an array that needs several."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.size:
        for rows in format_rows(value, NON_FINITE, format_finite=format_number):
            for row in rows:
                yield f"- [{row}]"
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            if _has_lines(entry):
                *lines, last = _dump({key: 0})  # a key with line breaks needs several
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
    """Whether a value needs more than one line."""
    if isinstance(value, np.ndarray):
        return value.ndim > 1 and len(value) > 0
    return bool(value) and (
        isinstance(value, Mapping) or (isinstance(value, list) and isinstance(value[0], (list, dict)))
    )


def _dump(value: Any) -> list[str]:
    """The lines of a mapping or a list with one entry, which is neither a mapping nor a list of lists."""
    plain = (
        {key: _plain(entry) for key, entry in value.items()} if isinstance(value, dict) else list(map(_plain, value))
    )
    text = str(yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1))
    return escape_overrides(text).removesuffix("\n").split("\n")  # non-ASCII text is in double quotes


def _plain(value: Any) -> Any:
    """A value, with an array as lists, and text of several lines as a paragraph."""
    if isinstance(value, str) and _is_paragraph(value):
        return _Paragraph(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def _is_paragraph(text: str) -> bool:
    """Whether a text has several ASCII lines, without spaces at line ends that an editor could remove."""
    lines = text.removesuffix("\n").split("\n")
    is_plain = all(line.isascii() and line.isprintable() and line == line.rstrip() for line in lines)
    return len(lines) > 1 and is_plain and bool(lines[-1]) and lines[0] != "" and not lines[0].startswith(" ")


def _with_point(number: str) -> str:
    """A number that YAML 1.1 also reads as one: there `1e+16` is a word."""
    return number.replace("e", ".0e") if "e" in number and "." not in number else number


def quoted(text: str) -> str:
    r"""A text on one line, in double quotes.

    >>> quoted("model.safetensors#w[0:2]")
    '"model.safetensors#w[0:2]"'
    """
    written = yaml.dump(text, Dumper=_Dumper, default_style='"', allow_unicode=True, width=2**31 - 1)
    return escape_overrides(str(written)).removesuffix("\n")
