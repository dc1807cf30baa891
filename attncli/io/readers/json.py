"""JSON: `json.loads`, with duplicate keys and numbers beyond all floats refused."""

import json
import math
import re
from collections.abc import Container
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import first_duplicate, shorten
from attncli.numbers.parsing import TypedNumber

_LARGE = re.compile(r"[0-9][eE]\+?[0-9]{3}|[0-9]{300}")  # a number that may be beyond all floats


def read(text: str, name: str, text_keys: Container[str] = (), typed_keys: Container[str] | None = ()) -> Any:
    """The value of a JSON text; raises AttnError that names the line.

    Numbers under a key in `text_keys`, and in the list under it, keep their spelling: `1.50` is the text `1.50`.
    Numbers anywhere under a key in `typed_keys` (None: all of the text) are TypedNumbers, which know their digits.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
        if _may_be_too_large(value) and _LARGE.search(text):
            json.loads(text, parse_float=_check_number, parse_int=_check_number)
        if _has_number(value, text_keys):
            texts = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
            value = _with_values_of(texts, value, text_keys)
        if typed_keys is None or _has_key(value, typed_keys):
            typed = json.loads(text, parse_float=TypedNumber, parse_int=TypedNumber)
            return typed if typed_keys is None else _with_values_of(typed, value, typed_keys)
        return value
    except json.JSONDecodeError as error:
        raise AttnError(f"is not JSON: {error.msg}", where=(name, f"line {error.lineno}")) from None
    except RecursionError:
        raise AttnError("lists are nested too deep", where=name) from None
    except _TooLargeError as error:
        raise _too_large(error.digits, text, name) from None
    except AttnError as error:
        raise error.at(name) from None
    except ValueError:  # an integer of more digits than Python reads
        longest = max(re.findall(r"[0-9]+", text), key=len)
        raise _too_large(longest, text, name) from None


class _TooLargeError(ValueError):
    """A number of a JSON text that is beyond all floats."""

    def __init__(self, digits: str) -> None:
        super().__init__(digits)
        self.digits = digits


def _too_large(digits: str, text: str, name: str) -> AttnError:
    """The error of a number beyond all floats; numbers have no place in what `json` reads, so it is searched for."""
    line = text.count("\n", 0, text.index(digits)) + 1
    message = f"{shorten(digits)} is too large for a floating-point number"
    return AttnError(message, where=(name, f"line {line}"))


def _may_be_too_large(value: Any) -> bool:
    """Whether a number in a value is beyond all floats, or `Infinity` in the text."""
    if isinstance(value, dict):
        return any(map(_may_be_too_large, value.values()))
    if isinstance(value, list):
        try:
            return not math.isfinite(sum(value))
        except OverflowError:
            return True
        except TypeError:  # lists in the list, or words
            return any(map(_may_be_too_large, value))
    try:
        return isinstance(value, (int, float)) and not math.isfinite(value)
    except OverflowError:
        return True


def _check_number(digits: str) -> None:
    """Raise _TooLargeError where a number is beyond all floats; `json` itself reads 1e999 as infinity."""
    if math.isinf(float(digits)):
        raise _TooLargeError(digits)


def _has_number(value: Any, text_keys: Container[str]) -> bool:
    """Whether a number is under one of the keys, in a mapping or in a list of mappings."""
    if isinstance(value, list):
        return any(isinstance(entry, dict) and _has_number(entry, text_keys) for entry in value)
    if not isinstance(value, dict):
        return False
    return any(
        any(type(label) in (int, float) for label in (entry if isinstance(entry, list) else [entry]))
        if key in text_keys
        else _has_number(entry, text_keys)
        for key, entry in value.items()
    )


def _has_key(value: Any, keys: Container[str]) -> bool:
    """Whether a mapping, or a mapping in a list in it, has one of the keys."""
    if isinstance(value, list):
        return any(isinstance(entry, dict) and _has_key(entry, keys) for entry in value)
    return isinstance(value, dict) and any(key in keys or _has_key(entry, keys) for key, entry in value.items())


def _with_values_of(other: Any, value: Any, keys: Container[str]) -> Any:
    """A value with everything that is under one of the keys as in another reading of the same text."""
    if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        return [_with_values_of(*pair, keys) for pair in zip(other, value, strict=True)]
    if not isinstance(value, dict):
        return value
    return {
        key: other[key] if key in keys else _with_values_of(other[key], entry, keys) for key, entry in value.items()
    }


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping without duplicate keys."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = first_duplicate(keys)
        raise AttnError(f"the key {duplicate!r} stands twice", hint="keep one of them")
    return mapping
