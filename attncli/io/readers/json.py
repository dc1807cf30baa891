"""JSON: `json.loads`, with duplicate keys and numbers beyond all floats refused."""

import json
import math
import re
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import shorten

_LARGE = re.compile(r"[0-9][eE]\+?[0-9]{3}|[0-9]{300}")  # a number that may be beyond all floats


def read(text: str, name: str) -> Any:
    """The value of a JSON text; raises AttnError that names the line."""
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
        if _may_be_infinite(value) and _LARGE.search(text):
            return json.loads(text, object_pairs_hook=_unique_keys, parse_float=_to_finite_float)
        return value
    except json.JSONDecodeError as error:
        raise AttnError(f"is not JSON: {error.msg}", where=(name, f"line {error.lineno}")) from None
    except RecursionError:
        raise AttnError("lists are nested too deep", where=name) from None
    except AttnError as error:
        raise error.at(name) from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise AttnError(f"is not JSON that can be read: {error}", where=name) from None


def _may_be_infinite(value: Any) -> bool:
    """Whether a number in a value is infinite: it is beyond all floats, or `Infinity` in the text."""
    if isinstance(value, dict):
        return any(map(_may_be_infinite, value.values()))
    if isinstance(value, list):
        try:
            return not math.isfinite(sum(value))
        except (TypeError, OverflowError):  # lists in the list, words, or a whole number beyond all floats
            return any(map(_may_be_infinite, value))
    return isinstance(value, float) and not math.isfinite(value)


def _to_finite_float(text: str) -> float:
    """A number; `json` itself would read 1e999 as infinity."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise AttnError(f"{shorten(text)} is too large for a floating-point number")
    return number


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping without duplicate keys."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise AttnError(f"the key {duplicate!r} stands twice", hint="keep one of them")
    return mapping
