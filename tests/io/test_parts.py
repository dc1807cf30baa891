"""The parts of a problem file: each with its own keys, and what the file says for all of them."""

from attncli.io.inputs import Inputs
from attncli.io.origin import Origin, RawValue
from attncli.io.parts import file_parts
from attncli.io.problem_files import parse_document

TEXT = """
embeddings: [[1, 0], [0, 1]]
score: dot
cell: a,b
expected: {weights: [[1, 0], [0, 1]]}
parts:
- title: first
  score: cosine
- expected: {output: [[1, 2], [3, 4]]}
"""


def test_a_part_has_the_keys_of_the_file_and_its_own_in_their_place() -> None:
    first, second = file_parts(parse_document(TEXT, "p.yaml"), "p.yaml")
    assert [first.name, second.name] == ["first", "2"]
    assert [first.place, second.place] == ["p.yaml, part 'first'", "p.yaml, part 2"]
    assert [first.problem["score"].value, second.problem["score"].value] == ["cosine", "dot"]
    assert [first.own, second.own] == [{"score": "cosine"}, {}]
    assert [list(first.expected.value), list(second.expected.value)] == [["weights"], ["output"]]
    assert first.keys["cell"] == "a,b"


def test_an_option_stands_before_the_key_of_a_part() -> None:
    option = {"score": RawValue("gaussian", Origin(options=True, inputs=Inputs()))}
    parts = file_parts(parse_document(TEXT, "p.yaml") | option, "p.yaml")
    assert [part.problem["score"].value for part in parts] == ["gaussian", "gaussian"]


def test_a_file_without_parts_is_one_without_a_name() -> None:
    (part,) = file_parts(parse_document("embeddings: [[1]]\nexpected: {output: [[1]]}\n", "p.yaml"), "p.yaml")
    assert (part.name, part.place, list(part.expected.value)) == ("", "p.yaml", ["output"])
