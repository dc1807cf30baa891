"""JSON: `json.loads`, with keys that stand twice refused."""

import json
import math
import re
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import shorten

_LARGE = re.compile(r"[0-9][eE]\+?[0-9]{3}|[0-9]{300}")  # what a number that is too large looks like


def read(text: str, name: str) -> Any:
    """The value of a JSON text; raises AttnError that names the line."""
    try:
        value = json.loads(text, object_pairs_hook=_once)
        if _may_be_infinite(value) and _LARGE.search(text):
            return json.loads(text, object_pairs_hook=_once, parse_float=_finite)
        return value
    except json.JSONDecodeError as error:
        raise AttnError(f"is not JSON: {error.msg}", where=f"{name}, line {error.lineno}") from None
    except RecursionError:
        raise AttnError("lists are nested too deep", where=name) from None
    except AttnError as error:
        raise error.at(name) from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise AttnError(f"is not JSON that can be read: {error}", where=name) from None


def _may_be_infinite(value: Any) -> bool:
    """Whether a number in it may be infinite: because it was too large, or because a word says so."""
    if isinstance(value, dict):
        return any(map(_may_be_infinite, value.values()))
    if isinstance(value, list):
        try:
            return not math.isfinite(sum(value))
        except (TypeError, OverflowError):  # lists in the list, words, or a whole number beyond all floats
            return any(map(_may_be_infinite, value))
    return isinstance(value, float) and not math.isfinite(value)


def _finite(text: str) -> float:
    """A number; `json` itself would read 1e999 as infinity."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise AttnError(f"{shorten(text)} is too large for a floating-point number")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping in which no key stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise AttnError(f"the key {twice!r} stands twice", hint="keep one of them")
    return found


def said(value: Any) -> str:
    """A value as JSON writes it, not longer than a few words: `null`, `true`, `"yes"`."""
    return shorten(json.dumps(value, ensure_ascii=False, default=repr))
