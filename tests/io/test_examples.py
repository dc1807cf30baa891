"""Worked examples: their parts, and the options that equal the keys of a part."""

from pathlib import Path

import pytest

from attncli import load
from attncli.base.errors import AttnError
from attncli.io import examples
from attncli.io.inputs import Inputs
from attncli.io.problem_files import Origin, RawValue, file_parts, parse_document

BASE = "embeddings: [[1, 0], [0, 1]]\n"


def load_example(tmp_path: Path, text: str) -> examples.Example:
    path = tmp_path / "e.yaml"
    path.write_text(BASE + text)
    return examples.load(str(path))


def test_the_tutorial_comes_first() -> None:
    assert examples.names()[0] == "tutorial"
    assert len(examples.names()) == len(set(examples.names())) >= 9


@pytest.mark.parametrize("name", examples.names())
def test_an_example_of_the_package_is_complete(name: str) -> None:
    example = examples.load(name)
    assert example.title
    assert example.about.startswith("See ")
    assert example.about.strip().endswith((".", ")"))
    assert example.topic
    assert example.teaches
    assert any(part.expected.value for part in example.parts)


def test_a_file_without_parts_is_one_part(tmp_path: Path) -> None:
    example = load_example(tmp_path, "expected: {weights: [[1, 0], [0, 1]]}\n")
    assert [part.expected.value for part in example.parts] == [{"weights": [[1, 0], [0, 1]]}]


def test_what_a_part_does_not_say_is_expected_of_it_as_of_the_file(tmp_path: Path) -> None:
    text = "expected: {weights: [[1, 0], [0, 1]]}\nparts: [{title: a}, {title: b, expected: {output: [[1, 2]]}}]\n"
    expected = [part.expected.value for part in load_example(tmp_path, text).parts]
    assert expected == [{"weights": [[1, 0], [0, 1]]}, {"output": [[1, 2]]}]


def test_a_parts_keys_become_options(tmp_path: Path) -> None:
    example = load_example(
        tmp_path,
        "parts:\n"
        "  - {title: a, only: [token_1], show: [weights], normalize: {topk: {k: 1}}}\n"
        "  - {title: b, score: {general: {w: [[1, 2], [3, 4]]}}, w_q: [[1, 0], [0, 1]]}\n"
        "  - {title: c, causal: true, window: [1, .inf], mask: [true, false]}\n"
        "  - {title: d, causal: false, sink: [.5], tokens: [the cat, sat]}\n",
    )
    assert [part.options for part in example.parts] == [
        "--only token_1 --normalize topk:k=1 --select weights",
        "--score 'general:w=[[1, 2], [3, 4]]' --w-q '[[1, 0], [0, 1]]'",
        "--causal --window 1,inf --mask '[true, false]'",
        "--no-causal --sink '[0.5]' --tokens 'the cat,sat'",
    ]


def test_a_labelled_row_of_a_part_is_no_operator(tmp_path: Path) -> None:
    (part,) = load_example(tmp_path, "parts:\n  - {title: a, embeddings: {cat: [1, 2]}}\n").parts
    assert part.problem.tokens == ("cat",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parts: 3\n", "parts: is not a list of parts; expected - title"),
        ("parts: [x]\n", "parts: is not a list of parts"),
        ("parts:\n  - {title: a, show: [[weights]]}\n", "part 'a', show: is not a list of names of results; write one"),
        ("show: []\n", "show: is not a list of names of results; write one, such as [weights, output]"),
        ("together: [[output]]\n", "together: is not a list of names of results; write one"),
        ("together: 0\n", "together: is not a list of names of results; write one"),
        ("curve: 0\n", "curve: is not a name of a result; write one, such as output"),
        ("numpy: 0\n", "numpy: has no names; write NAME: a line of NumPy that computes it"),
        ("haeds: 3\n", "unknown key 'haeds'"),
        ("curve: [output]\n", "curve: is not a name of a result; write one, such as output"),
        ("curve: {}\n", "curve: is not a name of a result; write one, such as output"),
        ("together: {}\n", "together: is not a list of names of results; write one, such as [weights, output]"),
        ("show: 0\n", "show: is not a list of names of results; write one, such as [weights, output]"),
        ("numpy: []\n", "numpy: has no names; write NAME: a line of NumPy that computes it"),
        ("precision: high\n", "precision: is not a whole number; write how many decimals are shown"),
        ("cell: [a, b]\n", "cell: is not a cell; expected QUERY,KEY, such as word_1,word_3"),
        ("numpy: scores\n", "numpy: has no names; write NAME: a line of NumPy that computes it"),
        ("arrows: from_query\n", "arrows: unknown direction 'from_query'"),
        (
            "parts:\n  - {title: a, arrows: up}\n",
            "part 'a', arrows: unknown direction 'up'; expected one of query_to_key",
        ),
        ("parts:\n  - {title: a, heads: 3}\n", "part 'a', heads: 3 heads can't share"),
        ("parts:\n  - {title: a, haeds: 3}\n", "part 'a': unknown key 'haeds'"),
        ("parts:\n  - {title: a}\n  - {titel: b}\n", "part 2: unknown key 'titel'"),
        ("parts:\n  - {title: a, topics: 3}\n", "part 'a': unknown key 'topics'"),
        ("parts:\n  - {title: a, precision: 3}\n", "part 'a': unknown key 'precision'"),
        ("parts:\n  - {title: a, 3: 3}\n", "part 'a': unknown key '3'"),
        ("hedas: 2\n", "e.yaml, line 2: unknown key 'hedas'"),
        ("expcted: {weights: [[1, 0], [0, 1]]}\n", "e.yaml, line 2: unknown key 'expcted'"),
    ],
)
def test_an_error_in_an_example_has_its_part_and_key(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(AttnError) as caught:
        load_example(tmp_path, text)
    assert message in str(caught.value)
    assert "e.yaml" in str(caught.value)


def test_an_unknown_example_suggests_the_nearest() -> None:
    with pytest.raises(AttnError, match="did you mean 'tutorial'"):
        examples.text("tutorail")


def test_what_is_shown_of_every_part_stands_at_the_top_of_the_file(tmp_path: Path) -> None:
    example = load_example(
        tmp_path,
        "show: [weights]\ncell: token_1,token_2\nnumpy: {weights: softmax(scores)}\narrows: key_to_query\n"
        "parts:\n  - {title: a}\n  - {title: b, show: [scores], cell: '*', numpy: {}, arrows: null}\n",
    )
    first, second = example.parts
    assert (first.show, first.cell, first.numpy, first.arrows) == (
        ("weights",), "token_1,token_2", {"weights": "softmax(scores)"}, "key_to_query",
    )  # fmt: skip
    assert (second.show, second.cell, second.numpy, second.arrows) == (("scores",), "*", {}, None)


def test_a_file_that_is_computed_may_have_every_key_of_an_example(tmp_path: Path) -> None:
    text = "title: t\ntopic: t\nteaches: t\npaper: t\nprecision: 3\ncurve: output\ntogether: [output]\ncell: '*'\n"
    assert load_example(tmp_path, text).precision == 3
    assert load(tmp_path / "e.yaml").embeddings is not None


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
