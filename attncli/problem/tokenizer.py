"""The tokens of a sentence as a model's own tokenizer makes them: their numbers, and what they are called."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

from attncli.base.errors import AttnError
from attncli.problem.arrays import ArrayOrigin
from attncli.problem.operators import PendingRandom

TOKENIZER = "tokenizer"  # the key
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"  # what a part of a letter's bytes is decoded to


class Splitter(Protocol):
    """What splits a text into tokens: their numbers and labels, as of `encode`."""

    def split(self, text: str) -> tuple[list[int], tuple[str, ...]]:
        """The numbers and labels of the tokens of a text."""


@dataclass(frozen=True)
class GivenTokenizer:
    """A tokenizer of the package tokenizers that a user of Python has made."""

    tokenizer: Any

    def split(self, text: str) -> tuple[list[int], tuple[str, ...]]:
        """As `encode`, by a copy: the user's own keeps its padding."""
        return encode(deepcopy(self.tokenizer), text)


def to_splitter(value: Any) -> Splitter:
    """What splits a text: a file, or a tokenizer, also in one of transformers; raises AttnError for others."""
    if callable(getattr(value, "split", None)) and not isinstance(value, str):
        splitter: Splitter = value
        return splitter
    found = getattr(value, "backend_tokenizer", value)
    if not callable(getattr(found, "encode", None)) or isinstance(found, str):
        hint = "name a file tokenizer.json, or give a Tokenizer of the package tokenizers"
        raise AttnError("is not a tokenizer", where=TOKENIZER, hint=hint, subject=value)
    return GivenTokenizer(found)


def split_sentence(values: dict[str, Any], origins: Mapping[str, ArrayOrigin]) -> tuple[list[int] | None, str]:
    """Replace a sentence and its tokenizer by tokens, which are labels; returns their numbers, the rows of a table.

    A vocabulary, or tokens, embeddings or a residual stream given over the sentence of a file, have precedence: then,
    and without a sentence, nothing reads the tokenizer, and the reason is returned, "" where a file has the tokenizer.
    """
    tokenizer = values.pop(TOKENIZER, None)
    if tokenizer is None:
        _check_has_words(values, origins)
        return None, ""
    is_of_file = is_in_file(TOKENIZER, origins)
    reason = _reason_not_read(values, origins)
    if reason:
        return None, "" if is_of_file else reason
    numbers, labels = tokenizer.split(values.pop("sentence"))
    if not numbers:
        raise AttnError("has no tokens", where="sentence")
    if is_in_file("tokens", origins):  # otherwise they are labels of the user's own
        values.pop("tokens", None)
    values.setdefault("tokens", labels)
    if len(values["tokens"]) != len(numbers):
        message = f"are {len(values['tokens'])}, and the tokenizer makes {len(numbers)} of the sentence"
        raise AttnError(message, where="tokens", hint="leave them out", keys=("tokens", "sentence"))
    return numbers, ""


def _reason_not_read(values: dict[str, Any], origins: Mapping[str, ArrayOrigin]) -> str:
    """Why nothing reads a tokenizer; "" where it is read. A sentence of a file gives way to what is given over it."""
    if "sentence" not in values:
        return "there is no sentence"
    if "vocabulary" in values:
        return "vocabulary has the vectors of the words"
    given = [name for name in ("tokens", "embeddings", "residual") if name in values]
    over = next((name for name in given if not is_in_file(name, origins)), "")
    if over and is_in_file("sentence", origins) and not isinstance(values[over], PendingRandom):
        del values["sentence"]
        return f"{over} {'are' if over != 'residual' else 'is'} given"
    return ""


def _check_has_words(values: Mapping[str, Any], origins: Mapping[str, ArrayOrigin]) -> None:
    """Raise AttnError where a sentence is given over a file whose table of tokens has numbers, and no words."""
    is_over_file = "sentence" in values and not is_in_file("sentence", origins) and is_in_file("token_table", origins)
    if is_over_file and "vocabulary" not in values:
        hint = "give --tokenizer tokenizer.json, or the numbers of the tokens: --tokens 464,3797"
        message = "token_table has rows of numbers, not of words"
        raise AttnError(message, where="sentence", hint=hint, keys=("sentence",))


def encode(tokenizer: Any, text: str) -> tuple[list[int], tuple[str, ...]]:
    """The numbers and labels of the tokens of a text, with those that the tokenizer adds, such as [CLS].

    A label is the token as it is read, without the marks of spaces (`Ġ`, `▁`); a token that is a part of a letter alone
    has that letter. The tokenizer's padding and truncation, which are those of batches, are turned off.
    """
    tokenizer.no_padding()
    tokenizer.no_truncation()
    found = tokenizer.encode(text)
    labels = []
    for number, token, (start, end) in zip(found.ids, found.tokens, found.offsets, strict=True):
        label = tokenizer.decode([number], skip_special_tokens=False).strip()
        label = text[start:end].strip() if _UNREADABLE in label else label
        labels.append(label or token)
    return list(found.ids), tuple(labels)


def is_in_file(name: str, origins: Mapping[str, ArrayOrigin]) -> bool:
    """Whether a value is that of a problem file, over which no option and no keyword was given."""
    return name in origins and not origins[name].is_option
