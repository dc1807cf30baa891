"""Errors of the command line in one line that says what to type: unknown names, and values split by the shell."""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, did_you_mean
from attncli.base.lazy_numpy import import_object
from attncli.cli.commands import COMMANDS, CommandRef
from attncli.io.paths import STDIN, is_there, names_before_marks, path_of
from attncli.problem.fields import OUTPUT, option_name
from attncli.problem.numbers import BOOLEAN_WORDS

QUOTE_HINT = "put a list in quotes, as in '[1, 2]' or '[[1, 2], [3, 4]]'"
_OUTPUT = "--output"
_VARY = "--vary"  # the option of a command that compares the values of a key
_MATRICES = ("MATRIX", "VECTOR", "FILE|small")  # options whose values are numbers
_NAMED = ("NAME=VALUE", "CELL=X")
_SPACED = (*_MATRICES, "TEXT", *_NAMED)  # options whose values may have spaces
_JOINED = ("NAME,NAME", "LABELS", "LEFT,RIGHT", "LAYERS", "QUERY,KEY", "KEY=VALUE")  # options whose values have commas
# The first token of a value that is complete by itself.
_WHOLE = {"CELL=X": re.compile("[^=]*=.+"), "QUERY,KEY": re.compile("[^,]+,.+")}
_EQUALS = re.compile(r"[\s,]*=[\s,]*")
_WRITES = ("--output", "-o")
_PART_OF_LIST = re.compile(r"[\[\](),;\d.eE+-]*\d[\[\](),;\d.eE+-]*|\[[^\[\]]+|[^\[\]]+(,|\]+)")
_NUMBER = re.compile(r"-[\d.]")
_OPTION = re.compile(r"--[\w-]+")
_A_COMMAND = re.compile(rf"\battn (?:{'|'.join(COMMANDS)})\b")
_WORD = re.compile(r"[^\W\d_]+(['’-][^\W\d_]+)*")
_WORD_PARTS = re.compile(r"[\W_]+")
_PUNCTUATION = ".,;:!?…"
ARRAYS = ("query", "key", "value")  # keys to name in place of a problem, in this order
# Words typed in place of a command: synonyms of its purpose, or an option of `attn`.
_COMMANDS_ELSEWHERE = {
    "version": "attn --version",
    "explain describe define what info": "attn show {words}",
    "run calc calculate calculation attention attend": "attn compute {words}",
    "verify validate test grade": "attn check {words}",
    "diff vary sweep": "attn compare {words}",
    "example examples tutorial walkthrough": "attn demo {words}",
    "new create start template": "attn init {words}",
    "random draw sample": "attn generate {words}",
    "ls catalogue catalog": "attn list {words}",
    "train learn optimize optimise": "attn fit {words}",
    "load layer checkpoint": "attn model {words}",
    "plot picture figure": "attn compute -o weights.svg {words}",
}
_TYPE_INSTEAD = {name: text for names, text in _COMMANDS_ELSEWHERE.items() for name in names.split()}


def is_problem(word: str) -> bool:
    """Whether an argument is a file, standard input or a mapping, or names an entry of a file after a `#`.

    A name with the suffix of a readable format is a file, whether it exists or not.
    """
    return word.lstrip().startswith("{") or any(map(_is_file, (word, *names_before_marks(word))))


def _is_file(name: str) -> bool:
    """Whether a name is standard input, a file, or has the suffix of a readable format."""
    from attncli.io.formats import format_of_suffix

    path = Path(name)
    return name == STDIN or format_of_suffix(path) is not None or (is_there(path) and not path.is_dir())


def is_part_of_list(word: str) -> bool:
    """Whether an argument is not a file but a piece of a list that the shell has split: `2]`, `cat,`.

    >>> is_part_of_list("2]"), is_part_of_list("cat,"), is_part_of_list("p.yaml")
    (True, True, False)
    """
    return _PART_OF_LIST.fullmatch(word) is not None and not os.path.lexists(word)


