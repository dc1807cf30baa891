"""YAML mistakes, explained in terms of the user's file: "line 3: `gaussian` needs a colon"."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import yaml

from attncli.base.errors import AttnError
from attncli.base.text import shorten
from attncli.io.inputs import TOO_DEEP
from attncli.problem.spec import OPERATOR_FIELDS

LIBYAML_TOO_DEEP = "exceeded maximum nesting depth"  # since 0.2.6, for 1,000 levels: it reads ahead, before any event
QUOTES = 'put a name with slices in quotes: "weights.npz#w_q[:, 0:768]"'
_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_SLICES = re.compile(r"[^\s,:\[{][\[][-\d\s.,:]*:[-\d\s.,:]*\]")  # slices after a name: `x.npy[0:2]`
_HAS_KEY = re.compile(r"[^#]*:(\s|$)")
_NO_SPACE = re.compile(r"(\s*(?:- )?)([\w.]+):([^ \t].*)")
_NO_HYPHEN_SPACE = re.compile(r"(\s*)-([^\s\d.-].*)")
_EQUALS = re.compile(r"(\s*)([\w.]+)\s*=\s*(.*)")
_OPERATOR = re.compile(r"\s*(\w+):\s*(\w+\s*[:=]\s*[^\s,:=]+(?:,\s*\w+\s*[:=]\s*[^\s,:=]+)*)\s*(?:#.*)?")
_SIGN = re.compile(r"\s*[:=]\s*")
_PRINTED = re.compile(r"^(?:[a-z]\\[a-z] |# \w+\n,)", re.MULTILINE)  # a printed table's corner, or CSV below its name
_CLOSING = {"[": "]", "{": "}"}
_SAME_COLUMN = "begin it in the same column"


@dataclass(frozen=True, eq=False)
class _Mistake:
    """The parser's error: its message, the lines of the text, and two positions (line and column from 0).

    `start` is the beginning of the unfinished element: a bracket, a quote, a key.
    """

    problem: str
    lines: Sequence[str]
    at: tuple[int, int]
    start: tuple[int, int]

    def line(self, number: int) -> str:
        """A line; empty after the end."""
        return self.lines[number] if 0 <= number < len(self.lines) else ""

    def rest(self, position: tuple[int, int]) -> str:
        """The rest of the line from a position."""
        return self.line(position[0])[position[1] :].strip()


Explained = tuple[int, str, str | None]  # the line from 0, the mistake, the correction


def explain(error: yaml.YAMLError, text: str, name: str) -> AttnError:
    """The AttnError for a PyYAML error, whose own message is about tokens and contexts."""
    if _PRINTED.search(text):
        return _printed_table(name)
    if not isinstance(error, yaml.MarkedYAMLError):
        return _unreadable(text, name)
    if error.problem == LIBYAML_TOO_DEEP:
        mark = error.problem_mark
        return AttnError(TOO_DEEP, where=(name, f"line {mark.line + 1}") if mark else name)
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return AttnError("is not YAML", where=name)
    start = error.context_mark or mark
    problem = f"{error.context or ''} | {error.problem or ''}"
    mistake = _Mistake(problem, _LINE_BREAK.split(text), (mark.line, mark.column), (start.line, start.column))
    line, message, hint = _explained(mistake)
    return AttnError(message, where=(name, f"line {line + 1}"), hint=hint)


def check_first_key(text: str, name: str) -> None:
    """Raise AttnError if the first line is meant as a key with its value, but YAML reads a single text."""
    if _PRINTED.search(text):
        raise _printed_table(name)
    lines = _LINE_BREAK.split(text)
    for number, line in enumerate(lines):
        if line.strip() and not line.startswith("#"):
            broken = _broken_key(line)
            if broken is not None and (len(lines) > number + 2 or not broken[0].endswith("a colon")):
                message, hint = broken
                raise AttnError(message, where=(name, f"line {number + 1}"), hint=hint)
            return


def _printed_table(name: str) -> AttnError:
    """The error for a result that was printed for people, not as JSON."""
    return AttnError("is a table that attn printed, not a problem", where=name, hint="add --json to the command")


def _explained(mistake: _Mistake) -> Explained:
    """The explanation of the first rule that matches the parser's message."""
    line, column = mistake.at
    if mistake.line(line)[column : column + 1] == "\t":
        return line, "tabs are not allowed", "indent with spaces"
    if _SLICES.search(_QUOTED.sub("", mistake.line(line))):
        return line, f"`{_excerpt(mistake.line(line))}` can't be read", QUOTES
    for part, rule in _RULES.items():
        if part in mistake.problem:
            return rule(mistake)
    return line, "is not YAML", "look at the brackets, quotes and indentation of this line and the one before"


