"""YAML: the core scalars of YAML 1.2, the lines of values, and limits on nesting and aliases."""

import math
from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.io import yaml
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
    "a tab before a key": ("a:\n\tb: 1\n", "p.yaml, line 2: is not YAML: tabs are not allowed; indent with"),
    "a control character": ("a: 1\nb: x\x07\n", "p.yaml, line 2: has the control character '\\x07'"),
    "a duplicate key": ("a: 1\nb: 2\na: 3\n", "p.yaml, line 3: the key 'a' is given twice; keep one of them"),
    "a duplicate key, inside": ("a:\n  b: 1\n  b: 2\n", "p.yaml, line 3: the key 'b' is given twice"),
    "lists without end": ("[" * 200_000, "p.yaml, line 1: lists are nested more than 40 deep"),
    "mappings without end": ("{a: " * 100_000, "p.yaml, line 1: lists are nested more than 40 deep"),
    "a list that holds itself": (
        "a: &x [1, *x]\n",
        "p.yaml, line 1: *x refers to nothing that was complete before it",
    ),
    "an alias of nothing": ("a: *x\n", "p.yaml, line 1: *x refers to nothing"),
    "an object of Python": ("a: 1\nb: !!python/object:os.system {}\n", "p.yaml, line 2: has the tag"),
    "a scalar with a tag of its own": ("a: !secret x\n", "p.yaml, line 1: has the tag !secret; leave the tag out"),
    "a tag of another type": ("a: !!int x\n", "p.yaml, line 1: 'x' is not what its tag says"),
    "a second document": ("a: 1\n---\nb: 2\n", "p.yaml, line 2: a second document begins"),
    "a list that is not closed": ("a: [1, 2\nb: 3\n", "p.yaml, line 2: is not YAML"),
    "slices without quotes": (
        "a: {b: x.npz#w[:, 0:2]}\n",
        "p.yaml, line 1: is not YAML: did not find expected ',' or '}'; put a name with slices in quotes: ",
    ),
    "slices in quotes, and a list that is not closed": (
        'a: ["x.npz#w[:, 0:2]"\nb: 1\n',
        "p.yaml, line 2: is not YAML: did not find expected ',' or ']'",
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


@pytest.mark.parametrize(("text", "value"), SCALARS.items(), ids=SCALARS)
def test_a_plain_scalar_has_its_type_in_yaml_1_2(text: str, value: Any) -> None:
    (read,), _ = yaml.read(f"[{text}]", "p.yaml")
    assert read == value
    assert type(read) is type(value)


def test_not_a_number_is_read() -> None:
    assert math.isnan(yaml.read("[.nan]", "p.yaml")[0][0])


def test_lists_mappings_and_aliases_are_put_together() -> None:
    text = "a: &w [[1, 2], [3, 4]]\nb: *w\nc:\n  d: {e: x, f: [y]}\n  no: []\n"
    value, _ = yaml.read(text, "p.yaml")
    assert value == {"a": [[1, 2], [3, 4]], "b": [[1, 2], [3, 4]], "c": {"d": {"e": "x", "f": ["y"]}, "no": []}}


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
    with pytest.raises(AttnError, match=r"p\.yaml, line 1: is not YAML"):
        yaml.read(text, "p.yaml")