def check_values(parameters: Iterable[Any], args: Sequence[str]) -> None:
    """Raise AttnError if a value has spaces without quotes, or a flag is followed by a value.

    Also if --output, or in a command that compares the option of a key, is given twice: its parser would keep only the
    last value.
    """
    options = {name: p for p in parameters if p.param_type_name == "option" for name in (*p.opts, *p.secondary_opts)}
    if _VARY in options:
        _check_repeated(options, args)
    outputs = [token for token in takewhile(lambda token: token != "--", args) if _option_of(token, options) == _OUTPUT]
    if len(outputs) > 1:
        raise AttnError("is given twice, but only one file is written", where=_OUTPUT, hint="run it once for each file")
    for at, name in enumerate(takewhile(lambda token: token != "--", args)):
        option = options.get(name)
        if option is None:
            continue
        following = [*takewhile(lambda token: not _is_option(token), args[at + 1 :])]
        if option.is_flag:
            _check_flag(name, option, following[:1])
        elif following and option.metavar in (*_SPACED, *_JOINED):
            _check_value(name, option.metavar, following)


def _option_of(token: str, options: Mapping[str, Any]) -> str:
    """The long name of an argument's option, with or without its value; empty if it is not an option."""
    option = options.get(token.partition("=")[0])
    return "" if option is None else str(option.opts[0])


def _check_repeated(options: Mapping[str, Any], args: Sequence[str]) -> None:
    """Raise AttnError, with the way to compare two values of a key, if its option is given twice."""
    from attncli.problem.spec import FIELDS

    given: dict[str, list[str]] = {}
    for token, following in zip(args, [*args[1:], ""], strict=False):
        name, equals, value = token.partition("=")
        option = options.get(name)
        if option is not None and not option.is_flag and not option.multiple and option.name in FIELDS:
            given.setdefault(option.name, []).append(value if equals else following)
    for key, values in given.items():
        if len(values) > 1:
            from attncli.io.variants import has_several_values

            name, joined = option_name(key), ",".join(values)
            several = " ".join(f"{_VARY} {_quoted(f'{key}={value}')}" for value in values)
            hint = f"{name} {_quoted(joined)}" if has_several_values(key, joined) else several
            raise AttnError("is given twice", where=name, hint=f"to compare the values: {hint}")


def _is_option(token: str) -> bool:
    """Whether an argument is the name of an option, and not a negative number."""
    return token.startswith("-") and token != STDIN and _NUMBER.match(token) is None


def _check_flag(name: str, option: Any, following: Sequence[str]) -> None:
    """Raise AttnError if a flag is followed by `yes`, `false` or the like."""
    for word in following:
        wanted = BOOLEAN_WORDS.get(word.casefold())
        if wanted is not None and not is_there(Path(word)):
            others = option.opts if name in option.secondary_opts else option.secondary_opts
            other = f"type {others[0]}" if others else "leave it out"
            raise AttnError(f"takes no value, not {word!r}", where=name, hint=f"type {name} alone" if wanted else other)


def _check_value(name: str, metavar: str, following: Sequence[str]) -> None:
    """Raise AttnError if the value of an option is spread over several arguments."""
    words = [following[0], *takewhile(lambda word: not _is_other(word), following[1:])]
    text = " ".join(words)
    if words[0].startswith("'") and words[-1].endswith("'") and metavar in _SPACED:
        message, hint = "cmd.exe does not read single quotes", f'type {name} "{text[1:-1]}"'
        raise AttnError(message, where=name, hint=hint)
    has_brackets = any(map(is_part_of_list, words[1:])) and "[" in text
    if metavar in _MATRICES and not all(map(is_part_of_list, words[1:])):
        return
    is_unnamed = "=" in metavar and "=" not in text
    if len(words) == 1 or is_unnamed or (metavar in _WHOLE and _WHOLE[metavar].fullmatch(words[0])):
        return
    joined = text if metavar in _SPACED or has_brackets else ",".join(word.strip(",") for word in words)
    if "=" in metavar:
        joined = _EQUALS.sub("=", joined, count=1)
    raise AttnError("the shell splits a value at spaces", where=name, hint=f"type {name} {_quoted(joined)}")


