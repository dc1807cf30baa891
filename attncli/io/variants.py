"""Variants of a problem: the combinations of the values of its varied keys, each a problem of its own."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from attncli.base.errors import AttnError
from attncli.io.assemble import assemble
from attncli.io.problem_files import Document
from attncli.io.varied_values import VariedValue
from attncli.problem.spec import ProblemSpec

AS_GIVEN = "as given"  # the name of the problem that nothing changes
FILE, CONVENTION = "file", "as"  # what is varied besides the keys of a problem
MAX_VARIANTS = 10_000  # nobody reads more of them, and all of their results are in memory


@dataclass(frozen=True)
class NamedDocument:
    """The values of a problem by their keys, and the name that tells it from others: a file, or a part of one."""

    name: str
    document: Document


@dataclass(frozen=True)
class Variant:
    """A problem, with a name by which it is told from the others.

    `keys` has what was varied, as text by key, in the order of the command line; `file` where there are several, `as`
    for a convention and `set` for changed cells are among them. `remarks` are what the reader of the variant should
    know, such as keys that a convention does not have.
    """

    name: str
    keys: Mapping[str, str]
    problem: ProblemSpec
    remarks: tuple[str, ...] = ()


def make_variants(
    documents: Sequence[NamedDocument],
    varied: Mapping[str, Sequence[VariedValue]],
    conventions: Sequence[str] = (),
) -> tuple[Variant, ...]:
    """A variant for each document, convention and combination of values of the varied keys; the last varies fastest.

    Where that is one variant alone, the problem without its changes comes first, named `as given`. Raises AttnError,
    which names the variant, where one is no problem, or where there are none, or more than MAX_VARIANTS.
    """
    choices: dict[str, Sequence[Any]] = {}
    if len(documents) > 1:
        choices[FILE] = documents
    if conventions:
        choices[CONVENTION] = conventions
    choices |= varied
    count = math.prod(map(len, choices.values()))
    if count > MAX_VARIANTS:
        raise AttnError(f"there are {count:,} variants", hint=f"at most {MAX_VARIANTS:,} are compared: vary less")
    if not choices:
        raise AttnError("there is one problem and nothing is varied", hint="give --vary KEY=VALUE, or a second file")
    variants = [_variant(documents[0], {}, ())] if count == 1 else []
    telling = [key for key, values in choices.items() if len(values) > 1] or list(choices)
    variants += [
        _variant(documents[0], dict(zip(choices, values, strict=True)), telling)
        for values in product(*choices.values())
    ]
    return tuple(variants)


def shared_keys(variants: Sequence[Variant]) -> Mapping[str, str]:
    """The keys that are varied and have one value in all variants, as text."""
    first = variants[0].keys
    return {key: text for key, text in first.items() if all(variant.keys.get(key) == text for variant in variants)}


def _variant(document: NamedDocument, choice: Mapping[str, Any], telling: Sequence[str]) -> Variant:
    """The variant of one choice of each key, named by the keys that tell variants apart."""
    keys = {key: _text(value) for key, value in choice.items()}
    name = ", ".join(f"{key}={keys[key]}" for key in telling) or AS_GIVEN
    document = choice.get(FILE, document)
    values = {key: value.raw for key, value in choice.items() if isinstance(value, VariedValue)}
    try:
        problem = assemble(document.document | values)
    except AttnError as error:
        raise error.at(f"variant {name}") from None
    return Variant(name, keys, problem)


def _text(value: Any) -> str:
    """The text of a choice: of a value of a key, of a document, or of a convention."""
    if isinstance(value, VariedValue):
        return value.text
    return value.name if isinstance(value, NamedDocument) else str(value)
