"""Texts that are numbers, or nearly, each with the number that it means; and matrices of them in every text format."""

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from tests.fuzz.cases import Case, Number

# What readers of other programs take for a number, a date, a truth value or nothing.
NEARLY_NUMBERS = (
    *("1_000", "0x10", "0o17", "0b11", "1:30", "12:30:45", "true", "True", "yes", "no", "on", "null", "~", "Null"),
    *("1.2.3", "--1", "+-1", "1e", "e5", "1e+", ".", "-", "+", "1d5", "1f", "1j", "0x1p-3", "1.5e3.5", "1__0", "_1"),
    *("\u0661\u0662", "\uff11\uff12", "1\u00b2", "\u00bd", "\u22121", "1\u00a0000", "1'000", "1\u2019000", "50%", "$5"),
    *("2026-11-22", "2026-11-22T10:00:00Z", "1-2", "1+2", "NA", "#N/A", "None", "nil", "I", "cat", "1 000", "1,5"),
    *("1/0", "sqrt(-1)", "1e400", "-1e999", "1" * 310, "9" * 5000, "1e99999999999", "exp(1000)", "1//2", "2**3"),
)
NON_FINITE = ("nan", "NaN", "inf", "-inf", "+Inf", "Infinity", "-INFINITY", ".inf", "-.Inf", "+.INF", ".nan", ".NaN")
PLAIN = (
    *("0", "-0", "+0", "-0.0", "00012", "010", "08", "+1", ".5", "-.5", "5.", "+5.e3", "1e5", "1E5", "1e+05", "1e-400"),
    *("4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623157e308", "0e999", "1e0"),
    *("9007199254740993", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1" * 300, "0" * 400),
    *("123456789012345678901234567890", "0." + "3" * 40, "0.1", "1e22", "1e23", "8.5", "5e-1", "1.0E-05", "3."),
)

_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)  # of its grammar, RFC 8259


def meaning(text: str) -> Number:
    """The number that a decimal text or a word means, by Python's decimal arithmetic; None of any other text."""
    word = text.lower().lstrip("+-").removeprefix(".")
    if word in ("nan", "inf", "infinity") and len(text) - len(word) <= 2:
        return math.nan if word == "nan" else -math.inf if text.startswith("-") else math.inf
    if not text or set(text) - set("0123456789+-.eE"):
        return None
    try:
        number = float(Decimal(text))
    except (InvalidOperation, OverflowError):
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class Literal:
    """A text and the number that it means in a text format; whether it is a plain decimal number there."""

    text: str
    number: Number
    is_plain: bool = False


def literal(choose: random.Random, *, has_expressions: bool) -> Literal:
    """A literal of any sort; an expression only where the format has them."""
    sort = choose.random()
    if sort < 0.45:
        text = _random_decimal(choose)
    elif sort < 0.65:
        text = choose.choice(PLAIN)
    elif sort < 0.75:
        text = choose.choice(NON_FINITE)
    elif sort < 0.85 and has_expressions:
        return _expression(choose)
    elif sort < 0.95:
        text = choose.choice(NEARLY_NUMBERS)
    else:
        text = _changed(choose, _random_decimal(choose))
    number = meaning(text)
    if has_expressions and number == 0 and text.lstrip("+-").isdigit():
        number = 0.0  # a whole number, which has no sign of its own there
    return Literal(text, number, number is not None and math.isfinite(number))


def _literal_without(choose: random.Random, excluded: str, *, has_expressions: bool) -> Literal:
    """A literal without some characters."""
    while set((found := literal(choose, has_expressions=has_expressions)).text) & set(excluded):
        pass
    return found


def _random_decimal(choose: random.Random) -> str:
    """A plain decimal number with few or many digits."""
    digits = "".join(choose.choices("0123456789", k=choose.choice([1, 1, 2, 5, 17, 25])))
    point = choose.randrange(len(digits) + 1)
    text = choose.choice([digits, digits, f"{digits[:point]}.{digits[point:]}"])
    exponent = choose.choice(
        ["", "", "", f"{choose.choice('eE')}{choose.choice(['', '+', '-'])}{choose.randrange(30)}"]
    )
    return f"{choose.choice(['', '', '-', '+'])}{text}{exponent}"


def _changed(choose: random.Random, text: str) -> str:
    """A number with one character more, or another one."""
    at = choose.randrange(len(text) + 1)
    return f"{text[:at]}{choose.choice('_.eE+-xo%0fj')}{text[at + choose.randrange(2) :]}"


def _expression(choose: random.Random) -> Literal:
    """A quotient, a product or a root, and its value operation by operation."""
    a, b = choose.randrange(1, 100), choose.choice([1, 2, 3, 7, 0.5, 10])
    sign, factor = choose.choice([("", 1), ("-", -1)])
    text, number = choose.choice(
        [
            (f"{a}/{b}", factor * a / b),
            (f"sqrt({a})", factor * math.sqrt(a)),
            (f"{a}*sqrt({b})", factor * a * math.sqrt(b)),
            (f"{a}*sqrt(2)/{b}", factor * a * math.sqrt(2) / b),
            (f"pi/{b}", factor * math.pi / b),
            (f"exp({b})", factor * math.exp(b)),
            (f"(1+sqrt({a}))/{b}", factor * (1 + math.sqrt(a)) / b),
        ]
    )
    return Literal(sign + text, number)


SHOW = ("--explain", "--json")  # its first step is the queries: the embeddings, as they were read


def _rows(choose: random.Random, make: Callable[[], Literal]) -> list[list[Literal]]:
    """A small matrix; in one of three all of its numbers are plain."""
    height, width = choose.choice([1, 2, 2, 3]), choose.choice([1, 2, 2, 3, 5])
    only_plain = choose.random() < 0.4

    def cell() -> Literal:
        found = make()
        while only_plain and not found.is_plain:
            found = make()
        return found

    return [[cell() for _ in range(width)] for _ in range(height)]


