"""The keys that can be varied: those of a problem, and parameters of its operators, such as `normalize.temperature`."""

from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError, UnknownNameError
from attncli.io.converted_values import convert_value
from attncli.io.origin import Origin, RawValue
from attncli.io.parse import grammar
from attncli.io.parse.option_value import read_option
from attncli.io.problem_files import Document
from attncli.ops.records import Operator
from attncli.ops.registry import operators
from attncli.problem.build import check_name
from attncli.problem.fields import Field
from attncli.problem.spec import DEFAULTS, FIELDS, OPERATOR_FIELDS

NOT_GIVEN = "null"  # as in a problem file: the key is as if it were not given
NUMBERS = ("integer", "number")  # the kinds of values of which several may stand between commas


@dataclass(frozen=True)
class VariedKey:
    """A key of a problem; with a `parameter` that of the operator which the key names."""

    key: str
    parameter: str = ""

    def __str__(self) -> str:
        return f"{self.key}.{self.parameter}" if self.parameter else self.key

    @property
    def field(self) -> Field:
        """The field of the key."""
        return FIELDS[self.key]

    @property
    def takes_numbers(self) -> bool:
        """Whether its values are single numbers, of which several may stand between commas."""
        kinds = parameter_kinds(self.key)[self.parameter] if self.parameter else {self.field.kind}
        return not kinds.isdisjoint(NUMBERS)

    def read(self, word: str, origin: Origin) -> RawValue:
        """The value of a word as its option, or `NAME:key=value`, takes it, its texts and files read."""
        path = origin.path(str(self))
        if word == NOT_GIVEN:
            return RawValue(None, origin)
        if self.parameter or self.field.kind == "flag":
            value = grammar.inline(word, path)
        else:
            value = read_option(self.field, [word] if self.field.kind == "labels" else word, path)
        return self.convert(RawValue(value, origin))

    def convert(self, raw: RawValue) -> RawValue:
        """The value of a key converted; that of a parameter stays as it is, for it depends on the operator."""
        return raw if self.parameter else convert_value(self.field, raw)

    def put(self, document: Document, raw: RawValue) -> Document:
        """The values of a problem with this one among them; None takes the key, or the parameter, out."""
        if not self.parameter:
            return {**document, self.key: raw}
        given = document.get(self.key)
        operator = DEFAULTS[self.key] if given is None or given.value is None else given.value
        if not isinstance(operator, Operator):
            hint = f"give {self.key} the name of one that has {self.parameter}"
            raise AttnError(f"{self.key} names no operator", where=raw.origin.path(str(self)), hint=hint)
        parameters = {name: value for name, value in operator.given.items() if name != self.parameter}
        if raw.value is not None:
            parameters[self.parameter] = raw.value
        return {**document, self.key: RawValue({operator.record.name: parameters}, raw.origin)}


def varied_key(text: str, where: str) -> VariedKey:
    """The key of a text; raises UnknownNameError, which suggests the nearest key or parameter.

    >>> varied_key("normalize.temperature", "--vary")
    VariedKey(key='normalize', parameter='temperature')
    """
    key, dot, parameter = text.partition(".")
    if not dot or key not in OPERATOR_FIELDS:
        check_name(text, where=where)
        return VariedKey(text)
    if parameter not in parameter_kinds(key):
        raise UnknownNameError(f"parameter of {key}", parameter, parameter_kinds(key), where=where)
    return VariedKey(key, parameter)


def parameter_kinds(key: str) -> dict[str, set[Any]]:
    """The kinds of values that each parameter of the operators of a key may have."""
    kind = "mask" if FIELDS[key].kind == "boolean_matrix" else FIELDS[key].kind
    kinds: dict[str, set[Any]] = {}
    for record in operators(kind).values():
        for parameter in record.parameters:
            kinds.setdefault(parameter.name, set()).add(parameter.kind)
    return kinds
