"""The variants of `attn compare`, from its words, and the warnings on them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.cli.option_values import check_stdin, read_edits, read_problem_options
from attncli.cli.options import check_convention
from attncli.problem.fields import option_name

if TYPE_CHECKING:
    from attncli.analysis.compare import Comparison
    from attncli.io.inputs import Inputs
    from attncli.io.variants import NamedDocument, Variant

MAX_NAMES = 3  # variants that a warning names


@dataclass(frozen=True)
class VariantOptions:
    """The words that say what varies: files, values of keys, conventions, edits; and the keys that all have."""

    problems: Sequence[str]
    vary: Sequence[str]
    conventions: Sequence[str]
    edits: Sequence[str]
    keys: Mapping[str, Any]

    @property
    def given_keys(self) -> frozenset[str]:
        """The names of the keys that are given as options."""
        return frozenset(name for name, value in self.keys.items() if value not in (None, [], ()))


def read_variants(options: VariantOptions, inputs: "Inputs") -> "Sequence[Variant]":
    """The variants that the words describe.

    Raises AttnError where a word is wrong, or a key is given as an option and varied too.
    """
    from attncli.io.origin import Origin
    from attncli.io.variants import make_variants
    from attncli.io.varied import read_varied

    check_stdin(*options.problems, *(text.partition("=")[2] for text in options.vary), *options.keys.values())
    varied = read_varied(options.vary, Origin(inputs=inputs))
    for key in varied:
        if key in options.given_keys:
            raise AttnError(f"{key} is given and varied", where=option_name(key), hint="leave out one of them")
    for convention in options.conventions:
        _check_is_one(convention)
        check_convention(convention)
        if options.conventions.count(convention) > 1:
            raise AttnError(f"{convention} is given twice", where="--as", hint="give each convention once")
    edits = read_edits(options.edits)
    return make_variants(_documents(options, inputs), varied, options.conventions, edits)


def _check_is_one(convention: str) -> None:
    """Raise AttnError, which says how they are given, where several names of conventions stand between commas."""
    from attncli.problem.conventions import CONVENTIONS

    names = [name.strip() for name in convention.split(",")]
    if len(names) > 1 and CONVENTIONS.keys() >= {*names}:
        hint = f"give each one once: {' '.join(f'--as {name}' for name in names)}"
        raise AttnError(f"{convention!r} is several conventions", where="--as", hint=hint)


def _documents(options: VariantOptions, inputs: "Inputs") -> "Sequence[NamedDocument]":
    """The documents of files, with the options over them; without a file that of the options.

    Where nothing else varies one file is compared part by part, otherwise its parts are left out, as `attn compute`
    does. Raises AttnError where a file is named twice.
    """
    from attncli.io.inputs import STDIN_NAME
    from attncli.io.parts import file_parts
    from attncli.io.paths import STDIN
    from attncli.io.variants import PART, NamedDocument

    documents: dict[str, NamedDocument] = {}
    for problem in options.problems or (None,):
        name = STDIN_NAME if problem == STDIN else problem or ""
        if name in documents:
            raise AttnError("is given twice", where=name, hint="name each problem once")
        documents[name] = NamedDocument(name, read_problem_options(problem, options.keys, inputs))
    if len(documents) > 1 or options.vary or options.conventions or options.edits:
        return list(documents.values())
    ((name, document),) = documents.items()
    parts: dict[str, NamedDocument] = {}  # by their own keys: others say only what is shown of the same problem
    for number, part in enumerate(file_parts(document.document, name), 1):
        is_named = part.name and all(part.name != other.name for other in parts.values())
        part_name = part.name if is_named else str(number)
        parts.setdefault(repr(part.own), NamedDocument(part_name, part.problem, noun=PART))
    return list(parts.values())


def unread_of_variants(variants: "Sequence[Variant]", options: VariantOptions) -> list[str]:
    """The warnings on keys that were given as options, or varied, and that nothing reads in some of the variants."""
    from attncli.plan.build import keys_unread_by_plan

    found: list[tuple[str, str]] = []
    for variant in variants:
        for key, reason in keys_unread_by_plan(variant.problem).items():
            varied = [f"--vary {name}" for name in variant.keys if name.partition(".")[0] == key]
            given = [option_name(key)] if key in options.given_keys else []
            found += [(f"{option} has no effect: {reason}", variant.name) for option in (*varied, *given)]
    return _said_once(found, len(variants))


def notes_of_variants(comparison: "Comparison") -> list[str]:
    """The warnings on what was computed, each once, with the variants that it is of."""
    found = [
        (note, one.variant.name)
        for one in comparison.variants
        for note in (*one.variant.remarks, *one.result.trace.notes)
    ]
    return _said_once(found, len(comparison.variants))


def _said_once(found: "Sequence[tuple[str, str]]", count: int) -> list[str]:
    """Each message once, with the names of its variants where it is not that of all of them."""
    names: dict[str, dict[str, None]] = {}
    for message, name in found:
        names.setdefault(message, {})[name] = None
    return [
        message if len(those) == count else f"{message} ({_names(list(those))})" for message, those in names.items()
    ]


def _names(names: Sequence[str]) -> str:
    """The names of variants, MAX_NAMES at most."""
    others = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return "; ".join(names[:MAX_NAMES]) + others
