"""A case made smaller while it fails in the same way: fewer words, files, lines and characters."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.fuzz.cases import Case

MAX_TRIALS, MAX_SECONDS = 400, 30
MAX_BYTES = 10_000  # of a file of which parts are left out
Fails = Callable[[Case], bool]


def shrink(case: Case, fails: Fails) -> Case:
    """The smallest case found that fails too; one whose numbers or mask are known as it is: it is small."""
    trials, is_smaller = 0, case.numbers is None and case.visible is None
    end = time.process_time() + MAX_SECONDS
    while is_smaller:
        is_smaller = False
        for smaller in _smaller(case):
            trials += 1
            if trials > MAX_TRIALS or time.process_time() > end:
                return case
            if fails(smaller):
                case, is_smaller = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases that lack something of this one; those that lack most come first."""
    for name in case.files:
        yield replace(case, files={other: raw for other, raw in case.files.items() if other != name})
    if case.stdin:
        yield replace(case, stdin=b"")
    for words in _shorter(case.words, 1):
        yield replace(case, words=tuple(words))
    for name, raw in case.files.items():
        if len(raw) < MAX_BYTES:
            lines = raw.splitlines(keepends=True)
            for kept in _shorter(lines, 1):
                yield replace(case, files={**case.files, name: b"".join(kept)})
            for piece in _shorter(raw, max(len(raw) // 64, 1)):
                yield replace(case, files={**case.files, name: bytes(piece)})
    for at, word in enumerate(case.words[1:], 1):
        for piece in _shorter(word, 1):
            yield replace(case, words=(*case.words[:at], piece, *case.words[at + 1 :]))


def _shorter(items: Any, least: int) -> Iterator[Any]:
    """The items without a half, a quarter … of them, down to so many."""
    size = len(items) // 2
    while size >= least:
        for start in range(0, len(items), size):
            if size < len(items):
                yield items[:start] + items[start + size :]
        size //= 2
