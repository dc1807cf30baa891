"""CSV and TSV: every label and number is read back, and a comparison is one long table of the same columns."""

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attncli
from attncli.base.errors import AttnError
from attncli.comparisons.comparison import CompareOptions, compare
from attncli.comparisons.long_table import write_long_csv, write_long_tsv
from attncli.io.variants import Variant
from attncli.render.formats.csv import write_csv, write_tsv
from attncli.render.target import TEXT_FILE
from attncli.render.view import View
from tests.arrays import normal
from tests.problems import problem

LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@pytest.mark.parametrize(("render", "delimiter"), [(write_csv, ","), (write_tsv, "\t")])
@given(labels=st.lists(LABELS, min_size=2, max_size=2))
def test_a_reader_of_csv_sees_labels_and_numbers(render: object, delimiter: str, labels: list[str]) -> None:
    result = attncli.attention([[1.0, 2]], [[1.0, 0], [0, 1]], tokens=labels, select=("weights",))
    text = "".join(render(View(result)))
    header, row = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert header == ["", *labels]
    np.testing.assert_array_equal(np.array(row[1:], dtype=float), result.weights[0])


SCORES = {"scores": [[1, 2, 3], [4, 5, 6]], "query_tokens": ["q, 1", "q2"], "tokens": ["the", "cat", "the"]}
HEADS = {"scores": normal(2, 3, 5, 7)}


def text(
    *problems: dict[str, Any], select: Sequence[str], keys: Sequence[dict[str, str]] = ({},) * 9, **options: Any
) -> str:
    """The table of these problems, named a, b …"""
    variants = [Variant(name, own, problem(**one)) for name, own, one in zip("abcdefghi", keys, problems, strict=False)]
    return "".join(write_long_csv(compare(variants, select, CompareOptions(**options))))


def rows(*problems: dict[str, Any], **more: Any) -> list[dict[str, str]]:
    """The rows of the table by the names of its columns."""
    return list(csv.DictReader(io.StringIO(text(*problems, **more))))


def test_a_row_has_the_labels_of_its_query_and_key_and_a_number_of_each_result() -> None:
    lines = text(SCORES, select=["scores", "masked_scores"], keys=[{"scale": "1/2", "mask": "1,0"}]).splitlines()
    assert lines[:4] == [
        "variant,scale,mask,batch,head,query,key,scores,masked_scores",
        'a,1/2,"1,0",0,0,"q, 1",the#1,1.0,1.0',
        'a,1/2,"1,0",0,0,"q, 1",cat,2.0,2.0',
        'a,1/2,"1,0",0,0,"q, 1",the#2,3.0,3.0',
    ]
    assert len(lines) == 1 + 2 * 3


def test_every_digit_is_written_by_batch_item_and_head() -> None:
    found = rows(HEADS, select=["scores"])
    assert [float(row["scores"]) for row in found] == HEADS["scores"].reshape(-1).tolist()
    assert [(row["batch"], row["head"]) for row in found[:: 5 * 7]] == [
        (str(batch), str(head)) for batch in range(2) for head in range(3)
    ]
    (first, *_), last = found, found[-1]
    assert (first["query"], first["key"], last["query"], last["key"]) == ("query_1", "key_1", "query_5", "key_7")


def test_numbers_have_the_decimals_that_are_asked_for() -> None:
    target = replace(TEXT_FILE, decimals=2)
    result = attncli.attention([[1.0, 0], [0, -1]], [[1.0, 0], [0, 1]], select=("scores",))
    assert "".join(write_csv(View(result, statistics=True), target)).splitlines() == [
        "# scores",
        ",key_1,key_2",
        "query_1,0.71,0",
        "query_2,0,-0.71",
        "",
        "# statistics",
        "batch,head,query,support,entropy,effective_keys,largest,largest_key",
        "0,0,query_1,2,0.63,1.89,0.67,key_1",
        "0,0,query_2,2,0.63,1.89,0.67,key_1",
    ]
    comparison = compare([Variant("a", {}, problem(**SCORES))], ["weights"], CompareOptions())
    assert "".join(write_long_csv(comparison, target)).splitlines()[1:4] == [
        'a,0,0,"q, 1",the#1,0.09',
        'a,0,0,"q, 1",cat,0.24',
        'a,0,0,"q, 1",the#2,0.67',
    ]


