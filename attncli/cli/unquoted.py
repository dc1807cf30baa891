"""Lists without quotes, which the shell has split into words."""

import os
import re

QUOTE_HINT = "put a list in quotes, as in '[1, 2]' or '[[1, 2], [3, 4]]'"
_PART = re.compile(r"[\[\](),;\d.eE+-]*\d[\[\](),;\d.eE+-]*|\[[^\[\]]+|[^\[\]]+(,|\]+)")


def is_part_of_list(word: str) -> bool:
    """Whether a word of the command line is a part of a list, and no file: `2`, `[1,`, `cat]`.

    >>> is_part_of_list("2]"), is_part_of_list("cat,"), is_part_of_list("p.yaml")
    (True, True, False)
    """
    return _PART.fullmatch(word) is not None and not os.path.lexists(word)


def are_parts_of_lists(message: str) -> bool:
    """Whether a usage error complains of superfluous words, one of which is a part of a list.

    >>> are_parts_of_lists("Got unexpected extra argument(s) (0], [0, 1]] p.yaml)")
    True
    """
    match = re.search(r"unexpected extra argument\S* \((.*)\)", message)
    return match is not None and any(map(is_part_of_list, match[1].split()))
