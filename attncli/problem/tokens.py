"""The tokens of a problem and their vectors: a sentence's, by a vocabulary or a model's tokenizer, or rows.

A sentence is split into words, whose vectors are in a vocabulary, or by a tokenizer into row numbers of a table. The
embeddings are these vectors, or come from a residual stream.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Protocol

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, there_are
from attncli.ops.norms import NORM, USES
from attncli.ops.records import Operator
from attncli.ops.registry import look_up
from attncli.problem.arrays import EncodedArray
from attncli.problem.draft import Draft
from attncli.problem.operators import PendingRandom
from attncli.problem.spec import FIELDS, ProblemSpec

_JOINERS = "\u200c\u200d"  # zero-width joiner and non-joiner: characters inside a word
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"  # modifiers of the emoji before them


def embed(sentence: str, vocabulary: Mapping[str, Array]) -> tuple[tuple[str, ...], Array]:
    """The words of a sentence, and their vectors [m x].

    A word is looked up as written, then in lower case. `the#2` in the vocabulary is the vector of the second "the";
    otherwise a repeated word has one vector.

    Raises AttnError for a word that the vocabulary does not have.

    >>> tokens, embeddings = embed("The cat", {"cat": np.array([0.0, 1.0]), "the": np.array([1.0, 0.0])})
    >>> tokens, embeddings.tolist()
    (('the', 'cat'), [[1.0, 0.0], [0.0, 1.0]])
    """
    words = _words(sentence)
    if not words:
        raise AttnError("has no words", where="sentence")
    folded = {word.lower(): word for word in reversed(list(vocabulary))}
    counts: dict[str, int] = {}
    tokens, vectors = [], []
    for word in words:
        entry = word if word in vocabulary else folded.get(word.lower())
        if entry is None:
            raise UnknownNameError("word", word, vocabulary, where="sentence")
        counts[entry] = counts.get(entry, 0) + 1
        tokens.append(entry)
        vectors.append(vocabulary.get(f"{entry}#{counts[entry]}", vocabulary[entry]))
    return tuple(tokens), np.stack(vectors)


def distinct_words(sentence: str) -> tuple[str, ...]:
    """The distinct words of a sentence in the order of their first appearance, ignoring case.

    A word that is in lower case somewhere is in lower case here. Raises AttnError if there are no words.

    >>> distinct_words("The cat saw the dog in Paris.")
    ('the', 'cat', 'saw', 'dog', 'in', 'Paris')
    """
    words = _words(sentence)
    if not words:
        raise AttnError("has no words", where="sentence")
    first: dict[str, str] = {}
    for word in words:
        lower = word.lower()
        first[lower] = lower if lower == word else first.get(lower, word)
    return tuple(first.values())


def _words(sentence: str) -> list[str]:
    """Runs of letters, digits, their marks and emoji, in any script; words may contain apostrophes and hyphens."""
    kinds = "".join("w" if _in_word(c) else "-" if c in "'’-" else " " for c in sentence)
    return [sentence[match.start() : match.end()] for match in re.finditer("w+(?:-w+)*", kinds)]


def _in_word(letter: str) -> bool:
    """Whether a character is part of a word."""
    is_emoji = unicodedata.category(letter) == "So" or letter in _SKIN_TONES
    return letter.isalnum() or letter in f"_{_JOINERS}" or is_emoji or unicodedata.category(letter)[0] == "M"


TOKENIZER = "tokenizer"  # the key
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"  # the decoding of an incomplete character


class Splitter(Protocol):
    """Splits a text into tokens: their numbers and labels, as from `encode`."""

    def split(self, text: str) -> tuple[list[int], tuple[str, ...]]:
        """The numbers and labels of the tokens of a text."""


@dataclass(frozen=True)
class GivenTokenizer:
    """A Python user's tokenizer from the package tokenizers."""

    tokenizer: Any

    def split(self, text: str) -> tuple[list[int], tuple[str, ...]]:
        """Like `encode`, with a copy: the user's own keeps its padding."""
        return encode(deepcopy(self.tokenizer), text)