def _quoted(text: str) -> str:
    """A value as one types it: in quotes if it has spaces or brackets, which the shell reads."""
    if not {*text} & {*" [{"}:
        return text
    return f'"{text}"' if os.name == "nt" or "'" in text else f"'{text}'"


def _is_other(word: str) -> bool:
    """Whether an argument is complete by itself: a file, a folder or a sentence."""
    return is_problem(word) or is_there(Path(word)) or " " in word


def explain(error: Any, parameters: Iterable[Any], ref: CommandRef | None, command: str) -> AttnError:
    """The AttnError for an error of Typer, with a correction for an unknown name."""
    message = error.format_message().rstrip(".")
    unknown_option = getattr(error, "option_name", None)
    if unknown_option is not None and message.startswith("No such option"):
        value = _value_of(unknown_option, getattr(error, "args_given", ()))
        return _unknown_option(unknown_option, value, parameters, ref, command)
    if extra := re.search(r"unexpected extra argument\S* \((.*)\)", message):
        return _unexpected_arguments(extra[1].split(), error.ctx.params, ref, command)
    if "does not take a value" in message:
        return AttnError("takes no value", where=unknown_option, hint=f"type {unknown_option} alone")
    return AttnError(message, hint=f"{command} --help lists the options")


def _value_of(name: str, args: Sequence[str]) -> str | None:
    """The value given to an unknown option; None if there is none."""
    for token, following in zip(args, [*args[1:], "-"], strict=False):
        option, equals, value = token.partition("=")
        if option == name:
            return value if equals else None if _is_option(following) else following
    return None


def _unexpected_arguments(
    words: Sequence[str], given: Mapping[str, Any], ref: CommandRef | None, command: str
) -> AttnError:
    """The error for extra arguments of a command with the parameters `given`: arrays, or a value or a sentence."""
    from attncli.problem.spec import FIELDS

    message = f"unexpected argument {' '.join(words)}"
    if ref is None or not ref.has_problem:
        return AttnError(message, hint=f"{command} --help shows what it takes")
    first = given.get("problem")
    names = [first, *words] if isinstance(first, str) else words
    keys = {name for name, value in given.items() if name in (*FIELDS, "convention") and value not in (None, [], ())}
    if (error := named_arrays_error(command, names, keys, takes_expected=False)) is not None:
        return error
    if any(map(is_part_of_list, words)):
        return AttnError(message, hint=QUOTE_HINT)
    if all(map(_is_word, names)) and not is_there(Path(names[0])):
        return AttnError(message, hint=f"put a sentence in quotes: {command} {_quoted(' '.join(names))}")
    return AttnError(message, hint=f"{command} takes one problem; attn compare takes several")


def _is_word(text: str) -> bool:
    """Whether an argument may be a word of a sentence."""
    return _WORD.fullmatch(text.rstrip(_PUNCTUATION)) is not None


def named_arrays_error(
    command: str, names: Sequence[str], given: Collection[str], *, takes_expected: bool
) -> AttnError | None:
    """The error, with the options for them, for arrays named in place of a problem; None for other files.

    `given` are the keys that have a value. If the names of all files say so, each is the named array; otherwise they
    are query, key and value, and with `takes_expected` the output, in this order.
    """
    from attncli.base.text import join_words
    from attncli.io.formats import format_of_suffix

    formats = [format_of_suffix(path_of(name)) for name in names]
    if any(row is None or row.holds_problems for row in formats):
        return None
    keys = _keys_of_arrays(names, given, takes_expected=takes_expected)
    if not keys or (len(names) == 1 and not given):
        return None
    options = {OUTPUT: f"--against {OUTPUT}="}
    words = [
        f"{options.get(key, f'{option_name(key)} ')}{_quoted(name)}" for key, name in zip(keys, names, strict=True)
    ]
    if takes_expected and OUTPUT not in keys and "against" not in given:
        words.append("--against output=FILE" if "value" in keys or "value" in given else "--against weights=FILE")
    what = "is a file of numbers" if len(names) == 1 else "are files of numbers"
    type_ = " ".join(words if given else [command, *words])
    return AttnError(f"{join_words(names)} {what}, not of a problem", hint=f"type {type_}")