def _case(words: tuple[str, ...], rows: list[list[Literal]], files: dict[str, bytes]) -> Case:
    """The case of a matrix."""
    are_plain = all(cell.is_plain for row in rows for cell in row)
    numbers = [[cell.number for cell in row] for row in rows]
    return Case((*words, *SHOW), files, numbers=numbers, must_be_read=are_plain)


def in_yaml(choose: random.Random) -> Case:
    """A matrix in a problem in YAML, in brackets or in lines, some of its numbers in quotes."""
    is_flow = choose.random() < 0.6

    def make() -> Literal:
        while True:
            found = literal(choose, has_expressions=True)
            quoted = choose.random() < 0.05
            if quoted:
                mark = choose.choice("'\"")
                text = found.text.replace("'", "''") if mark == "'" else found.text
                return Literal(f"{mark}{text}{mark}", found.number)
            is_plain = not found.text.startswith(tuple("-?:,[]{}#&*!|>'\"%@`~")) or meaning(found.text) is not None
            if is_plain and not (is_flow and set(found.text) & set(",[]{}")):
                return found

    rows = _rows(choose, make)
    if is_flow:
        lines = [f"[{', '.join(cell.text for cell in row)}]" for row in rows]
        text = f"embeddings: [{', '.join(lines)}]\n"
        if choose.random() < 0.5:
            text = "embeddings:\n" + "".join(f"- {line}{choose.choice(['', ' # 1'])}\n" for line in lines)
    else:
        text = "embeddings:\n" + "".join(
            f"{'- ' if number == 0 else '  '}- {cell.text}\n" for row in rows for number, cell in enumerate(row)
        )
    if choose.random() < 0.1:
        text = text.replace("\n", "\r\n")
    return _case(("compute", "p.yaml"), rows, {"p.yaml": text.encode()})


def in_json(choose: random.Random) -> Case:
    """A matrix in a problem in JSON; what is not a number of JSON is in quotes."""

    def make() -> Literal:
        found = literal(choose, has_expressions=True)
        is_json = found.is_plain and _JSON_NUMBER.fullmatch(found.text) is not None
        if is_json or choose.random() < 0.1:
            text = found.text if is_json else found.text.replace('"', "")
            return Literal(text, found.number if is_json else None, is_json)
        return Literal(f'"{found.text}"', found.number)

    rows = _rows(choose, make)
    lines = [f"[{', '.join(cell.text for cell in row)}]" for row in rows]
    text = f'{{"embeddings": [{", ".join(lines)}]}}'
    if any(word in text for word in ("NaN", "Infinity")):  # Python's JSON has these three without quotes
        return in_json(choose)
    return _case(("compute", "p.json"), rows, {"p.json": text.encode()})


def _with_decimal_comma(cell: Literal) -> Literal:
    """A cell between semicolons, where spreadsheets of many countries write decimal commas."""
    return Literal(cell.text, meaning(cell.text.replace(",", ".")), cell.is_plain) if "," in cell.text else cell


def in_csv(choose: random.Random) -> Case:
    """A table, with a header, labels, comments and quotes, or without."""
    delimiter = choose.choice(",,;\t ")
    excluded = '"#' + (" ,;\t" if delimiter == " " else delimiter)  # a table of spaces has no other delimiter
    rows = _rows(choose, lambda: _literal_without(choose, excluded, has_expressions=False))
    if delimiter == ";":
        rows = [[_with_decimal_comma(cell) for cell in row] for row in rows]
    width = len(rows[0])
    if delimiter != "," and any("," in cell.text for row in rows for cell in row) and width == 1:
        return in_csv(choose)  # a comma is the delimiter then
    if width == 1 and any(set(cell.text) & set("; \t,") for row in rows for cell in row):
        return in_csv(choose)
    has_labels, has_header = choose.random() < 0.3, choose.random() < 0.3
    quote = choose.random() < 0.1 and delimiter != " "

    def cell_text(cell: Literal) -> str:
        text = f'"{cell.text}"' if quote and choose.random() < 0.5 else cell.text
        return f" {text}" if choose.random() < 0.05 and delimiter in ",;" else text

    texts = [[cell_text(cell) for cell in row] for row in rows]
    if has_labels:
        texts = [[f"word{number}", *row] for number, row in enumerate(texts)]
    if has_header:
        corner = ["word" if delimiter == " " else choose.choice(["", "word"])] if has_labels else []
        texts.insert(0, [*corner, *(f"column{number}" for number in range(width))])
    lines = [delimiter.join(row) for row in texts]
    if choose.random() < 0.1:
        lines.insert(choose.randrange(len(lines) + 1), choose.choice(["# 1,2", "", "  "]))
    text = choose.choice(["\n", "\n", "\r\n", "\r"]).join(lines) + choose.choice(["", "\n"])
    if choose.random() < 0.05:
        text = "\ufeff" + text
    name = {"\t": "x.tsv", " ": "x.txt"}.get(delimiter, "x.csv")
    return _case(("compute", "--embeddings", name), rows, {name: text.encode()})


def in_option(choose: random.Random) -> Case:
    """A matrix in an option: rows between semicolons, numbers between spaces or commas."""
    separator = choose.choice([" ", ",", ", "])
    rows = _rows(choose, lambda: _literal_without(choose, ",; ", has_expressions=True))
    text = choose.choice([";", "; ", "\n"]).join(separator.join(cell.text for cell in row) for row in rows)
    if len(rows) == 1:
        text += ";"
    return _case(("compute", f"--embeddings={text}"), rows, {})
