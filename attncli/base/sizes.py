"""Sizes in bytes from text: `500M`, `2G`, `1.5GiB`."""

import re

from attncli.base.errors import AttnError

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([KMGTP]?)(i?)B?", re.IGNORECASE | re.ASCII)
_PREFIXES = ("", "K", "M", "G", "T", "P")


def parse_size(text: str, where: str) -> int:
    """The bytes of a size: K, M, G, T and P are powers of 1000, Ki, Mi, Gi, Ti and Pi powers of 1024.

    Raises AttnError where the text is no size.

    >>> parse_size("1.5GiB", "--max-size"), parse_size("500M", "--max-size"), parse_size("80", "--max-size")
    (1610612736, 500000000, 80)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or (match[3] and not match[2]):
        raise AttnError(f"{text!r} is no size", where=where, hint="expected bytes, or a size such as 500M, 2G, 1.5GiB")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** _PREFIXES.index(match[2].upper()))
