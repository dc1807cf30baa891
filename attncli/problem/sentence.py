"""Sentences: the tokens of a text, and the vector of each from a vocabulary."""

import re
import unicodedata
from collections.abc import Mapping

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np

_JOINERS = "\u200c\u200d"  # zero-width joiner and non-joiner: characters inside a word


def embed(sentence: str, vocabulary: Mapping[str, Array]) -> tuple[tuple[str, ...], Array]:
    """The words of a sentence, and their vectors [m x].

    A word is looked up as it is, then in lower case. `the#2` in the vocabulary is the vector of the second "the";
    without such an entry a repeated word has one vector.

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
    """The different words of a sentence in the order of their first appearance; capitals make no difference.

    A word that stands in lower case somewhere is in lower case. Raises AttnError where there are no words.

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
    """Runs of letters, digits and their marks, in any script; an apostrophe or a hyphen may be inside a word."""
    kinds = "".join("w" if _in_word(c) else "-" if c in "'’-" else " " for c in sentence)
    return [sentence[match.start() : match.end()] for match in re.finditer("w+(?:-w+)*", kinds)]


def _in_word(letter: str) -> bool:
    """Whether a character is part of a word."""
    return letter.isalnum() or letter == "_" or letter in _JOINERS or unicodedata.category(letter)[0] == "M"
