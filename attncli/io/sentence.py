"""A sentence, word by word, as embeddings: each word is looked up in a vocabulary."""

import re
from collections.abc import Mapping

from attncli.arrays import Array, np
from attncli.errors import AttnError, UnknownNameError

_WORD = re.compile(r"\w+(?:['’\-]\w+)*")


def embed(sentence: str, vocabulary: Mapping[str, Array]) -> tuple[tuple[str, ...], Array]:
    """The words of a sentence and, row by row, their vectors.

    A word is looked up as it is written, then in lower case. `the#2` in the vocabulary is the vector of the second
    "the"; without such an entry a repeated word has one vector.

    Raises AttnError for a word that the vocabulary does not have.
    """
    words = _WORD.findall(sentence)
    if not words:
        raise AttnError("has no words", where="sentence")
    folded = {word.lower(): word for word in reversed(list(vocabulary))}
    seen: dict[str, int] = {}
    tokens, vectors = [], []
    for word in words:
        entry = word if word in vocabulary else folded.get(word.lower())
        if entry is None:
            raise UnknownNameError("word", word, vocabulary, where="sentence")
        seen[entry] = seen.get(entry, 0) + 1
        tokens.append(entry)
        vectors.append(vocabulary.get(f"{entry}#{seen[entry]}", vocabulary[entry]))
    return tuple(tokens), np.stack(vectors)
