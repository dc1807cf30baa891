"""Slips as text: a line for each, with its variants in one sentence."""

from collections.abc import Iterable, Sequence
from itertools import takewhile

from attncli.analysis.check.report import Explanation


def slip_lines(explanations: Iterable[Explanation]) -> list[tuple[str, str]]:
    """The names and the sentence of each explanation; those of the same slips are variants, and one line.

    >>> rounded = [Explanation(("weights_rounded",), f"The weights are rounded to {n} decimals.") for n in (3, 2)]
    >>> slip_lines(rounded)
    [('weights_rounded', 'The weights are rounded to 3 or 2 decimals.')]
    """
    sentences: dict[str, list[str]] = {}
    for explanation in explanations:
        sentences.setdefault(slip_names(explanation), []).append(explanation.sentence)
    return [(names, join_variants(variants)) for names, variants in sentences.items()]


def slip_names(explanation: Explanation) -> str:
    """`no_scale`, and of a pair of slips both: `no_scale + no_mask`."""
    return " + ".join(explanation.slips)


def join_variants(sentences: Sequence[str]) -> str:
    """Sentences that differ in some words as one; others one after the other.

    >>> join_variants(["It has 1 head.", "It has 2 heads.", "It has 3 heads."])
    'It has 1 head, 2 heads or 3 heads.'
    >>> join_variants(["It is too wide.", "All is lost."])
    'It is too wide. All is lost.'
    """
    sentences = list(dict.fromkeys(sentences))
    words = [sentence.removesuffix(".").split() for sentence in sentences]
    shortest = min(map(len, words))
    first = _common_length(words)
    last = min(_common_length([own[::-1] for own in words]), shortest - first)
    if len(sentences) == 1 or first + last < shortest / 2:
        return " ".join(sentences)
    *variants, final = (" ".join(own[first : len(own) - last]) for own in words)
    joined = " or ".join(filter(None, [", ".join(variants), final]))
    return " ".join([*words[0][:first], joined, *words[0][len(words[0]) - last :]]).strip() + "."


def _common_length(words: Sequence[Sequence[str]]) -> int:
    """How many words all of some lists begin with."""
    return sum(1 for _ in takewhile(lambda same: len(set(same)) == 1, zip(*words, strict=False)))
