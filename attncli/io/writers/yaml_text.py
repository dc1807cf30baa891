"""YAML: a value as text that our reader and those of YAML 1.1 read back the same."""

from typing import Any

import yaml

from attncli.base.lazy_numpy import np
from attncli.io.readers.scalars import is_word
from attncli.io.readers.yaml import STRING


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # the C dumper has no type
    """PyYAML's dumper with the representers below."""


def _represent_text(dumper: Any, text: str) -> Any:
    """Text, in quotes where a reader would convert it to another type."""
    return dumper.represent_scalar(STRING, text, style=None if is_word(text) else '"')


def _represent_list(dumper: Any, value: list[Any]) -> Any:
    """A list of scalars on one line, a list of lists over several."""
    is_flat = not any(isinstance(entry, (list, dict)) for entry in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_flat)


def _represent_longdouble(dumper: Any, value: Any) -> Any:
    """A longdouble with all its digits."""
    return dumper.represent_scalar("tag:yaml.org,2002:float", str(value))


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(np.longdouble, _represent_longdouble)


def yaml_text(value: Any) -> str:
    r"""A value of mappings, lists, numbers and text as YAML, a row of numbers on each line.

    >>> yaml_text({"heads": 2, "w_q": [[1, 0], [0, 1]]})
    'heads: 2\nw_q:\n- [1, 0]\n- [0, 1]\n'
    """
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1)
    return str(text)
