"""YAML: the core scalars of YAML 1.2, the lines of values, and limits on nesting and aliases."""

import math
from typing import Any

import pytest
import yaml as pyyaml

from attncli.base.errors import AttnError
from attncli.io import yaml
from attncli.io.yaml_errors import check_first_key
from attncli.numbers.parsing import TypedNumber
from tests.io.opened import later

SCALARS: dict[str, Any] = {
    "1e3": 1000.0, "010": 10, "-010": -10, ".5": 0.5, "5.": 5.0, "+1": 1, "0x1F": "0x1F", "0o17": "0o17",
    "-.5e-1": -0.05,    "1:30": "1:30", "1_000": "1_000", "yes": "yes", "no": "no", "on": "on", "Off": "Off", "y": "y",
    "true": True, "False": False, "null": None, "~": None, ".inf": math.inf, "-.Inf": -math.inf,
    "'1e3'": "1e3", '"010"': "010", "2001-01-01": "2001-01-01", "=": "=", "<<": "<<", "1.2.3": "1.2.3",
    "18446744073709551616": 2**64, "!!str 5": "5", "!!float 5": 5.0, "!!int 5": 5, "0b1": "0b1", "e3": "e3", "٣": "٣",
}  # fmt: skip

REFUSED = {
    "a tab before a key": ("a:\n\tb: 1\n", "p.yaml, line 2: tabs are not allowed; indent with"),
    "a control character after an empty line": ("\na: 1\nb: x\x07\n", "p.yaml, line 3: has the control character"),
    "a control character": ("a: 1\nb: x\x07\n", "p.yaml, line 2: has the control character '\\x07'"),
    "a duplicate key": ("a: 1\nb: 2\na: 3\n", "p.yaml, line 3: the key 'a' is given twice; keep one of them"),
    "a duplicate key, inside": ("a:\n  b: 1\n  b: 2\n", "p.yaml, line 3: the key 'b' is given twice"),
    "lists without end": ("[" * 200_000, "p.yaml, line 1: lists are nested more than 40 deep"),
    "mappings without end": ("{a: " * 100_000, "p.yaml, line 1: lists are nested more than 40 deep"),
    "a list that holds itself": (
        "a: &x [1, *x]\n",
        "p.yaml, line 1: *x refers to an anchor that is not defined before it",
    ),
    "an alias of nothing": ("a: *x\n", "p.yaml, line 1: *x refers to an anchor"),
    "an object of Python": ("a: 1\nb: !!python/object:os.system {}\n", "p.yaml, line 2: has the tag"),
    "a scalar with a tag of its own": ("a: !secret x\n", "p.yaml, line 1: has the tag !secret; leave the tag out"),
    "a tag of another type": ("a: !!int x\n", "p.yaml, line 1: 'x' does not match its tag"),
    "a second document": ("a: 1\n---\nb: 2\n", "p.yaml, line 2: a second document begins"),
    "a list that is not closed": ("a: [1, 2\nb: 3\n", "p.yaml, line 1: `[` is not closed; add ]"),
    "slices without quotes": (
        "a: {b: x.npz#w[:, 0:2]}\n",
        "p.yaml, line 1: `a: {b: x.npz#w[:, 0:2]}` can't be read; put a name with slices in quotes: ",
    ),
    "slices in quotes, and a list that is not closed": (
        'a: ["x.npz#w[:, 0:2]"\nb: 1\n',
        "p.yaml, line 1: `[` is not closed; add ]",
    ),
    "a number beyond all floats": (
        "a: 1\nb: [1.0e+400]\n",
        "p.yaml, line 2: 1.0e+400 is too large for",
    ),
    "an integer beyond all floats": (
        f"a: {'9' * 400}\n",
        "p.yaml, line 1: 9999999999999999999999999999999999999... is",
    ),
    "a list as a key": ("? [1, 2]\n: 3\n", "p.yaml, line 1: a list or mapping can't be a key"),
}


