"""The variants of a problem: every combination, named by what tells them apart."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.problem_files import Origin, read_document
from attncli.io.variants import NamedDocument, Variant, make_variants, read_varied, shared_keys
from attncli.problem.edits import parse_edit
from tests.problems import raw_values, write_file

SELF = {"embeddings": [[1, 0], [0, 2], [1, 1]], "w_q": [[1, 0], [0, 1]], "scale": 2}


def document(name: str = "", **keys: Any) -> NamedDocument:
    """The values of a problem."""
    return NamedDocument(name, raw_values(**{**SELF, **keys})).converted()


def variants(*words: str, **more: Any) -> tuple[Variant, ...]:
    """The variants of one problem, with these values varied."""
    return make_variants([document()], read_varied(words, Origin()), **more)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["scale=1,2"], ["scale=1", "scale=2"]),
        (
            ["scale=1,2", "causal=true", "causal=false"],
            ["scale=1, causal=true", "scale=1, causal=false", "scale=2, causal=true", "scale=2, causal=false"],
        ),
        (["scale=1"], ["as given", "scale=1"]),
        (["scale=1", "causal=true"], ["as given", "scale=1, causal=true"]),
        (["scale=1,3", "causal=true"], ["scale=1", "scale=3"]),
    ],
)
def test_values_multiply_and_names_have_the_keys_that_differ(words: list[str], names: list[str]) -> None:
    assert [variant.name for variant in variants(*words)] == names


def test_each_variant_has_its_own_values_and_what_was_varied() -> None:
    one, two = variants("scale=1,null", "normalize=sparsemax")
    assert (one.problem.scale, two.problem.scale) == (1, None)
    assert str(one.problem.normalize) == "sparsemax"
    assert one.keys == {"scale": "1", "normalize": "sparsemax"}
    assert shared_keys([one, two]) == {"normalize": "sparsemax"}
    as_given, _ = variants("scale=1")
    assert (as_given.keys, as_given.problem.scale) == ({}, 2)
    assert shared_keys(variants("scale=1")) == {}


def test_a_parameter_is_that_of_the_operator_in_force() -> None:
    normalizers = [str(variant.problem.normalize) for variant in variants("normalize.temperature=2,null")]
    assert normalizers == ["softmax:temperature=2", "softmax"]
    both = variants("score.beta=2,3", "score=cosine:beta=4", "normalize=topk:k=1", "normalize.k=2")
    assert [str(variant.problem.score) for variant in both] == ["cosine:beta=2", "cosine:beta=3"]
    assert {str(variant.problem.normalize) for variant in both} == {"topk:k=2"}


def test_files_and_conventions_vary_slowest_and_edits_fastest() -> None:
    found = make_variants(
        [document("a.yaml"), document("b.yaml", scale=3)],
        read_varied(["causal=true"], Origin()),
        ["torch-sdpa"],
        [parse_edit("w_q[0,1]=3"), parse_edit("w_q[1,0]=1/2")],
    )
    edits = "w_q[0,1]=3, w_q[1,0]=0.5"
    assert [variant.name for variant in found] == [
        "file=a.yaml",
        f"file=a.yaml, {edits}",
        "file=b.yaml",
        f"file=b.yaml, {edits}",
    ]
    assert [variant.problem.scale for variant in found] == [2, 2, 3, 3]
    assert found[3].keys == {"file": "b.yaml", "as": "torch-sdpa", "causal": "true", "set": edits}
    before, after = found[2].problem.w_q, found[3].problem.w_q
    assert before is not None
    assert after is not None
    assert (before.tolist(), after.tolist()) == ([[1, 0], [0, 1]], [[1, 3], [0.5, 1]])


def test_edits_alone_are_before_and_after() -> None:
    assert [variant.name for variant in variants(edits=[parse_edit("w_q[0,1]=3")])] == ["as given", "w_q[0,1]=3"]


def test_a_convention_has_its_remarks() -> None:
    (_, variant) = make_variants([document(softcap=2, normalize="sparsemax")], {}, ["torch-sdpa"])
    assert variant.name == "as=torch-sdpa"
    assert variant.problem.convention is not None
    assert variant.remarks == variant.problem.convention.remarks != ()
    (*_, edited) = make_variants([document()], {}, ["torch-sdpa"], [parse_edit("w_q[0,1]=3")])
    assert edited.problem.convention is not None


def test_what_is_in_all_variants_is_one_array() -> None:
    one, two = variants("scale=1,2")
    assert one.problem.embeddings is two.problem.embeddings


def test_lines_of_a_file_are_known_in_every_variant(tmp_path: Path) -> None:
    file = write_file(tmp_path, "embeddings:\n- [1, 2]\n- [3, 4]\nvocabulary: null\n")
    found = make_variants([NamedDocument(file, read_document(file)).converted()], read_varied(["scale=1,2"], Origin()))
    assert [variant.problem.origins["embeddings"].path_of_row(1) for variant in found] == [(file, "line 3")] * 2


def test_a_vocabulary_keeps_its_words(tmp_path: Path) -> None:
    write_file(tmp_path, "the,1,2\ncat,3,4\n", "v.csv")
    file = write_file(tmp_path, "sentence: the cat\nvocabulary: v.csv\n")
    found = make_variants([NamedDocument(file, read_document(file)).converted()], read_varied(["scale=1,2"], Origin()))
    assert found[1].problem.embeddings is not None
    np.testing.assert_array_equal(found[1].problem.embeddings, [[1, 2], [3, 4]])
    assert found[1].problem.origins["vocabulary"].name == str(tmp_path / "v.csv")


def test_one_value_without_which_there_is_no_problem_needs_a_second_one() -> None:
    drawn = NamedDocument("", raw_values(token_count=2, dim=2)).converted()
    with pytest.raises(AttnError) as raised:
        make_variants([drawn], read_varied(["seed=1"], Origin()))
    assert raised.value.typed == (
        "variant as given, seed: embeddings is drawn at random and there is no seed; "
        "the only variant, seed=1, is compared with the problem as given: give a second value instead"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "one problem and nothing that varies; give --vary KEY=VALUE"),
        (["seed=1..101", "scale=1..100"], "there are 10,100 variants; at most 10,000 are compared: vary less"),
        (["heads=1,3"], "variant heads=3, --vary heads: 3 heads can't share the 2 features of the queries"),
        (
            ["position.base=1,2"],
            "variant position.base=1, --vary position.base: position is not the name of an operator; give",
        ),
        (
            ["normalize=entmax", "normalize.temperature=2"],
            "variant normalize=entmax, normalize.temperature=2, --vary normalize: unknown parameter of entmax",
        ),
        (["w_k=1 0 0;0 1 0"], "variant w_k=1 0 0;0 1 0: w_k has 3 columns (d)"),
    ],
)
def test_an_error_names_the_variant(words: list[str], message: str) -> None:
    with pytest.raises(AttnError) as raised:
        variants(*words)
    assert raised.value.typed.startswith(message)