def _excerpt(text: str) -> str:
    """A part of a line, without its middle if it is long."""
    return shorten(text.strip(), 40)


def _broken_key(line: str) -> tuple[str, str | None] | None:
    """The mistake in a line meant as a key with its value, and the correction; None if it has a key."""
    if found := _EQUALS.fullmatch(line):
        return f"`{found[2]}` needs a colon instead of =", f"write {_excerpt(f'{found[2]}: {found[3]}')}"
    if found := _NO_SPACE.fullmatch(line):
        return f"`{found[2]}:` needs a space after the colon", f"write {_excerpt(f'{found[2]}: {found[3].strip()}')}"
    if found := _NO_HYPHEN_SPACE.fullmatch(line):
        return "a hyphen needs a space after it", f"write {_excerpt(f'- {found[2]}')}"
    if _HAS_KEY.match(line) or line.lstrip().startswith("- "):
        return None
    if line.lstrip().startswith(("[", "{")):
        return f"`{_excerpt(line)}` does not belong to a key", "begin a row of a list with a hyphen and a space"
    word = line.split(maxsplit=1)[0] if line.split() else line
    return f"`{_excerpt(word)}` needs a colon", None


def _without_colon(mistake: _Mistake) -> Explained:
    """A line meant as a key."""
    line = mistake.start[0]
    return line, *(_broken_key(mistake.line(line)) or ("a key needs a colon", None))


def _colon_too_many(mistake: _Mistake) -> Explained:
    """A misplaced colon: a line's second one, or one below a line without a colon."""
    line, column = mistake.at
    text = mistake.line(line)
    if _HAS_KEY.match(text[:column]):
        key, _, value = text.partition(": ")
        if key.strip() in OPERATOR_FIELDS and (operator := _operator_in(value)) is not None:
            return line, "the value has a colon", f"write {key.strip()}: {operator}"
        return line, "the value has a colon", f'put it in quotes: {key.strip()}: "{_excerpt(value)}"'
    above = line - 1
    while above >= 0 and not mistake.line(above).strip():
        above -= 1
    first = above
    while first > 0 and not _HAS_KEY.match(mistake.line(first)) and mistake.line(first - 1).strip():
        if _HAS_KEY.match(mistake.line(first - 1)):
            break
        first -= 1
    broken = _broken_key(mistake.line(first)) if first >= 0 else None
    return (first, *broken) if broken else _out_of_line(mistake)


def _operator_in(value: str) -> str | None:
    """An operator with its parameters in its one-line form; None for other values.

    >>> _operator_in("softmax: temperature: 2")
    'softmax:temperature=2'
    """
    found = _OPERATOR.fullmatch(value)
    return found and f"{found[1]}:{_SIGN.sub('=', found[2]).replace(', ', ',')}"


def _out_of_line(mistake: _Mistake) -> Explained:
    """A key or a list item in a different column from those above it, or text that is neither."""
    line, column = mistake.at
    text, rest = mistake.line(line), mistake.rest(mistake.at)
    before = text[:column].strip()
    if rest[:1] in ("]", "}"):
        return line, f"`{rest[0]}` does not close a bracket", "leave it out"
    if before and before[-1] in "]}\"'":
        is_bracket = before[-1] in "]}"
        after, hint = (
            ("the last closing bracket", "count the brackets")
            if is_bracket
            else ("a closing quote", "put the whole text in double quotes")
        )
        return line, f"`{_excerpt(rest)}` follows {after}", hint
    if before.startswith(("*", "&")) or ": *" in before:
        return line, f"`{_excerpt(text)}` can't be read", "put the text in quotes"
    if rest.startswith("- ") or rest == "-":
        return line, f"`{_excerpt(rest)}` is not in line with the list above", _SAME_COLUMN
    if rest.startswith(("[", "{")):
        return line, f"`{_excerpt(rest)}` does not belong to a key", "begin a row of a list with a hyphen and a space"
    key = (rest.split(":")[0] or text.split(":")[0]).strip()
    return line, f"`{_excerpt(key)}` is not in line with the keys above", _SAME_COLUMN


