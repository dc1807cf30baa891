"""Variants of a problem: the combinations of the values of its varied keys, each a problem of its own."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from attncli.base.errors import AttnError
from attncli.base.memory import missing_memory
from attncli.io.assemble import assemble, convert_document
from attncli.io.problem_files import Document
from attncli.io.varied import MAX_VARIANTS, VARY, VariedValue
from attncli.ops.records import format_value
from attncli.problem.edits import Edit, apply_edits
from attncli.problem.layout import Layout
from attncli.problem.spec import FIELDS, ProblemSpec

AS_GIVEN = "as given"  # the name of the problem that nothing changes
FILE, CONVENTION, EDITS = "file", "as", "set"  # what is varied besides the keys of a problem
PROBLEM = "problem"  # in place of a file, in Python
PART = "part"  # of a worked example


@dataclass(frozen=True)
class NamedDocument:
    """The values of a problem by their keys, and the name that tells it from others: a file, or a part of one.

    A problem of Python may have a convention and edits of its own; a variant's convention replaces the one, and its
    edits come after the others. `noun` is the key by which variants name it, where there are several.
    """

    name: str
    document: Document
    convention: str | None = None
    edits: tuple[Edit, ...] = ()
    noun: str = FILE

    def problem(self) -> ProblemSpec:
        """The problem itself; raises AttnError where the values are not those of one."""
        problem = assemble(self.document, self.convention)
        return apply_edits(problem, self.edits) if self.edits else problem


@dataclass(frozen=True)
class _Choice:
    """One of the alternatives that combinations are made of: its text, and what it changes."""

    text: str
    change: Callable[[NamedDocument], NamedDocument]
    is_parameter: bool = False  # which is changed after the operator that has it


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
    edits: Sequence[Edit] = (),
) -> tuple[Variant, ...]:
    """A variant for each document, convention and combination of values of the varied keys; the last varies fastest.

    With `edits` each comes twice, before them and after them. Where that is one variant alone, the problem without its
    changes comes first, named `as given`. Raises AttnError, which names the variant, where one is not a problem, where
    nothing varies, or where there are more than MAX_VARIANTS.
    """
    documents = [replace(document, document=convert_document(document.document)) for document in documents]
    choices = _choices(documents, varied, conventions, edits)
    count = math.prod(map(len, choices.values()))
    if count > MAX_VARIANTS:
        raise AttnError(f"there are {count:,} variants", hint=f"at most {MAX_VARIANTS:,} are compared: vary less")
    telling = [key for key, values in choices.items() if len(values) > 1] or list(choices)
    combinations = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    variants: list[Variant] = []
    for combination in combinations:
        variants.append(_variant(documents[0], combination, telling))
        _check_memory(variants[-1].problem, len(combinations) - len(variants))
    return tuple(variants) if count > 1 else (_as_given(documents[0], variants[0]), *variants)


def _as_given(document: NamedDocument, changed: Variant) -> Variant:
    """The problem without its changes; where it needs them the error says what else can be compared."""
    try:
        return _variant(document, {}, ())
    except AttnError as error:
        value = ", ".join(f"{key}={text}" for key, text in changed.keys.items())
        error.hint = f"one variant, {value}, is compared with the problem as given: give a second value in its place"
        raise


def _check_memory(problem: ProblemSpec, count: int) -> None:
    """Raise AttnError where so many problems more like this one do not fit in the memory there is: each draws anew."""
    drawn = [getattr(problem, name) for name in problem.generators if name in FIELDS and FIELDS[name].is_random_fill]
    missing = missing_memory(count * sum(array.nbytes for array in drawn))
    if missing is not None:
        message, hint = f"to draw the numbers of {count} more variants {missing}", "vary less, or draw fewer numbers"
        raise AttnError(message, hint=hint)


def _choices(
    documents: Sequence[NamedDocument],
    varied: Mapping[str, Sequence[VariedValue]],
    conventions: Sequence[str],
    edits: Sequence[Edit],
) -> dict[str, Sequence[_Choice]]:
    """The alternatives that combinations are made of, by what varies, in the order in which the last varies fastest."""
    choices: dict[str, Sequence[_Choice]] = {}
    if len(documents) > 1:
        choices[documents[0].noun] = [_Choice(found.name, partial(_other, found)) for found in documents]
    if conventions:
        choices[CONVENTION] = [_Choice(name, partial(replace, convention=name)) for name in conventions]
    for key, values in varied.items():
        choices[key] = [_Choice(value.text, partial(_put, value), bool(value.key.parameter)) for value in values]
    if edits:
        text = ", ".join(f"{edit.cell}={format_value(edit.value)}" for edit in edits)
        choices[EDITS] = [_Choice("", partial(_edit, ())), _Choice(text, partial(_edit, edits))]
    if not choices:
        hint = f"give {VARY} KEY=VALUE, --as CONVENTION, or a second file"
        raise AttnError("there is one problem, and nothing that varies", hint=hint)
    return choices


def _other(document: NamedDocument, _: NamedDocument) -> NamedDocument:
    """A document in place of another."""
    return document


def _put(value: VariedValue, document: NamedDocument) -> NamedDocument:
    """A document with a value of a varied key."""
    return replace(document, document=value.key.put(document.document, value.raw))


def _edit(edits: Sequence[Edit], document: NamedDocument) -> NamedDocument:
    """A document with edits after its own."""
    return replace(document, edits=(*document.edits, *edits))


def positions_of_variants(
    variants: Sequence[Variant], choose: Callable[[Layout], Mapping[str, int]]
) -> Mapping[str, int]:
    """The one position on each axis that is chosen of all variants; raises AttnError, which names one that lacks it."""
    positions: dict[str, int] = {}
    for variant in variants:
        try:
            positions |= choose(variant.problem.layout)
        except AttnError as error:
            raise error.at(f"variant {variant.name}") from None
    return positions


def shared_keys(variants: Sequence[Variant]) -> Mapping[str, str]:
    """The keys that are varied and have one value in all variants, as text."""
    first = variants[0].keys
    return {key: text for key, text in first.items() if all(variant.keys.get(key) == text for variant in variants)}


def before_edits(variants: Sequence[Variant]) -> Mapping[int, int]:
    """The position of each variant with edits, and that of the one which differs from it in them alone."""
    positions = {tuple(variant.keys.items()): position for position, variant in enumerate(variants)}
    unedited = {
        position: positions.get(tuple({**variant.keys, EDITS: ""}.items()))
        for position, variant in enumerate(variants)
        if variant.keys.get(EDITS)
    }
    return {position: before for position, before in unedited.items() if before is not None}


def _variant(document: NamedDocument, choices: Mapping[str, _Choice], telling: Sequence[str]) -> Variant:
    """The variant of one choice for each key, named by the keys that tell variants apart."""
    keys = {key: choice.text for key, choice in choices.items()}
    parts = (keys[key] if key == EDITS else f"{key}={keys[key]}" for key in telling if key in keys)
    name = ", ".join(part for part in parts if part) or AS_GIVEN
    try:
        for choice in sorted(choices.values(), key=lambda choice: choice.is_parameter):
            document = choice.change(document)
        problem = document.problem()
    except AttnError as error:
        raise error.at(f"variant {name}") from None
    return Variant(name, keys, problem, problem.convention.remarks if problem.convention is not None else ())
