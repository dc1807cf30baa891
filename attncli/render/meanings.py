"""The meaning of a word: a catalogue entry, key, step, parameter, axis, slip, convention, term or file of arrays."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from attncli.base.axes import LEGEND, Letters, format_lengths, legend
from attncli.base.lazy_numpy import import_object
from attncli.base.text import one_line, sentence, transliterate
from attncli.io.formats import ArrayDescription
from attncli.ops import kinds, operators, taken_kinds
from attncli.ops.records import OperatorRecord
from attncli.problem.conventions import CONVENTIONS, Convention, missing_words, readings
from attncli.problem.fields import RESULTS, Field, option_name
from attncli.problem.spec import DEFAULTS, FIELDS
from attncli.render.formats.text_page import TextPage
from attncli.render.glossary import GLOSSARY, GlossaryTerm
from attncli.render.target import TextTarget
from attncli.render.view import DECIMALS

GAP = "  "
ARROW = " → "
LINES = "┌─┐│└┘"


@dataclass(frozen=True)
class ShapePicture:
    """The arrays that something is computed from, and the result, each a symbol and the letters of its axes."""

    inputs: Sequence[tuple[str, Letters]]
    result: tuple[str, Letters]


def draw(picture: ShapePicture, target: TextTarget) -> list[str]:
    r"""The lines of a picture, at full width: `X [n x]  W_Q [x d] → Q [n d]` as boxes.

    >>> picture = ShapePicture([("X", ("n", "x")), ("W_Q", ("x", "d"))], ("Q", ("n", "d")))
    >>> print("\n".join(draw(picture, TextTarget(encoding="ascii"))))
        x         d           d
      +---+    +-----+      +---+
    n | X |  x | W_Q | -> n | Q |
      +---+    +-----+      +---+
    """
    boxes = [_box(*array, target) for array in (*picture.inputs, picture.result)]
    joints = [GAP] * (len(boxes) - 2) + [target.encodable(ARROW)]
    lines = []
    for number, (*before, last) in enumerate(zip(*boxes, strict=True)):
        pairs = zip(before, joints, strict=False)
        lines.append("".join(part + (joint if number == 2 else " " * len(joint)) for part, joint in pairs) + last)
    return [line.rstrip() for line in lines]


def _box(symbol: str, letters: Letters, target: TextTarget) -> list[str]:
    """The four lines of a box: the letter of its columns, the edge, the letters of its rows and its name, the edge.

    Letters before the last two, such as batch items and heads, come before the row's letter.
    """
    symbol = target.encodable(symbol)
    rows, columns = " ".join(letters[:-1]), "".join(letters[-1:])
    left_top, line, right_top, side, left_bottom, right_bottom = map(target.encodable, LINES)
    edge, margin = line * (cell_len(symbol) + 2), " " * (len(rows) + 1)
    return [
        f"{margin}{columns:^{len(edge) + 2}}",
        f"{margin}{left_top}{edge}{right_top}",
        f"{rows} {side} {symbol} {side}",
        f"{margin}{left_bottom}{edge}{right_bottom}",
    ]


@dataclass(frozen=True)
class Meaning:
    """One meaning of a word: its title, its kind, and the facts about it.

    `names` are the words with this meaning.
    """

    names: tuple[str, ...]
    kind: str
    text: str
    facts: tuple[tuple[str, str], ...] = ()
    picture: ShapePicture | None = None


@dataclass(frozen=True)
class StepMeaning:
    """Facts about a step before any problem, as in one plan."""

    symbol: str
    formula: str
    letters: Letters
    purpose: str
    inputs: tuple[tuple[str, Letters], ...]  # the symbol and the letters of each


MEANINGS = ("attncli.checks.slips:meanings_of_slips",)  # functions of wings, each of which returns meanings
STEPS_FILE = Path(__file__).with_name("steps.json")  # `python docs/generate.py` writes it


@cache
def every_step() -> Mapping[str, tuple[StepMeaning, ...]]:
    """The steps that a plan can have, by name, once for each symbol."""
    steps = json.loads(STEPS_FILE.read_text(encoding="utf-8"))
    return {name: tuple(StepMeaning(*meaning) for meaning in meanings) for name, meanings in steps.items()}


def find_meanings(word: str) -> list[Meaning]:
    """Every meaning of a word; case, `-`, `_` and spaces make no difference, except the case of a single letter.

    >>> [meaning.kind for meaning in find_meanings("Masked-Scores")]
    ['result']
    """
    everything = list(every_meaning())
    exact = [meaning for meaning in everything if word in meaning.names]
    if len(word) == 1 and exact:
        return exact
    return [meaning for meaning in everything if _fold(word) in map(_fold, meaning.names)]


def every_meaning() -> Iterator[Meaning]:
    """The meanings of all words, catalogue entries first."""
    records = [record for kind in kinds() for record in operators(kind).values()]
    yield from map(_of_record, records)
    yield from map(_of_key, FIELDS.values())
    yield from meanings_of_wings()
    yield from map(_of_convention, CONVENTIONS.values())
    yield from map(_of_term, GLOSSARY)
    yield from (_of_step(name, steps) for name, steps in every_step().items())
    yield from _of_inner_quantities(records)
    uses = [kind for kind in taken_kinds() if kind not in kinds()]
    yield from _of_parameters([*records, *(record for use in uses for record in operators(use).values())])
    yield from (Meaning((letter,), "axis", f"The axis of {meaning}.") for letter, meaning in LEGEND.items())


def meanings_of_wings() -> Iterator[Meaning]:
    """The meanings of the words of wings, such as mistakes."""
    yield from (meaning for function in MEANINGS for meaning in import_object(function)())


def render_meanings(meanings: Iterable[Meaning], target: TextTarget) -> str:
    """The text of each meaning, with its facts and its picture."""
    page = TextPage(target)
    for meaning in meanings:
        page.print((meaning.names[0], "bold"), f"  ({meaning.kind})")
        width = None if target.width is None else max(target.width - 2, 1)
        for line in [meaning.text] if width is None else textwrap.wrap(target.text(meaning.text), width):
            page.print(f"  {line}", is_wrapped=False)
        if meaning.facts:
            page.print_pairs(meaning.facts, "dim")
        if meaning.picture is not None:
            lines = draw(meaning.picture, target)
            if target.width is None or max(map(len, lines)) < target.width:
                page.skip_line()
                for line in lines:
                    page.print(f"  {line}", is_wrapped=False)
        page.skip_line()
    return page.text.rstrip("\n") + "\n"


def _fold(word: str) -> str:
    """A word in lower case, with `_` for spaces and hyphens, in ASCII."""
    return "_".join(transliterate(word, "ascii").casefold().replace("-", " ").replace("_", " ").split())


def _of_record(record: OperatorRecord) -> Meaning:
    picture = ShapePicture(tuple(record.shapes.arrays.items()), ("result", record.shapes.result))
    has_picture = bool(record.shapes.arrays) and bool(record.shapes.result)
    facts = tuple(_facts(record))
    return Meaning((record.name,), record.kind, record.summary, facts, picture if has_picture else None)


def _facts(record: OperatorRecord) -> Iterator[tuple[str, str]]:
    """The definition of an operator, with what its letters mean, and its example."""
    for title, fact in record.definition:
        if title == "shapes" and not record.shapes.arrays:
            continue
        yield title, fact
        if title == "shapes":
            yield "", legend(axis for axes in (*record.shapes.arrays.values(), record.shapes.result) for axis in axes)
    example = {name: _rounded(value) for name, value in record.example.items()}
    arguments = [f"{name} = {value}" for name, value in example.items() if name != "gives"]
    result = [f"gives {example['gives']}"] if "gives" in example else []
    yield "example", "\n".join([*arguments, *result])


def _rounded(value: Any) -> Any:
    """A value with its numbers rounded as in tables.

    >>> _rounded({"beta": [1.0986122886681098, 2]})
    {'beta': [1.0986, 2]}
    """
    if isinstance(value, Mapping):
        return {name: _rounded(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_rounded, value))
    return round(value, DECIMALS) if isinstance(value, float) else value


def _of_key(field: Field) -> Meaning:
    default = DEFAULTS[field.name]
    facts = [("option", option_name(field.name)), ("example", f"{field.name}: {field.example}")]
    if default not in (None, False):
        facts.append(("default", str(default)))
    if field.words:
        facts.append(("one of", ", ".join(field.words)))
        facts += zip(field.words, field.word_meanings, strict=False)
    if field.kind in taken_kinds():
        facts.append(("one of", ", ".join(operators(field.kind))))
        if field.kind not in kinds():  # takes its own parameters with each of its operators
            facts += [(name, ", ".join(map(str, record.parameters))) for name, record in operators(field.kind).items()]
    if field.letters:
        facts += [("shape", f"[{' '.join(field.letters)}]"), ("", legend(field.letters))]
    return Meaning((field.name,), "key", sentence(field.help), tuple(facts))


def _of_convention(convention: Convention) -> Meaning:
    """How a framework reads the options of a problem."""
    groups = [" and ".join(group) for group in convention.exclusive]
    facts = [
        ("known", convention.evidence),
        ("source", convention.source),
        *readings(convention),
        ("unless given", "\n".join(f"{key}: {value}" for key, value in convention.defaults.items())),
        ("not together", "\n".join(groups)),
        ("has no", ", ".join(missing_words(convention))),
        ("read so by", f"--as {convention.name}"),
    ]
    return Meaning((convention.name,), "convention", f"{convention.title}.", tuple(fact for fact in facts if fact[1]))


def _of_term(term: GlossaryTerm) -> Meaning:
    facts = [("also", ", ".join(term.aliases)), ("see", ", ".join(term.see)), ("source", term.source)]
    picture = None if term.result is None else ShapePicture(term.arrays, term.result)
    if picture is not None:
        letters = [letter for _, axes in (*picture.inputs, picture.result) for letter in axes]
        facts.insert(0, ("letters", legend(letters)))
    return Meaning((term.name, *term.aliases), "term", term.text, tuple(fact for fact in facts if fact[1]), picture)


def _of_step(name: str, steps: Iterable[StepMeaning]) -> Meaning:
    """A step of the computation, by each symbol that it can have; the first is from the plainest problem."""
    steps = tuple(steps)
    first, symbols = steps[0], tuple(step.symbol for step in steps)
    facts = [("symbol", ", ".join(symbols)), ("formula", one_line(first.formula))]
    facts += [("shape", f"[{' '.join(first.letters)}]"), ("", legend(first.letters))] if first.letters else []
    facts += [("select", f"--select {name}")]
    picture = ShapePicture(first.inputs, (first.symbol, first.letters)) if first.inputs and first.letters else None
    kind = "result" if name in RESULTS else "step"
    return Meaning((name, *symbols), kind, first.purpose, tuple(facts), picture)


def _of_inner_quantities(records: Iterable[OperatorRecord]) -> Iterator[Meaning]:
    """The steps inside operators, except those in `every_step`."""
    quantities = [(record, quantity) for record in records for quantity in record.inner]
    for record, quantity in quantities:
        if quantity.name not in every_step():
            facts = (("symbol", quantity.symbol), ("formula", quantity.formula), ("inside", record.name))
            yield Meaning((quantity.name, quantity.symbol), "step", quantity.purpose, facts)


def _of_parameters(records: Iterable[OperatorRecord]) -> Iterator[Meaning]:
    """The parameters of operators, each with all operators that have it."""
    owners: dict[str, dict[OperatorRecord, str]] = {}
    for record in records:
        for parameter in record.parameters:
            owners.setdefault(parameter.name, {})[record] = str(parameter)
    for name, descriptions in owners.items():
        paths = dict.fromkeys(f"{record.kind}.{name}" for record in descriptions)
        own = {record: text for record, text in descriptions.items() if record.kind in kinds()} or descriptions
        facts = tuple(
            (record.name if record.kind in kinds() else record.title, text)  # in addition to a key's own names
            for record, text in own.items()
        )
        yield Meaning((name, *paths), "parameter", "A parameter of catalogue entries, written after the name.", facts)


def render_array_list(arrays: Sequence[ArrayDescription], target: TextTarget) -> str:
    """A line for each array of a file: name, shape and type, in columns; empty columns are left out."""
    shapes = ["" if one.shape is None else format_lengths(one.shape) or "one number" for one in arrays]
    rows = [
        [target.text(text) for text in (one.name, shape, one.type)] for one, shape in zip(arrays, shapes, strict=True)
    ]
    widths = [max((cell_len(row[column]) for row in rows), default=0) for column in (0, 1)]
    lines = []
    for *cells, last in rows:
        padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True) if width]
        lines.append("  ".join([*padded, last]))
    return "".join(f"{line.rstrip()}\n" for line in lines) or "no arrays\n"
