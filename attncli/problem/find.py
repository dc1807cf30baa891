"""x."""

from collections.abc import Sequence

from attncli.base.errors import AttnError, UnknownNameError


def find_label(wanted: str, labels: Sequence[str], *, where: str) -> list[int]:
    """The positions that a label or an index means: `cat`, `the` (every one), `the#2` (the second), `0`, `-1`.

    A label wins over an index. Raises AttnError where nothing fits.
    """
    found = [at for at, label in enumerate(labels) if label == wanted]
    if found:
        return found
    word, mark, number = wanted.rpartition("#")
    if mark and number.isdecimal():
        same = [at for at, label in enumerate(labels) if label == word]
        if 1 <= int(number) <= len(same):
            return [same[int(number) - 1]]
    try:
        index = int(wanted)
    except ValueError:
        raise UnknownNameError("token", wanted, labels, where=where) from None
    if not -len(labels) <= index < len(labels):
        raise AttnError(f"there is no position {index}", where=where, hint=f"positions go from 0 to {len(labels) - 1}")
    return [index % len(labels)]
