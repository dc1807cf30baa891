"""JSON: the values of the standard library, without duplicate keys."""

import math

import pytest

from attncli.base.errors import AttnError
from attncli.base.text import json_excerpt
from attncli.io import formats
from attncli.io.documents import read_json
from attncli.io.inputs import Inputs
from tests.io.opened import later

REFUSED = {
    "a duplicate key": ('{"a": 1,\n "a": 2}', "p.json: the key 'a' is given twice; keep one of them"),
    "a list that is not closed": ("[1,\n 2", "p.json, line 2: is not JSON"),
    "a comma too many": ("[1, 2,]", "p.json, line 1: is not JSON"),
    "lists without end": ("[" * 200_000, "p.json: lists are nested too deep"),
    "a number beyond all floats": ("[1,\n -1e999]", "p.json, line 2: -1e999 is too large for a floating-point number"),
    "a long number beyond all floats": (
        f"[{'9' * 400}.5]",
        "p.json, line 1: 9999999999999999999999999999999999999... is too large",
    ),
    "an integer of five thousand digits": (f"[{'9' * 5000}]", "p.json, line 1: 9999"),
}


def test_values_are_read() -> None:
    assert read_json('{"a": [1, 2.5, 1e3, true, null, "x"]}', "p.json") == {"a": [1, 2.5, 1000.0, True, None, "x"]}
    assert read_json("[Infinity, -Infinity]", "p.json") == [math.inf, -math.inf]
    assert math.isnan(read_json("[NaN]", "p.json")[0])


def test_a_number_under_a_key_of_text_keeps_its_spelling() -> None:
    text = '{"tokens": [1.50, "a", 7, 1e3, true], "parts": [{"tokens": 10, "only": 2.0}], "rows": [[1.50]]}'
    assert read_json(text, "p.json", {"tokens"}) == {
        "tokens": ["1.50", "a", "7", "1e3", True],
        "parts": [{"tokens": "10", "only": 2.0}],
        "rows": [[1.5]],
    }


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_an_error_has_its_file_and_line(text: str, message: str) -> None:
    for before, place in (("", message), ("\n\n\n", later(message, 3))):
        with pytest.raises(AttnError) as caught:
            read_json(before + text, "p.json")
        assert str(caught.value).startswith(place)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), ("yes", '"yes"'), ([1] * 40, "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...")],
)
def test_an_excerpt_of_a_value_is_short(value: object, text: str) -> None:
    assert json_excerpt(value) == text


def test_numbers_under_a_typed_key_know_their_digits() -> None:
    text = '{"a": [0.10], "expected": {"w": [[0.10, 1e3], ["NaN", 2]]}, "parts": [{"expected": {"o": [0.50]}}]}'
    value = read_json(text, "p.json", typed_keys={"expected"})
    (first, second), part = value["expected"]["w"], value["parts"][0]["expected"]["o"]
    assert [number.text for number in [*first, second[1], *part]] == ["0.10", "1e3", "2", "0.50"]
    assert (first, second, part, value["a"]) == ([0.1, 1000], ["NaN", 2], [0.5], [0.1])
    assert type(value["a"][0]) is float


def test_so_do_all_numbers_of_a_text_without_keys() -> None:
    assert read_json("[[0.10]]", "p.json", typed_keys=None)[0][0].text == "0.10"


RECORDS = ['{"text": "the", "embedding": [1, 0]}', '{"text": "cat", "embedding": [0, 0.5]}']


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.jsonl", "\n".join(RECORDS)),
        ("standard input", "\n".join(RECORDS)),
        ("standard input", "\n".join(RECORDS).replace("[1, 0]", f"[1, 0{' ' * 5000}]")),
        ("e.ndjson", f"{RECORDS[0]}\n\n{RECORDS[1]}\n"),
        ("e.json", f"[{', '.join(RECORDS)}]"),
        ("e.json", f'{{"object": "list", "model": "m", "data": [{", ".join(RECORDS)}]}}'),
    ],
)
@pytest.mark.parametrize("entry", ["", "embedding"])
def test_the_vectors_of_objects_in_a_list_are_rows_and_their_texts_labels(name: str, text: str, entry: str) -> None:
    found = formats.read_array(Inputs().of_text(text, name), entry)
    assert found.array.tolist() == [[1, 0], [0, 0.5]]
    assert found.labels == ("the", "cat")


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ('{"model": "m", "embeddings": [[1, 0], [0, 0.5]], "texts": ["a", "b"], "total_duration": 3}', ""),
        ('{"meta": {"x": 1}, "embeddings": {"float": [[1, 0], [0, 0.5]]}}', "embeddings"),
    ],
)
def test_the_one_matrix_of_an_answer_is_read(text: str, entry: str) -> None:
    assert formats.read_array(Inputs().of_text(text, "e.json"), entry).array.tolist() == [[1, 0], [0, 0.5]]


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        ('{"vector": [1]}\n', "", "e.jsonl, object 1: unknown entry 'embedding'; expected one of vector"),
        ('{"vector": [1]}\n{"x": 1}\n', "vector", "e.jsonl, object 2: unknown entry 'vector'"),
        ('{"vector": [1]}\n\n{"vector":', "vector", "e.jsonl, line 3: is not JSON: Expecting value"),
        ('{"embedding": [1, 2]}\n[3, 4]\n', "", 'e.jsonl, number 1: {"embedding": [1, 2]} is not a number'),
    ],
)
def test_a_line_without_a_vector_is_an_error_with_its_number(text: str, entry: str, message: str) -> None:
    with pytest.raises(AttnError) as error:
        formats.read_array(Inputs().of_text(text, "e.jsonl"), entry)
    assert str(error.value).startswith(message)
