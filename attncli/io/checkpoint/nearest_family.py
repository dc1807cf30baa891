"""The family that is nearest to an unknown `model_type`: another version of it, its base, or what was mistyped."""

import re
from collections.abc import Collection
from itertools import zip_longest

_TYPO = 0.82  # how alike, of 1, two names with the same numbers are where one is the other mistyped


def nearest_family(name: str, known: Collection[str]) -> str | None:
    """The nearest of the known families; None where none is near, as a few letters in common say nothing.

    >>> nearest_family("qwen4_moe", ["qwen2_moe", "qwen3_moe", "qwen3"])
    'qwen3_moe'
    >>> nearest_family("GPT2-xl", ["gpt2", "gptj"]), nearest_family("mamba", ["jamba"])
    ('gpt2', None)
    """
    word = name.casefold()
    return _other_version(word, known) or _base(word, known) or _mistyped(word, known)


def _other_version(word: str, known: Collection[str]) -> str | None:
    """The name of the same letters whose numbers are nearest; where there are none stands a 1."""
    versions = [other for other in known if _letters(other) == _letters(word)]
    numbers = _numbers(word)
    return min(
        versions,
        key=lambda other: [abs(a - b) for a, b in zip_longest(numbers, _numbers(other), fillvalue=1)],
        default=None,
    )


def _base(word: str, known: Collection[str]) -> str | None:
    """The longest name that the word begins with, as a word of its own: `gpt2` of `gpt2-xl`."""
    return max((other for other in known if re.match(rf"{re.escape(other)}[^a-z0-9]", word)), key=len, default=None)


def _mistyped(word: str, known: Collection[str]) -> str | None:
    """The name of the same numbers that has nearly the same letters."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a wrong name needs it

    alike = [other for other in known if _numbers(other) == _numbers(word)]
    return next(iter(get_close_matches(word, alike, n=1, cutoff=_TYPO)), None)


def _letters(word: str) -> str:
    """The letters of a name, without its numbers and what stands between."""
    return re.sub("[^a-z]", "", word.casefold())


def _numbers(word: str) -> list[int]:
    """The numbers in a name, which are mostly those of a version."""
    return [int(digits) for digits in re.findall(r"[0-9]{1,9}", word)]