def to_splitter(value: Any) -> Splitter:
    """A splitter from a file, or from a tokenizer, also a transformers one; raises AttnError for others."""
    if callable(getattr(value, "split", None)) and not isinstance(value, str):
        splitter: Splitter = value
        return splitter
    found = getattr(value, "backend_tokenizer", value)
    if not callable(getattr(found, "encode", None)) or isinstance(found, str):
        hint = "name a file tokenizer.json, or give a Tokenizer of the package tokenizers"
        raise AttnError("is not a tokenizer", where=TOKENIZER, hint=hint, subject=value)
    return GivenTokenizer(found)


def encode(tokenizer: Any, text: str) -> tuple[list[int], tuple[str, ...]]:
    """The numbers and labels of the tokens of a text, including added ones such as [CLS].

    A label is the token's text without marks of spaces (`Ġ`, `▁`); a token that is only a part of a letter has that
    letter. The tokenizer's padding and truncation, which are for batches, are turned off.
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


def split_sentence(draft: Draft) -> Draft:
    """Replace a sentence and its tokenizer by tokens as labels, and record their numbers, the rows of a table.

    A vocabulary has precedence, and so have tokens, embeddings or a residual stream given over a file's sentence: then,
    and without a sentence, the tokenizer is unused.
    """
    values = dict(draft.values)
    tokenizer = values.pop(TOKENIZER, None)
    if tokenizer is None:
        _check_has_words(draft)
        return draft
    reason = _reason_not_read(draft, values)
    if reason:
        return replace(draft, values=values, unread={} if draft.is_in_file(TOKENIZER) else {TOKENIZER: reason})
    numbers, labels = tokenizer.split(values.pop("sentence"))
    if not numbers:
        raise AttnError("has no tokens", where="sentence")
    if draft.is_in_file("tokens"):  # otherwise they are the user's own labels
        values.pop("tokens", None)
    values.setdefault("tokens", labels)
    if len(values["tokens"]) != len(numbers):
        message = f"are {len(values['tokens'])}, but the tokenizer splits the sentence into {len(numbers)}"
        raise AttnError(message, where="tokens", hint="leave them out", keys=("tokens", "sentence"))
    return replace(draft, values=values, token_numbers=numbers)


def _reason_not_read(draft: Draft, values: dict[str, Any]) -> str:
    """The reason why a tokenizer is unused, or "". Values given over a file override its sentence."""
    if "sentence" not in values:
        return "there is no sentence"
    if "vocabulary" in values:
        return "vocabulary has the vectors of the words"
    given = [name for name in ("tokens", "embeddings", "residual") if name in values]
    over = next((name for name in given if not draft.is_in_file(name)), "")
    if over and draft.is_in_file("sentence") and not isinstance(values[over], PendingRandom):
        del values["sentence"]
        return f"{over} {'are' if over != 'residual' else 'is'} given"
    return ""


def _check_has_words(draft: Draft) -> None:
    """Raise AttnError if a sentence is given over a file whose token table has numbers, not words."""
    values = draft.values
    is_over_file = "sentence" in values and not draft.is_in_file("sentence") and draft.is_in_file("token_table")
    if is_over_file and "vocabulary" not in values:
        hint = "give --tokenizer tokenizer.json, or the numbers of the tokens: --tokens 464,3797"
        message = "token_table has rows of numbers, not of words"
        raise AttnError(message, where="sentence", hint=hint, keys=("sentence",))


# The keys that make a residual stream from tokens.
TOKEN_NORM, RESIDUAL_NORM = "token_norm", "residual_norm"
TOKEN_KEYS = ("token_table", "token_positions", "token_scale", "token_types", "token_type_ids", TOKEN_NORM)
RESIDUAL_KEYS = (*TOKEN_KEYS, RESIDUAL_NORM)  # unused if embeddings are given
_INPUT_KEYS = frozenset({"embeddings", "residual", "sentence", *RESIDUAL_KEYS})
_OF_ROW = {"position": "at position", "type": "of type"}  # the words for the row added to a token
_WHOLE_NUMBER = re.compile(r"-?[0-9]+", re.ASCII)


def choose_input(draft: Draft) -> Draft:
    """Keep the key for the attention's input, with the keys that act on it; remove the others.

    Embeddings have precedence over a residual stream, and a stream over looked-up tokens. An option, or a keyword over
    a file, overrides the file: its drawn embeddings, or its residual stream. Records why other keys are unused, except
    a file's, which may have keys for all three. Raises AttnError if two were given together, or tokens are missing.
    """
    if _INPUT_KEYS.isdisjoint(draft.values):
        return draft
    values = dict(draft.values)
    _prefer_given(draft, values)
    _forget_count(draft, values)
    keys, reason = _keys_in_vain(values)
    removed = [name for name in keys if values.pop(name, None) is not None]
    unread = {name: reason for name in removed if not draft.is_in_file(name)}
    return replace(draft, values=values, unread={**unread, **draft.unread})


def _keys_in_vain(values: Mapping[str, Any]) -> tuple[Sequence[str], str]:
    """The keys of the other inputs, and why they are unused."""
    if "residual" in values and not {"embeddings", "sentence"}.isdisjoint(values):
        name = "embeddings" if "embeddings" in values else "sentence"
        message = f"residual and {name} are both given"
        raise AttnError(message, where="residual", hint="leave out one of them", keys=("residual", name))
    if "residual" in values:
        return TOKEN_KEYS, "the residual stream is given"
    if "embeddings" in values or "sentence" in values:
        return RESIDUAL_KEYS, "embeddings are the attention's own input"
    if values.get("token_table") is None:
        return RESIDUAL_KEYS, "there is no residual stream, and no token_table"
    if "tokens" in values and "key" not in values:
        return (), ""
    if {"key", "scores", "weights"}.isdisjoint(values):
        hint = "give the numbers of the tokens, such as 464,3797"
        raise AttnError("token_table is given without tokens", where="tokens", hint=hint, keys=("token_table",))
    return RESIDUAL_KEYS, "no token is looked up"


def embed_sentence(draft: Draft) -> Draft:
    """Set the tokens and embeddings of a sentence from its vocabulary; `random_fill` draws a missing one."""
    text, vocabulary = draft.values.get("sentence"), draft.values.get("vocabulary")
    if text is None and vocabulary is None:
        return draft
    if text is None:
        message = "vocabulary is given without sentence"
        raise AttnError(message, where="sentence", hint="give both", keys=("vocabulary",))
    if "embeddings" in draft.values:
        message, keys = "sentence and embeddings are both given", ("embeddings", "sentence", "vocabulary")
        raise AttnError(message, where="embeddings", hint="leave out one of them", keys=keys)
    if vocabulary is None:
        return draft
    tokens, embeddings = embed(text, vocabulary)
    values = {**draft.values, "embeddings": embeddings}
    values.setdefault("tokens", tokens)
    return replace(draft, values=values)


def look_up_tokens(draft: Draft) -> Draft:
    """Replace tables by the rows of the tokens and of their positions, [m x], and make the embeddings from these.

    The tokens' numbers come from a tokenizer; without one the tokens are numbers themselves. Without a `token_table`
    the embeddings come from a given residual stream. Only the rows are read and converted. Raises AttnError if a token
    is not a number, or a table has no such row.
    """
    values = dict(draft.values)
    table, residual = values.get("token_table"), values.get("residual")
    if table is None:
        if residual is None or isinstance(residual, PendingRandom):
            return draft
        return replace(draft, values={**values, "embeddings": residual})
    count = table.shape[0]
    values["token_table"] = values["embeddings"] = _rows(
        table, [_row(token, entry, count) for entry, token in enumerate(draft.token_numbers or values["tokens"])]
    )
    if values.get("token_type_ids") is not None and values.get("token_types") is None:
        hint = "give the vector of each type, or leave it out"
        raise AttnError("is given without token_types", where="token_type_ids", hint=hint)
    for name, find, noun in (("token_positions", _positions_of_tokens, "position"), ("token_types", _types, "type")):
        rows = values.get(name)
        if rows is not None:
            at = find(values)
            wrong = next((row for row in at if not 0 <= row < rows.shape[0]), None)
            if wrong is not None:
                message = f"has {count_of(rows.shape[0], 'row')}, and a token is {_OF_ROW[noun]} {wrong}"
                raise AttnError(message, where=name, hint=f"give a row for each {noun}, counted from 0")
            values[name] = _rows(rows, at)
    return replace(draft, values=values)


def _positions_of_tokens(values: Mapping[str, Any]) -> Sequence[int]:
    """The positions of the tokens: as given, otherwise counted from 0 after any cache."""
    count, given, past = len(values["tokens"]), values.get("positions"), values.get("past_value")
    if given is None:
        first = 0 if past is None else past.shape[-2]
        return range(first, first + count)
    _check_count("positions", given, count)
    wrong = next((position for position in given.tolist() if position != int(position)), None)
    if wrong is not None:
        hint = "token_positions has one row for each position"
        raise AttnError(f"{wrong:g} is not a whole number", where="positions", hint=hint)
    return [int(position) for position in given.tolist()]


def _types(values: Mapping[str, Any]) -> Sequence[int]:
    """The types of the tokens, by default 0."""
    count, given = len(values["tokens"]), values.get("token_type_ids")
    if given is None:
        return [0] * count
    _check_count("token_type_ids", given, count)
    return [int(number) for number in given.tolist()]


def _check_count(name: str, given: Array, count: int) -> None:
    """Raise AttnError unless there is a number for each token."""
    if given.shape != (count,):
        message = f"has the shape [{' '.join(map(str, given.shape))}]; {there_are(count, 'token')}"
        raise AttnError(message, where=name, hint=f"expected [{count}]")


def residual_of_tokens(spec: ProblemSpec) -> Array:
    """The residual stream of a problem's tokens, [m x] in its type, from their rows and the keys that act on these."""
    assert spec.token_table is not None
    widen, rounded = spec.precision.widen, spec.precision.round
    residual: Array = rounded(spec.token_table)
    if spec.token_scale is not None:
        residual = rounded(widen(residual) * spec.token_scale)
    for added in (spec.token_types, spec.token_positions):
        if added is not None:
            residual = rounded(widen(residual) + widen(rounded(added)))
    return residual if spec.token_norm is None else rounded(normalized_vectors(widen(residual), spec.token_norm))


