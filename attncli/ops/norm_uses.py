"""Uses of norms: the keys that take a norm, and the parameters that each takes: `query_gain` and `key_gain` of `rms`.

A norm has one gain and one bias; a key that normalizes several arrays takes a set for each. What a key takes besides,
such as which features are normalized together, is a parameter of the use and not of the norm.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from attncli.base.axes import Letters, Signature
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array
from attncli.ops.records import Operator, OperatorRecord, Parameter
from attncli.ops.registry import add_use, look_up
from attncli.ops.rules import OperatorUse

NORM = "norm"
HEAD, ALL = "head", "all"
BEFORE_ROPE, AFTER_ROPE = "before_rope", "after_rope"

# The parameters of a use; without one the first word is meant. None as default: what is not given is not shown.
OVER = Parameter("over", "word", None, words=(HEAD, ALL))
WHEN = Parameter("when", "word", None, words=(BEFORE_ROPE, AFTER_ROPE))


@dataclass(frozen=True)
class NormUse:
    """What a key that takes a norm normalizes: roles of the plan, with the letters of their heads and features.

    With several roles each has arrays of its own, whose names begin with the role: `query_gain`.
    """

    letters: Mapping[str, Letters]
    parameters: tuple[Parameter, ...] = ()

    def name_of(self, role: str, parameter: str) -> str:
        """The name of an array of the norm for a role, as the key takes it.

        >>> USES["qk_norm"].name_of("query", "gain"), USES["value_norm"].name_of("value", "gain")
        ('query_gain', 'gain')
        """
        return f"{role}_{parameter}" if len(self.letters) > 1 else parameter

    def letters_of(self, name: str) -> Letters:
        """The letters of the heads and features that an array is for, by its name as the key takes it.

        >>> USES["qk_norm"].letters_of("key_gain")
        ('g', 'c')
        """
        return next(own for role, own in self.letters.items() if name.startswith(self.name_of(role, "")))

    def record(self, key: str, norm: OperatorRecord) -> OperatorRecord:
        """The record of a norm with the parameters that the key takes."""
        arrays = tuple(
            replace(p, name=self.name_of(role, p.name), letters=tuple(own[-1] if x == "d" else x for x in p.letters))
            for p in norm.parameters
            if p.kind == "array"
            for role, own in self.letters.items()
        )
        others = tuple(p for p in norm.parameters if p.kind != "array")
        arguments = {name: letters for name, letters in norm.shapes.arrays.items() if name in norm.arguments}
        return replace(
            norm,
            kind=key,
            parameters=(*arrays, *others, *self.parameters),
            shapes=Signature(arguments | {p.name: p.letters for p in arrays}, norm.shapes.result),
            check=None if norm.check is None else self._check_of(norm, norm.check),
        )

    def _check_of(self, norm: OperatorRecord, check: Callable[[OperatorUse], None]) -> Callable[[OperatorUse], None]:
        """The check of a norm, of its parameters for each role."""

        def check_roles(use: OperatorUse) -> None:
            for role in self.letters:
                check(replace(use, parameters=self.parameters_of(norm, role, use.parameters)))

        return check_roles

    def parameters_of(self, norm: OperatorRecord, role: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a norm for one role, of those that the key was given.

        >>> from attncli.ops.norms import rms
        >>> given = {"query_gain": 1, "key_gain": 2, "eps": 3, "over": "all"}
        >>> USES["qk_norm"].parameters_of(rms.record, "key", given)
        {'gain': 2, 'eps': 3}
        """
        names = {p.name: self.name_of(role, p.name) if p.kind == "array" else p.name for p in norm.parameters}
        return {name: parameters[given] for name, given in names.items() if given in parameters}


USES: Mapping[str, NormUse] = {
    "residual_norm": NormUse({"residual": ("x",)}),
    "qk_norm": NormUse({"query": ("h", "d"), "key": ("g", "c")}, (OVER, WHEN)),
    "value_norm": NormUse({"value": ("g", "e")}, (OVER,)),
    "context_norm": NormUse({"context": ("h", "e")}, (OVER,)),
}


def is_over_all(operator: Operator) -> bool:
    """Whether the features of all heads are normalized together."""
    return operator.parameters.get(OVER.name) == ALL


def is_after_rope(operator: Operator) -> bool:
    """Whether queries and keys are normalized after they were rotated."""
    return operator.parameters.get(WHEN.name) == AFTER_ROPE


def arrays_by_role(key: str, operator: Operator) -> Iterator[tuple[str, str, Array]]:
    """The arrays of a key's norm: the role that each is for, its name as the key takes it, and the array.

    >>> from attncli.base.lazy_numpy import np
    >>> norm = Operator(look_up("qk_norm", "rms"), {"key_gain": np.array([1.0, 2.0])})
    >>> list(arrays_by_role("qk_norm", norm))
    [('key', 'key_gain', array([1., 2.]))]
    """
    norm, use = look_up(NORM, operator.record.name), USES[key]
    for role in use.letters:
        for name in (use.name_of(role, p.name) for p in norm.parameters if p.kind == "array"):
            if name in operator.arrays:
                yield role, name, operator.arrays[name]


def array_letters(key: str, operator: Operator, name: str) -> Letters:
    """The letters of the axes of an array of a key's norm: [d] of a head, or [h·d] of all heads side by side.

    >>> norms = [Operator(look_up("qk_norm", "rms"), given) for given in ({}, {"over": "all"})]
    >>> [array_letters("qk_norm", norm, "key_gain") for norm in norms]
    [('c',), ('g·c',)]
    """
    letters = operator.record.parameter(name).letters
    return (*letters[:-1], "·".join(USES[key].letters_of(name))) if is_over_all(operator) else letters


def _register(key: str, use: NormUse) -> None:
    """Let a key take norms."""
    add_use(key, NORM, lambda norm: use.record(key, norm))


for _key, _use in USES.items():
    _register(_key, _use)