def _keys_of_arrays(names: Sequence[str], given: Collection[str], *, takes_expected: bool) -> Sequence[str]:
    """The key of each array file, by name or else by order; none if there are too many."""
    from attncli.io.entries import ALIASES
    from attncli.problem.spec import FIELDS

    ends = [_WORD_PARTS.split(path_of(name).stem)[-1].casefold() for name in names]
    by_name = [ALIASES.get(end, end) for end in ends]
    results = {OUTPUT} if takes_expected and "against" not in given else set()
    free = {name for name, field in FIELDS.items() if field.kind in ("matrix", "boolean_matrix")} | results
    if len({*by_name}) == len(names) and {*by_name} <= free - {*given}:
        return by_name
    inputs = [key for key in ARRAYS if key not in given] if not {*given} & {"embeddings", "sentence"} else []
    in_order = [*inputs, *sorted(results)]
    return in_order[-1:] if len(names) == 1 else in_order[: len(names)] if len(names) <= len(in_order) else []


def _unknown_option(
    name: str, value: str | None, parameters: Iterable[Any], ref: CommandRef | None, command: str
) -> AttnError:
    """The error for an option that the command lacks."""
    from attncli.problem.names_elsewhere import hint_elsewhere

    known = [opt for p in parameters if p.param_type_name == "option" for opt in (*p.opts, *p.secondary_opts)]
    hint = hint_elsewhere(name, is_option=True, value=value) if name.startswith("--") else None
    named = set(_OPTION.findall(hint or ""))
    if not named <= {*known} and not _A_COMMAND.search(hint or ""):  # itself names the command with the option
        is_near = ref is not None and ref.has_problem and named <= _of_compute()
        hint = f"attn compute has it: {hint}" if is_near else None
    if hint is None:
        near = None if name in _WRITES else did_you_mean(name, known)  # except --grad-output
        hint = near or _of_another_command(name, command)
    return AttnError(f"unknown option {name}", hint=hint)


def _of_compute() -> set[str]:
    """The options of `attn compute` that match its parameters' names."""
    import inspect

    from attncli.problem.fields import option_name

    return {*map(option_name, inspect.signature(import_object(COMMANDS["compute"].function)).parameters)}


def _of_another_command(name: str, command: str) -> str:
    """How to replace an option that `attn compute` may have; a command without `--output` prints its answer."""
    if name in _WRITES:
        return f"{command} writes to standard output: add > FILE"
    has_it = name in _of_compute()
    return f"attn compute has it; {command} --help lists its own" if has_it else f"{command} --help lists the options"


def unknown_command(name: str, arguments: Sequence[str] | None = None) -> AttnError:
    """The error for an unknown command, with a correction; it does not ask for help with any argument."""
    import shlex

    from attncli.render.meanings import find_meanings

    message = f"unknown command {name!r}"
    if (nearest := did_you_mean(name, COMMANDS)) is not None:
        return AttnError(message, hint=nearest)
    if arguments is not None and (instead := _TYPE_INSTEAD.get(name.casefold())) is not None:
        return AttnError(message, hint=f"type {instead.format(words=shlex.join(arguments)).strip()}")
    words = [name, *takewhile(_is_word, arguments or ())]
    for term in dict.fromkeys((" ".join(words), name)):
        if find_meanings(term) and (term != name or len(words) == 1):
            return AttnError(message, hint=f"attn show {term} explains it")
    hint = "attn --help lists the commands"
    if arguments is not None and all(map(_is_word, words)):
        rest = shlex.join(arguments[len(words) - 1 :])
        one = f"for a sentence of one word: attn compute --sentence {name}"
        several = f"for a sentence: attn {_quoted(' '.join(words))}"
        hint += f"; {one if len(words) == 1 else f'{several} {rest}'.strip()}"
    return AttnError(message, hint=hint)