# A text with one mistake, and the line with what is wrong; each is said in words of the text.
MISTAKES = {
    "a colon": ("query: [[1]]\ngaussian\nheads: 1\n", "line 2: `gaussian` needs a colon"),
    "a colon on the first line": ("query [[1]]\nkey: [[1]]\n", "line 1: `query` needs a colon"),
    "a colon before a list": ("query\n- [1]\nkey: [[1]]\n", "line 1: `query` needs a colon"),
    "a colon inside": ("score:\n  gaussian\n    sigma: 2\n", "line 2: `gaussian` needs a colon"),
    "a colon in braces": ("score: {gaussian {sigma: 2}}\n", "line 1: `gaussian` needs a colon"),
    "an equals sign": ("query: [[1]]\nkey = [[1]]\n", "line 2: `key` needs a colon instead of =; write key: [[1]]"),
    "a space": ("key: [[1]]\nheads:2\n", "line 2: `heads:` needs a space after the colon; write heads: 2"),
    "a space on the first line": ("heads:2\nkey: [[1]]\n", "line 1: `heads:` needs a space after the colon"),
    "a space after a hyphen": ("query:\n-[1]\n-[2]\n", "line 2: a hyphen needs a space after it; write - [1]"),
    "a bracket": ("query: [[1, 2], [3, 4]\nkey: [[1]]\n", "line 1: `[` is not closed; add ]"),
    "a brace": ("score: {gaussian: {sigma: 2}\nkey: 1\n", "line 1: `{` is not closed; add }"),
    "another bracket": ("query: [[1, 2}]\n", "line 1: `[` is closed by `}`; write ]"),
    "a bracket too many": ("query: [[1]]]\nkey: 1\n", "line 1: `]` does not close a bracket; leave it out"),
    "a bracket too few": ("w: [1, 2], [3, 4]]\n", "line 1: `, [3, 4]]` follows the last closing bracket; count the"),
    "a comma": ("query: [[1, 2] [3, 4]]\n", "line 1: a comma is missing before `[3, 4]]`"),
    "a quote": ('title: "mine\nkey: [[1]]\n', 'line 1: the quote of `"mine` is not closed; add "'),
    "an apostrophe": ("title: 'it's mine'\n", "line 1: `s mine'` follows a closing quote; put the whole text in"),
    "more indentation": (
        "query: [[1]]\n  key: [[1]]\n",
        "line 2: `key` is not in line with the keys above; begin it in",
    ),
    "indentation below a text": ("a: b\n c: d\n", "line 2: `c` is not in line with the keys above"),
    "an item out of line": ("query:\n- [1]\n - [2]\n", "line 3: `- [2]` is not in line with the list above"),
    "a row without a hyphen": (
        "query:\n- [1]\n[2]\n",
        "line 3: `[2]` does not belong to a key; begin a row of a list with",
    ),
    "a list on the line of its key": ("query: - [1]\n", "line 1: `- [1]` is on the line of its key; begin the list on"),
    "an at sign": ("title: @me\n", 'line 1: a value can\'t begin with `@`; put it in quotes: "@me"'),
    "a percent sign": ("title: %5\n", "line 1: a value can't begin with `%`"),
    "a backtick": ("title: `me`\n", "line 1: a value can't begin with a backtick"),
    "a star": ("title: **bold**\n", "line 1: a value can't begin with `*`"),
    "a directive": ("%a: 1\n", "line 1: a value can't begin with `%`"),
    "a bar": ("title: |x\n", "line 1: a value can't begin with `|`"),
    "a parameter on the line": (
        "normalize: softmax: temperature: 2\n",
        "colon; write normalize: softmax:temperature=2",
    ),
    "a parameter with =": ("score: gaussian: sigma=2, x: 3\n", "write score: gaussian:sigma=2,x=3"),
    "two colons": ("title: Part 1: heads\n", 'the value has a colon; put it in quotes: title: "Part 1: heads"'),
    "a path of Windows": ('title: "C:\\path"\n', "line 1: a backslash in double quotes is an escape"),
    "a hyphen for minus": ("query: [[1, - 2]]\n", "line 1: `-` is followed by a space; write a negative number"),
    "a second document": ("a: 1\n...\nb\n", "line 3: a second document begins"),
}


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_in_words_of_the_text(
    text: str, message: str, loader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml, "_LOADER", getattr(pyyaml, loader, pyyaml.SafeLoader))
    with pytest.raises(AttnError) as caught:
        yaml.read(text, "p.yaml")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("heads:2\n", "line 1: `heads:` needs a space after the colon"),
        ("# of one head\n\nheads = 1\n", "line 3: `heads` needs a colon instead of ="),
        ("gaussian\nheads: 1\n", "line 1: `gaussian` needs a colon"),
        ("gaussian\n", None),
        ("query [[1]]\n", None),
        ("heads: 1\ngaussian\n", None),
    ],
)
def test_a_line_alone_is_a_text_unless_it_is_nearly_a_key(text: str, message: str | None) -> None:
    if message is None:
        check_first_key(text, "p.yaml")
    else:
        with pytest.raises(AttnError, match=f"^p.yaml, {message}"):
            check_first_key(text, "p.yaml")


@pytest.mark.parametrize(("text", "value"), SCALARS.items(), ids=SCALARS)
def test_a_plain_scalar_has_its_type_in_yaml_1_2(text: str, value: Any) -> None:
    (read,), _ = yaml.read(f"[{text}]", "p.yaml")
    assert read == value
    assert type(read) is type(value)


def test_not_a_number_is_read() -> None:
    assert math.isnan(yaml.read("[.nan]", "p.yaml")[0][0])


def test_lists_mappings_and_aliases_are_put_together() -> None:
    text = "a: &w [[1, 2], [3, 4]]\nb: *w\nc:\n  d: {e: x, f: [y]}\n  no: []\nn: &n 2\nm: *n\n"
    value, _ = yaml.read(text, "p.yaml")
    rest = {"c": {"d": {"e": "x", "f": ["y"]}, "no": []}, "n": 2, "m": 2}
    assert value == {"a": [[1, 2], [3, 4]], "b": [[1, 2], [3, 4]], **rest}


