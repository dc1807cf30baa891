"""Labels of queries and keys: their defaults, the positions of a label, and numbers for equal ones."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError

EVERY = "*"  # in place of a label or a position: every one


@lru_cache(maxsize=8)  # every step and every table reads the labels, and there may be a hundred thousand
def numbered_labels(word: str, count: int) -> tuple[str, ...]:
    """Labels counted from 1.

    >>> numbered_labels("token", 2)
    ('token_1', 'token_2')
    """
    return tuple(f"{word}_{number}" for number in range(1, count + 1))


def number_equal_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels; one that occurs several times has its number after it, as options take it.

    >>> number_equal_labels(("the", "cat", "the"))
    ('the#1', 'cat', 'the#2')
    """
    counts, numbers = Counter(labels), Counter[str]()
    if len(counts) == len(labels):
        return tuple(labels)
    numbered = []
    for label in labels:
        numbers[label] += 1
        numbered.append(f"{label}#{numbers[label]}" if counts[label] > 1 else label)
    return tuple(numbered)


def find_label(text: str, labels: Sequence[str], *, where: str | ErrorPath) -> list[int]:
    """The positions that a label or a position selects: `cat`, `the` (every one), `the#2` (the second), `0`, `-1`.

    A label has precedence over a position. Raises AttnError where there is neither.

    >>> find_label("the", ["the", "cat", "the"], where="only")
    [0, 2]
    >>> find_label("the#2", ["the", "cat", "the"], where="only")
    [2]
    >>> find_label("-2", ["the", "cat", "the"], where="only")
    [1]
    """
    matches = [index for index, label in enumerate(labels) if label == text]
    if matches:
        return matches
    word, mark, number = text.rpartition("#")
    if mark and number.isdecimal():
        same = [index for index, label in enumerate(labels) if label == word]
        if 1 <= int(number) <= len(same):
            return [same[int(number) - 1]]
    try:
        index = int(text)
    except ValueError:
        raise UnknownNameError("token", text, dict.fromkeys(labels), where=where) from None
    if not -len(labels) <= index < len(labels):
        raise AttnError(f"there is no position {index}", where=where, hint=f"positions go from 0 to {len(labels) - 1}")
    return [index % len(labels)]