def _in_brackets(mistake: _Mistake) -> Explained:
    """A bracket that is not closed, or by the wrong one; a missing comma or colon in brackets."""
    line, column = mistake.at
    bracket = mistake.rest(mistake.start)[:1]
    closing = _CLOSING.get(bracket, "]")
    rest = mistake.rest(mistake.at)
    if line == mistake.start[0] and rest:
        if rest[0] in "]}":
            return line, f"`{bracket}` is closed by `{rest[0]}`", f"write {closing}"
        before = re.search(r"[\w.]+\s*$", mistake.line(line)[:column])
        if bracket == "{" and before:
            return line, f"`{before[0].strip()}` needs a colon", None
        return line, f"a comma is missing before `{_excerpt(rest)}`", None
    return mistake.start[0], f"`{bracket}` is not closed", f"add {closing}"


def _quote(mistake: _Mistake) -> Explained:
    """A quote that is not closed."""
    rest = mistake.rest(mistake.start)
    return mistake.start[0], f"the quote of `{_excerpt(rest)}` is not closed", f"add {rest[:1]}"


def _first_character(mistake: _Mistake) -> Explained:
    """A value, or a key, that begins with a reserved character of YAML."""
    rest = mistake.rest(mistake.start)
    if not rest or rest[0].isalnum():
        rest = mistake.rest(mistake.at)
    if rest[:1] == "-":
        return mistake.at[0], "`-` is followed by a space", "write a negative number without it: -2"
    first = "a backtick" if rest[:1] == "`" else f"`{rest[:1]}`"
    return mistake.at[0], f"a value can't begin with {first}", f'put it in quotes: "{_excerpt(rest)}"'


def _node(mistake: _Mistake) -> Explained:
    """A character that can't begin a value, or the end of the text inside a bracket."""
    at = mistake.at
    if not mistake.rest(at):
        line = max((number for number, text in enumerate(mistake.lines) if re.search(r"[\[{]", text)), default=at[0])
        bracket = "{" if mistake.line(line).rfind("{") > mistake.line(line).rfind("[") else "["
        return line, f"`{bracket}` is not closed", f"add {_CLOSING[bracket]}"
    return _first_character(_Mistake(mistake.problem, mistake.lines, at, at))


def _escape(mistake: _Mistake) -> Explained:
    """A backslash in double quotes, as in a Windows path."""
    hint = "put the text in single quotes, or write two backslashes"
    return mistake.at[0], "a backslash in double quotes is an escape", hint


def _half_a_character(mistake: _Mistake) -> Explained:
    """One of the two escapes for a character beyond U+FFFF."""
    return mistake.at[0], "an escape is half a character", "write both halves, or the character itself"


def _list_on_line(mistake: _Mistake) -> Explained:
    """A list that begins on the line of its key."""
    rest = _excerpt(mistake.rest(mistake.at))
    return mistake.at[0], f"`{rest}` is on the line of its key", "begin the list on the next line"


def _colon_in_brackets(mistake: _Mistake) -> Explained:
    """A colon without a space, in brackets."""
    return mistake.at[0], "a colon needs a space after it", "write {gaussian: {sigma: 2}}"


def _document(mistake: _Mistake) -> Explained:
    """Text after the end of a document."""
    return mistake.at[0], "a second document begins", "put one problem in a file"


# A substring of LibYAML's or PyYAML's message, and its explanation; the first match counts.
_RULES: dict[str, Callable[[_Mistake], Explained]] = {
    "could not find expected ':'": _without_colon,
    "mapping values are not allowed": _colon_too_many,
    "found unexpected ':'": _colon_in_brackets,
    "unknown escape": _escape,
    "Unicode character escape": _half_a_character,
    "quoted scalar": _quote,
    "sequence entries are not allowed": _list_on_line,
    "expected ',' or": _in_brackets,
    "cannot start any token": _node,
    "node content": _node,
    "block scalar": _first_character,
    "scanning an alias": _first_character,
    "scanning an anchor": _first_character,
    "scanning a directive": _first_character,
    "<document start>": _document,
    "expected key": _out_of_line,
    "expected <block end>": _out_of_line,
    "expected '-' indicator": _out_of_line,
}


def _unreadable(text: str, name: str) -> AttnError:
    """The error for characters that YAML does not allow, for which LibYAML gives no line."""
    control = _CONTROL.search(text)
    if control is None:
        return AttnError("has a character that YAML does not allow", where=name, hint="write the file in UTF-8")
    line = text.count("\n", 0, control.start()) + 1
    hint = "leave it out, or write it as an escape in double quotes"
    return AttnError(f"has the control character {control[0]!a}", where=(name, f"line {line}"), hint=hint)