def test_the_keys_of_a_mapping_are_their_literal_text() -> None:
    assert yaml.read("1: a\ntrue: b\n010: c\n", "p.yaml")[0] == {"1": "a", "true": "b", "010": "c"}


AS_WRITTEN = "[010, 0x1F, 1e3, 1.50, yes, null, true, 2024-01-01, 1_000, 'a ', ~, .nan]"
SPELLINGS = ["010", "0x1F", "1e3", "1.50", "yes", "null", "true", "2024-01-01", "1_000", "a ", "~", ".nan"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (f"tokens: {AS_WRITTEN}", SPELLINGS),
        ("other: 010\ntokens: 010", "010"),
        ("tokens: &t [010]\nother: *t", ["010"]),
        ("tokens:\n- 1.50\n-\n", ["1.50", None]),
        ("tokens: null", None),
        ("tokens: !!int 010", 10),
    ],
)
def test_a_scalar_under_a_key_of_text_keeps_its_spelling(text: str, tokens: Any) -> None:
    value, _ = yaml.read(text, "p.yaml", {"tokens"})
    assert value["tokens"] == tokens


def test_a_scalar_beside_a_key_of_text_has_its_type() -> None:
    value, _ = yaml.read("a: {tokens: [010], b: 010}\nc: [010]\n", "p.yaml", {"tokens"})
    assert value == {"a": {"tokens": ["010"], "b": 10}, "c": [10]}


def test_every_list_has_its_line() -> None:
    value, lines = yaml.read("a:\n  - [1]\n\n  - [2]\n", "p.yaml")
    assert [lines[id(row)] for row in value["a"]] == [2, 4]


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_an_error_names_its_line(text: str, message: str) -> None:
    for before, place in (("", message), ("# c\n\n\n", later(message, 3))):
        with pytest.raises(AttnError) as caught:
            yaml.read(before + text, "p.yaml")
        assert str(caught.value).startswith(place)


def test_aliases_of_aliases_are_bounded() -> None:
    layers = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    layers += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 9)]
    with pytest.raises(AttnError, match="aliases repeat more than"):
        yaml.read("\n".join(layers), "p.yaml")


def test_an_empty_text_is_nothing() -> None:
    assert yaml.read("# nothing\n", "p.yaml") == (None, {})


def typed_texts(value: Any) -> Any:
    """The same lists and mappings, with the text of each number that knows its digits."""
    if isinstance(value, dict):
        return {key: typed_texts(part) for key, part in value.items()}
    if isinstance(value, list):
        return [typed_texts(part) for part in value]
    return value.text if isinstance(value, TypedNumber) else value


def test_numbers_under_a_typed_key_know_their_digits() -> None:
    text = "a: [0.10]\nexpected: {w: [[0.10, 1e3, !!float 2.50], [.inf, cat, true]], o: {cat: {b: 010}}}\nb: [0.10]\n"
    value, _ = yaml.read(text, "p.yaml", typed_keys={"expected"})
    assert typed_texts(value) == {
        "a": [0.1],
        "expected": {"w": [["0.10", "1e3", "2.50"], [".inf", "cat", True]], "o": {"cat": {"b": "010"}}},
        "b": [0.1],
    }
    assert value["expected"]["w"][0] == [0.1, 1000, 2.5]
    assert value["expected"]["o"]["cat"]["b"] == 10


def test_so_do_those_of_each_part_and_all_numbers_of_a_text_without_keys() -> None:
    value, _ = yaml.read("parts:\n- {expected: {w: [0.10]}, scale: 0.10}\n", "p.yaml", typed_keys={"expected"})
    assert typed_texts(value) == {"parts": [{"expected": {"w": ["0.10"]}, "scale": 0.1}]}
    assert typed_texts(yaml.read("[[0.10, 2]]", "p.yaml", typed_keys=None)[0]) == [["0.10", "2"]]


# What json.dumps writes for 😀, and what is no escape because it is in other quotes or behind a backslash.
SURROGATES = {
    r'["\ud83d\ude00", "\uD83D\uDE01x"]': ["😀", "😁x"],
    r'{"\ud83d\ude00": 1}': {"😀": 1},
    r"""["\ud83d\ude00", '\ud83d\ude00', \ud83d\ude00]""": ["😀", r"\ud83d\ude00", r"\ud83d\ude00"],
    r'["\\ud83d", "\\\ud83d\ude00"]': [r"\ud83d", "\\😀"],
}


@pytest.mark.parametrize(("text", "value"), SURROGATES.items())
def test_a_character_beyond_the_first_plane_may_be_written_as_json_writes_it(text: str, value: object) -> None:
    assert yaml.read(text, "p.yaml")[0] == value


@pytest.mark.parametrize("text", [r'"\ud83d"', r'"\ude00\ud83d"', r'"\\ud83d\ude00"'])
def test_half_a_character_is_an_error(text: str) -> None:
    with pytest.raises(AttnError, match=r"p\.yaml, line 1: an escape is half a character"):
        yaml.read(text, "p.yaml")
