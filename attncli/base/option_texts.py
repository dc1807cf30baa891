"""Options in messages and remarks: keywords for Python; files leave them out, as a reader may have neither."""

import re

_COMMAND = r"attn [a-z]+(?:'[^']*'|[^;'])*"  # a whole command can be typed
_VALUE = r"'[^']*'|[^\s;)]+?(?=[,.]?(?:[\s;)]|$))"
_OPTION = rf"(?<![\w'\"-])--(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?:[ =](?P<value>{_VALUE}))?"
_OPTIONS = re.compile(f"{_COMMAND}|{_OPTION}")
_IN_PARENTHESES = re.compile(r" \([^()]*--[a-z][^()]*\)")
_CLAUSES = re.compile("(; |: )")
_VALUED = {"batch", "context", "dtype", "head", "init", "layer", "layout", "normalize", "score", "select", "vocabulary"}
_WRITTEN = re.compile(r"[A-Z][A-Z,=]*|-?\d\S*|\S*[=:./_]\S*|'.*'")  # values, not the next word of a sentence
_LITERAL = re.compile(r"[A-Z][A-Z,=]*|-?\d[\d.]*|'.*'|\[.*\]|.*…")  # values that Python writes the same way
_LIST = re.compile(r"\d+(,\d+)+")
# Keywords of Python that differ from the option.
_IN_PYTHON = {"as": "convention", "stats": "statistics", "cell": "explain((query, key))", "format": "to_pandas()"}
_OF_COMMANDS = {"force", "json", "output", "watch"}  # Python has none of these


def with_keywords(text: str) -> str:
    """The text with Python's keywords instead of the command line's options; a whole command stays.

    >>> with_keywords("choose one: --batch 0, or --head all; see attn compute --json")
    'choose one: batch=0, or head="all"; see attn compute --json'
    >>> with_keywords("write --causal or --no-causal"), with_keywords("drawn from --seed; give --d-k 4")
    ('write causal=True or causal=False', 'drawn from seed; give d_k=4')
    """
    if "--" not in text:
        return text

    def keyword(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        if name is None or name in _OF_COMMANDS:
            return found[0]
        own = _IN_PYTHON.get(name, name.replace("-", "_"))
        if own.endswith(")"):
            return own
        is_followed = value != "or" and found.string.startswith(" --", found.end())  # a value, not the next word
        has_value = value is not None and (name in _VALUED or is_followed or _WRITTEN.fullmatch(value) is not None)
        if has_value:
            value = f"[{value}]" if _LIST.fullmatch(value) else value
            literal = value if _LITERAL.fullmatch(value) else f'"{value}"'
            return f"{own}={literal}"
        rest = "" if value is None else f" {value}"
        if name.startswith("no-"):
            return f"{own.removeprefix('no_')}=False{rest}"
        return f"{own}{'=True' if f'--no-{name}' in text else ''}{rest}"

    return _OPTIONS.sub(keyword, text)


def without_options(text: str) -> str:
    """The text without parentheses and clauses that name options; whole commands stay.

    >>> without_options("head 0 of 2 is shown from here on; --head 1 shows another")
    'head 0 of 2 is shown from here on'
    >>> without_options("--head N compares one head"), without_options("weights (--select weights) are drawn.")
    ('', 'weights are drawn.')
    """
    if not _names_option(text):
        return text
    first, *others = _CLAUSES.split(_IN_PARENTHESES.sub("", text))
    kept = "" if _names_option(first) else first
    for mark, clause in zip(others[::2], others[1::2], strict=True):
        if not _names_option(clause):
            kept = f"{kept}{mark}{clause}" if kept else clause
    return f"{kept}." if kept and text.endswith(".") and not kept.endswith(".") else kept


def _names_option(text: str) -> bool:
    """Whether a text names an option outside of a command."""
    return any(found["name"] is not None for found in _OPTIONS.finditer(text))