def test_a_selected_head_keeps_its_number() -> None:
    found = rows(HEADS, HEADS, select=["scores"], positions={"b": 1, "h": 2})
    assert {(row["batch"], row["head"]) for row in found} == {("1", "2")}
    assert [float(row["scores"]) for row in found[: 5 * 7]] == HEADS["scores"][1, 2].reshape(-1).tolist()


def test_results_with_features_have_them_in_place_of_keys() -> None:
    keys = {"weights": [[0.5, 0.5]], "value": [[1, 2, 3], [3, 4, 5]]}
    found = rows(keys, select=["output"])
    assert list(found[0]) == ["variant", "batch", "head", "query", "feature", "output"]
    assert [(row["feature"], row["output"]) for row in found] == [("e1", "2.0"), ("e2", "3.0"), ("e3", "4.0")]
    assert list(rows(keys, select=["value"])[0])[-3:] == ["key", "feature", "value"]


def test_a_result_that_a_variant_lacks_has_empty_cells() -> None:
    found = rows({"weights": [[1, 0]], "value": [[1], [2]]}, SCORES, select=["scores", "weights"])
    assert [(row["scores"], row["weights"]) for row in found[:3]] == [
        ("", "1.0"),
        ("", "0.0"),
        ("1.0", "0.09003057317038046"),
    ]


def test_two_columns_never_have_one_name() -> None:
    keys = [{"key": "a.csv", "seed": "1", "scores": "b.csv"}, {}]
    found = rows(SCORES, SCORES, select=["scores"], keys=keys)
    assert list(found[0])[:4] == ["variant", "varied_key", "seed", "varied_scores"]
    assert [found[6][name] for name in ("varied_key", "seed", "varied_scores")] == ["", "", ""]


def test_numbers_that_are_not_finite_and_booleans_are_words() -> None:
    found = rows({"scores": [[np.nan, np.inf, 0]], "mask": [[1, 1, 0]]}, select=["masked_scores"])
    assert [row["masked_scores"] for row in found] == ["nan", "inf", "-inf"]
    found = rows({"scores": [[1, 2, 0]], "mask": [[1, 1, 0]]}, select=["visible"])
    assert [row["visible"] for row in found] == ["true", "true", "false"]


def test_a_large_table_is_written_in_chunks() -> None:
    scores = normal(211, 199)
    variants = [Variant("a", {}, problem(scores=scores))]
    chunks = list(write_long_csv(compare(variants, ["scores"])))
    assert len(chunks) > 2
    numbers = [float(line.rpartition(",")[2]) for line in "".join(chunks).splitlines()[1:]]
    assert numbers == scores.reshape(-1).tolist()


def test_tabs_separate_where_they_are_asked_for() -> None:
    variants = [Variant("a, b", {}, problem(**SCORES))]
    lines = "".join(write_long_tsv(compare(variants, ["scores"]))).splitlines()
    assert lines[1] == '"a, b"\t0\t0\t"q, 1"\tthe#1\t1.0'


@pytest.mark.parametrize(
    ("select", "message"),
    [
        (
            ["weights", "output"],
            "--select: has weights for each query and key, output for each query and feature; select one of them",
        ),
        (["w_q"], "--select: w_q has the axes [x d], and two columns can't both be feature"),
    ],
)
def test_results_that_have_no_rows_in_common_are_refused(select: list[str], message: str) -> None:
    keys = {"embeddings": [[1, 0], [0, 1]], "w_q": [[1, 0], [0, 1]]}
    with pytest.raises(AttnError) as raised:
        text(keys, keys, select=select)
    assert str(raised.value).startswith(message)
