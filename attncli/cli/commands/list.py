"""`attn list`: operators of every kind, slips and conventions, or one list, such as the keys."""

from collections.abc import Iterator

from attncli.base.errors import UnknownNameError
from attncli.base.lazy_numpy import import_object
from attncli.base.text import sentence
from attncli.cli import streams
from attncli.cli.completion import complete_from
from attncli.cli.problem_options import Pager, Strict, argument, flag
from attncli.cli.terminal import write_text
from attncli.ops import broken_packages, kinds, operators, taken_kinds
from attncli.ops.registry import plural_of

# Kinds that are not operators; all but the first two are listed on request.
SLIP, CONVENTION, BUG, KEY, MODEL, HEAD, SOURCE, WORD = (
    "slip",
    "convention",
    "bug",
    "key",
    "model",
    "head",
    "source",
    "word",
)
VOCABULARY = "vocabulary"  # the plural of a word
# "module:function" in a wing that returns the names and summaries of a kind.
OF_WINGS = {
    SLIP: "attncli.checks.slips:summaries_of_slips",
    BUG: "attncli.checks.bugs:summaries_of_bugs",
    MODEL: "attncli.models.families:summaries_of_families",
    HEAD: "attncli.models.heads:summaries_of_kinds",
}


def _listed_kinds() -> dict[str, str]:
    """The kinds of everything in the lists, by their plurals."""
    return (
        {plural_of(kind): kind for kind in kinds()}
        | {f"{kind}s": kind for kind in (SLIP, CONVENTION, BUG, KEY, MODEL, HEAD, SOURCE)}
        | {VOCABULARY: WORD}
    )


def list_operators(
    kind: str | None = argument(
        f"One of {', '.join(_listed_kinds())}.", "KIND", complete=complete_from(lambda: [*_listed_kinds()])
    ),
    *,
    as_json: bool = flag("Write a JSON object with the names and summaries of each kind.", "--json"),
    pager: Pager = False,
    strict: Strict = False,
) -> None:
    """Write the name and summary of operators, slips and conventions, or of one kind (its plural or name).

    On request it lists: bugs of public projects, each with its slip; the keys of a problem; models; the names that attn
    heads gives to heads, with their rules; the sources of all operators as a bibliography; and the words of the small
    vocabulary.
    """
    from attncli.render import objects
    from attncli.render.document import pairs_document
    from attncli.render.formats import terminal

    plurals = _listed_kinds()
    known = {f"{name}s": name for name in taken_kinds()} | plurals  # also `qk_norms`, which are norms
    known |= {plural.removesuffix("s"): name for plural, name in plurals.items()}  # `normalize` has normalizers
    if kind is not None and known.get(kind, kind) not in known.values():
        raise UnknownNameError("kind", kind, plurals)
    shown = {plural: name for plural, name in plurals.items() if name not in (BUG, KEY, MODEL, HEAD, SOURCE, WORD)}
    titles = shown if kind is None else {kind: known.get(kind, kind)}
    groups = [(title, list(_summaries(name))) for title, name in titles.items()]
    streams.write_warnings(broken_packages(), strict=strict)
    if as_json:
        streams.write_output(objects.write_json(objects.list_object(groups), streams.output_target()))
        return
    write_text(terminal.render(pairs_document(groups), streams.output_target()), is_paged=pager)


def _summaries(kind: str) -> Iterator[tuple[str, str]]:
    """The name and the summary of each entry of one kind."""
    if kind in OF_WINGS:
        yield from import_object(OF_WINGS[kind])()
    elif kind == CONVENTION:
        from attncli.problem.conventions import CONVENTIONS

        yield from ((record.name, f"{record.title} ({record.evidence})") for record in CONVENTIONS.values())
    elif kind == KEY:
        from attncli.problem.spec import FIELDS

        yield from ((field.name, sentence(field.help)) for field in FIELDS.values())
    elif kind == SOURCE:
        named: dict[str, list[str]] = {}
        for record in (record for each in kinds() for record in operators(each).values()):
            named.setdefault(record.source, []).append(record.name)
        yield from ((", ".join(named[source]), source) for source in sorted(named, key=str.casefold))
    elif kind == WORD:
        from attncli.problem.vocabularies import features_of_words

        yield from ((word, ", ".join(features)) for word, features in features_of_words().items())
    else:
        yield from ((record.name, record.summary) for record in operators(kind).values())
