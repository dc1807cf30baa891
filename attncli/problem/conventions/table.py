"""Conventions as tables: what each makes of the words that it has, and which words it has not."""

from collections.abc import Sequence

from attncli.ops.records import Operator
from attncli.problem.conventions.attn import ATTN
from attncli.problem.conventions.records import Convention, Reading
from attncli.problem.spec import DEFAULTS, FIELDS


def readings(convention: Convention) -> Sequence[tuple[str, str]]:
    """The words that a convention has and what it makes of them; those that it reads alike are in one row.

    >>> from attncli.problem.conventions import find_convention
    >>> readings(find_convention("torch-mha"))[0]
    ('mask', '1 or true hides')
    """
    words: dict[Reading, list[str]] = {}
    for word, reading in convention.words.items():
        words.setdefault(reading, []).append(word)
    return [(", ".join(alike), reading.text) for reading, alike in words.items()]


def missing_words(convention: Convention) -> Sequence[str]:
    """The keys of attn that a convention has no word for; weights are none where there are no projections.

    A stage that has a default, such as softmax, is one that every framework has: it has no other.

    >>> from attncli.problem.conventions import find_convention
    >>> missing_words(find_convention("torch-sdpa"))[:3]
    ['window', 'key_lengths', 'softcap']
    """
    has = {word.split()[0] for word in convention.words}
    missing = [key for key in ATTN.words if key not in has and not FIELDS[key].is_weight]
    return [f"other {key}" if isinstance(DEFAULTS[key], Operator) else key for key in missing]