def normalized_vectors(vectors: Array, operator: Operator) -> Array:
    """Vectors of tokens [m x] after `token_norm`."""
    norm = look_up(NORM, operator.record.name)
    found: Array = norm.function(vectors, **USES[TOKEN_NORM].parameters_of(norm, "token_vectors", operator.parameters))
    return found


def _prefer_given(draft: Draft, values: dict[str, Any]) -> None:
    """Remove a file's embeddings or residual stream that an option, or a keyword, overrides."""
    in_file = [name for name in ("embeddings", "residual") if name in values and draft.is_in_file(name)]
    are_both = {"embeddings", "residual"} <= values.keys()
    names_rows = {"tokens", "token_table"} <= values.keys() and not draft.is_in_file("tokens")
    for name in in_file:
        if (are_both and len(in_file) == 1) or (names_rows and isinstance(values[name], PendingRandom)):
            del values[name]


def _forget_count(draft: Draft, values: dict[str, Any]) -> None:
    """Remove a file's number of drawn embeddings if an option or a keyword gives embeddings or labels."""
    keys = ("embeddings", "residual", *(("tokens",) if "token_table" in values else ()))
    own = next((key for key in keys if key in values), None)
    is_given = own is not None and not draft.is_in_file(own) and not isinstance(values[own], PendingRandom)
    are_drawn = [name for name, value in values.items() if isinstance(value, PendingRandom)]
    drawn_rows = {letter for name in are_drawn if (letter := FIELDS[name].letters[0]) in ("n", "m")}
    are_counted = "tokens" in values and not draft.is_in_file("tokens") and drawn_rows <= {"m"}  # one row for each
    if ((is_given and not drawn_rows) or are_counted) and draft.is_in_file("token_count"):
        values.pop("token_count", None)


def _row(token: str | int, entry: int, count: int) -> int:
    """The row number of a token, an entry of the list, in a table with `count` rows."""
    token = str(token)
    if not _WHOLE_NUMBER.fullmatch(token):
        hint = "give the numbers of the tokenizer, such as 464,3797, which are the rows of token_table"
        raise AttnError(f"{token!r} is not the number of a token", where="tokens", hint=hint, entry=entry)
    if token.startswith("-") or len(token) > len(str(count)) or int(token) >= count:
        hint = f"token_table has {count_of(count, 'row')}: 0 to {count - 1}"
        raise AttnError(f"there is no token {token}", where="tokens", hint=hint, entry=entry)
    return int(token)


def _rows(table: Array | EncodedArray, at: Sequence[int]) -> Array:
    """Some rows of a table, in the given order; only these are read from a file."""
    rows: Array = table.rows(list(at)) if isinstance(table, EncodedArray) else table[list(at)]
    return rows
