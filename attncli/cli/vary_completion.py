"""Completion of `--vary`: the keys, and after the sign the values of a key."""

from collections.abc import Sequence

from attncli.cli.options import field_completion
from attncli.problem.fields import Field
from attncli.problem.spec import FIELDS, OPERATOR_FIELDS


def complete_vary(incomplete: str) -> Sequence[tuple[str, str]]:
    """`KEY=` and `KEY.PARAMETER=` for those that begin so, or `KEY=VALUE` for words, operators, true and false."""
    key, sign, value = incomplete.partition("=")
    owner, dot, _ = key.partition(".")
    if not sign and dot and owner in OPERATOR_FIELDS:
        from attncli.io.varied import parameter_kinds

        names = (f"{owner}.{parameter}" for parameter in parameter_kinds(owner))
        return [(f"{name}=", f"a parameter of {owner}") for name in names if name.startswith(key)]
    if not sign:
        return [(f"{name}=", field.help) for name, field in FIELDS.items() if name.startswith(key)]
    if key not in FIELDS:
        return []
    return [(f"{key}={word}", text) for word, text in _values(FIELDS[key], value)]


def _values(field: Field, value: str) -> Sequence[tuple[str, str]]:
    """The values of a key that begin so, each with its meaning."""
    if field.kind == "flag":
        return [(word, "") for word in ("true", "false") if word.startswith(value)]
    complete = field_completion(field)
    if complete is None or field.kind == "labels":  # queries are those of a problem, which the words may not have
        return []
    found: Sequence[tuple[str, str]] = complete(value)
    return found
