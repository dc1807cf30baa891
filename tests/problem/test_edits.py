"""Edits: which cell a text names, what else of the problem follows, and what can't be set."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli import AttnError
from attncli.ops.records import Operator
from attncli.problem.build import build
from attncli.problem.edits import Edit, EditedProblem, apply_edits, edit_problem, editable_keys, find_array, parse_edit
from attncli.problem.spec import FIELDS, ProblemSpec

X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
W = [[2, 0, 2], [2, 0, 0], [2, 1, 2]]
TOKENS = ["the", "cat", "the", "a, b"]
WORDS = {"embeddings": X, "w_q": W, "tokens": TOKENS}
HEADS = {"query": np.zeros((2, 3, 5, 7)), "key": np.zeros((2, 3, 4, 7))}
ADDITIVE = {"additive": {"w1": np.zeros((3, 2)), "w2": np.zeros((3, 2)), "v": [1, 2]}}
OUT_IN = {"embeddings": X, "w_q": np.zeros((2, 3)), "w_k": np.zeros((2, 3)), "weight_layout": "out_in"}
VOCABULARY = {
    "sentence": "the cat the dog",
    "vocabulary": {"the": [1, 0], "cat": [0, 1], "dog": [1, 1]},
}


def edited(keys: dict[str, Any], *texts: str) -> EditedProblem:
    return edit_problem(attncli.Problem(**keys).spec, list(map(parse_edit, texts)))


def array_of(spec: ProblemSpec, key: str) -> np.ndarray:
    """The array of a key, or of a parameter of an operator."""
    name, _, parameter = key.partition(".")
    value = getattr(spec, name)
    return value.given[parameter] if parameter else value


@pytest.mark.parametrize(
    ("keys", "text", "at"),
    [
        (WORDS, "w_q[0,1]=9", (0, 1)),
        (WORDS, "w_q[-1,-2]=9", (2, 1)),
        (WORDS, " w_q [ x2 , d3 ] = 9 ", (1, 2)),
        (WORDS, "w_q[1,*]=9", (1, slice(None))),
        (WORDS, "w_q[*,*]=9", (slice(None), slice(None))),
        (WORDS, "embeddings[cat,x3]=9", (1, 2)),
        (WORDS, "embeddings[the#2,x3]=9", (2, 2)),
        (WORDS, 'embeddings["a, b",0]=9', (3, 0)),
        (WORDS | {"tokens": ["3", "2", "1", "0"]}, "embeddings[3,0]=9", (0, 0)),  # a label wins over a position
        (WORDS | {"tokens": ["[a]", "b]=1", "c", "d"]}, "embeddings[b]=1,0]=9", (1, 0)),
        (WORDS | {"tokens": [" a ", "b\nc", '"', "d"]}, 'embeddings[" a ",0]=9', (0, 0)),
        (WORDS | {"tokens": [" a ", "b\nc", '"', "d"]}, "embeddings[b\nc,0]=9", (1, 0)),
        (WORDS | {"tokens": [" a ", "b\nc", '"', "d"]}, 'embeddings[",0]=9', (2, 0)),
        (WORDS | {"b_q": [1, 2, 3]}, "b_q[d2]=9", (1,)),
        (WORDS | {"w_k": W}, "w_k[x1,d2]=9", (0, 1)),  # compared with queries, so tables print d
        (WORDS | {"w_k": W, "score": "euclidean"}, "w_k[x1,d2]=9", (0, 1)),
        (WORDS | {"w_v": W}, "w_v[x1,e2]=9", (0, 1)),
        (WORDS | {"w_o": W}, "w_o[e1,o2]=9", (0, 1)),
        (WORDS | {"w_o": W}, "w_o[h·e1,o2]=9", (0, 1)),
        (WORDS | {"query_embeddings": [[1, 2, 3]]}, "query_embeddings[query_1,y2]=9", (0, 1)),
        (WORDS | {"query_embeddings": [[1, 2, 3]]}, "w_q[y1,d2]=9", (0, 1)),
        (HEADS, "query[1,2,4,d7]=9", (1, 2, 4, 6)),
        (HEADS, "query[batch item 1,head 2,query_5,d7]=9", (1, 2, 4, 6)),
        (HEADS, "key[1,head 0,key_4,d7]=9", (1, 0, 3, 6)),
        ({"query": np.zeros((1, 1, 2, 3)), "key": np.zeros((1, 1, 4, 3))}, "key[key_4,d2]=9", (0, 0, 3, 1)),
        (HEADS | {"sink": [1, 2, 3]}, "sink[head 1]=9", (1,)),
        (
            {"query": np.zeros((5, 8)), "key": np.zeros((4, 4)), "heads": 4, "kv_heads": 2, "sink": [1, 2, 3, 4]},
            "sink[head 3]=9",
            (3,),
        ),
        (HEADS | {"bias": np.zeros((3, 5, 4))}, "bias[head 2,query_1,key_4]=9", (2, 0, 3)),
        (
            {"query": np.zeros((2, 5, 7)), "key": np.zeros((2, 4, 7)), "bias": np.zeros((2, 5, 4))},
            "bias[batch item 1,0,0]=9",
            (1, 0, 0),
        ),
        ({"scores": X, "query_tokens": list("abcd"), "tokens": list("xyz")}, "scores[b,z]=9", (1, 2)),
        ({"embeddings": X, "score": ADDITIVE}, "score.w1[c1,a2]=9", (0, 1)),
        ({"embeddings": X, "score": ADDITIVE}, "score.v[a2]=9", (1,)),
        (OUT_IN, "w_q[1,2]=9", (2, 1)),  # row 1 of those stored
        (OUT_IN, "w_q[d2,x3]=9", (2, 1)),
        (OUT_IN, "w_q[x3,d2]=9", (2, 1)),  # as tables print it
        (OUT_IN, "w_q[x3,*]=9", (2, slice(None))),
        ({"query": X, "key": X, "past_key": X, "past_value": X}, "past_key[past_2,d1]=9", (1, 0)),
        ({"query": X, "key": X, "past_key": X, "past_value": X}, "key[key_2,d1]=9", (1, 0)),
    ],
)
def test_a_cell_is_named_as_tables_print_it_or_by_position(keys: dict[str, Any], text: str, at: Any) -> None:
    both = edited(keys, text)
    key = text.partition("[")[0].strip()
    before, after = array_of(both.before, key), array_of(both.after, key)
    expected = before.copy()
    expected[at] = 9
    np.testing.assert_array_equal(after, expected)
    np.testing.assert_array_equal(both.cells[0].before, before[at])


@pytest.mark.parametrize(("text", "number"), [("1/2", 0.5), ("sqrt(4)", 2), ("-1e3", -1000), ("nan", np.nan)])
def test_the_number_is_as_anywhere(text: str, number: float) -> None:
    np.testing.assert_equal(edited(WORDS, f"w_q[0,1]={text}").after.w_q[0, 1], number)


def test_several_edits_are_made_together() -> None:
    both = edited(WORDS, "w_q[0,1]=3", "w_q[*,2]=0", "embeddings[cat,x2]=1/2")
    assert both.after.w_q.tolist() == [[2, 3, 0], [2, 0, 0], [2, 1, 0]]
    assert both.after.embeddings[1].tolist() == [0, 0.5, 0]
    assert [vars(cell) for cell in both.cells] == [
        {"cell": "w_q[0,1]", "before": 0, "after": 3},
        {"cell": "w_q[*,2]", "before": [2, 0, 2], "after": 0},
        {"cell": "embeddings[cat,x2]", "before": 1, "after": 0.5},
    ]
    assert both.before.w_q.tolist() == W


def test_two_arrays_of_one_operator_are_set_together() -> None:
    after = edited({"embeddings": X, "score": ADDITIVE}, "score.w1[0,0]=3", "score.v[0]=4").after
    assert (after.score.given["w1"][0, 0], after.score.given["v"].tolist()) == (3, [4, 2])


def test_edits_that_only_fit_together_are_no_error() -> None:
    keys = {"weights": [[0, 1], [0.5, 0.5]], "value": [[1], [2]], "context": "sample"}
    assert edited(keys, "weights[0,0]=1", "weights[0,1]=0").after.weights[0].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("keys", "text", "rows"),
    [
        ({}, "mask[0,1]=0", [[True, False], [True, True]]),  # without a mask every key is visible
        ({"mask": [[1, 0], [0, 1]]}, "mask[0,1]=true", [[True, True], [False, True]]),
        ({"mask": [[1, 0]]}, "mask[all,1]=1", [[True, True]]),
        ({}, "key_mask[1]=0", [True, False]),
        ({"key_mask": [[1, 1]]}, "key_mask[token_2]=0", [[True, False]]),  # a row of a file is of a single batch item
        ({}, "bias[0,1]=-inf", [[0, -np.inf], [0, 0]]),
    ],
)
def test_masks_and_biases_are_set_also_where_there_is_none(
    keys: dict[str, Any], text: str, rows: list[list[Any]]
) -> None:
    after = edited({"embeddings": [[1, 2], [3, 4]], **keys}, text).after
    np.testing.assert_array_equal(getattr(after, text.partition("[")[0]), rows)


def test_a_mask_is_set_in_the_words_of_a_convention() -> None:
    spec = build({"query": X, "key": X, "mask": np.zeros((4, 4), bool)}, convention="torch-mha")
    both = edit_problem(spec, [parse_edit("mask[0,1]=1")])  # true hides there
    assert (both.cells[0].before, both.cells[0].after) == (0, 1)
    assert np.argwhere(~both.after.mask).tolist() == [[0, 1]]
    assert both.after.convention == spec.convention


@pytest.mark.parametrize(
    ("text", "embeddings", "vocabulary"),
    [
        ("vocabulary[the,x1]=9", [[9, 0], [0, 1], [9, 0], [1, 1]], {"the": [9, 0]}),
        ("embeddings[cat,x1]=9", [[1, 0], [9, 1], [1, 0], [1, 1]], {"cat": [9, 1]}),
        ("embeddings[the#2,x1]=9", [[1, 0], [0, 1], [9, 0], [1, 1]], {"the": [1, 0], "the#2": [9, 0]}),
    ],
)
def test_embeddings_and_the_vocabulary_they_are_looked_up_in_agree(
    text: str, embeddings: list[list[int]], vocabulary: dict[str, list[int]]
) -> None:
    after = edited(VOCABULARY, text).after
    assert after.embeddings.tolist() == embeddings
    assert after.vocabulary is not None
    assert {word: after.vocabulary[word].tolist() for word in vocabulary} == vocabulary
    assert after.key_labels == ("the", "cat", "the", "dog")


def test_arrays_that_are_drawn_are_set_after_they_have_been() -> None:
    both = edited({"token_count": 3, "dim": 2, "seed": 1, "init": "normal"}, "w_k[0,1]=3")
    assert both.after.w_k[0, 1] == 3
    np.testing.assert_array_equal(both.after.w_v, both.before.w_v)
    assert both.after.generators == both.before.generators
    assert both.after.unread == both.before.unread


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
def test_the_type_and_the_origin_stay(dtype: str) -> None:
    both = edited({"embeddings": np.array(X, dtype), "w_q": np.array(W, dtype)}, "w_q[0,1]=1/3")
    assert both.after.w_q.dtype == both.before.w_q.dtype == dtype
    assert both.after.precision == both.before.precision
    assert both.after.origins == both.before.origins


def test_nothing_is_changed_without_edits() -> None:
    spec = attncli.Problem(**WORDS).spec
    assert edit_problem(spec, []).after.w_q is spec.w_q


TABLE = {"weights": [[0, 1], [0.5, 0.5]], "value": [[1], [2]]}
ERRORS = [
    (WORDS, "wq[0,1]=3", "unknown key 'wq'"),
    (WORDS, "scale=2", "scale is one number; write --scale 2"),
    (WORDS, "causal=true", "causal is true or false; write --causal or --no-causal"),
    (WORDS, "score[0]=dot", "score is not an array of numbers; it is given by --score"),
    (WORDS, "w_q=3", "does not name a cell of w_q; write w_q[ROW,COLUMN]=X"),
    (WORDS, "w_q[0,1]", "has no number; write KEY[ROW,COLUMN]=X"),
    (WORDS, "w_q]0[=1", "does not name a cell"),
    (WORDS, "[0,1]=3", "does not name a cell; write KEY[ROW,COLUMN]=X"),
    (WORDS, "w_q[0,1]=−3", "'−3' is not a number; use a hyphen as the minus sign: -3"),
    (WORDS, "normalize.temperature=2", "where it is one number --normalize NAME:temperature=2"),
    (WORDS, "w_q[,1]=3", "a label or position is empty"),
    (WORDS, "w_q[]=3", "a label or position is empty"),
    (WORDS, "w_q[0]=3", "w_q has 2 axes, and 1 is named; write w_q[ROW,COLUMN]"),
    (WORDS, "embeddings[a, b,0]=3", "3 are named; write embeddings[ROW,COLUMN], and a label that has a comma in"),
    (WORDS, "w_q[0,3]=3", "w_q has no column 3; expected 0 to 2, or d1 to d3"),
    (WORDS, "w_q[x4,0]=3", "w_q has no row x4; expected 0 to 2, or x1 to x3"),
    (WORDS, "w_q[d1,x1]=3", "'d1' is not a row of w_q; expected 0 to 2, or x1 to x3"),
    (WORDS, "w_q[-4,0]=3", "w_q has no row -4"),
    (WORDS, "embeddings[dog,0]=3", "unknown token 'dog'; expected one of the, cat, a, b"),
    (WORDS, "embeddings[9,0]=3", "there is no position 9; positions go from 0 to 3"),
    (WORDS, "embeddings[the,0]=3", "'the' appears 2 times; say which one: the#1 is the first"),
    (WORDS, "w_q[0,1]=cat", "'cat' is not a number"),
    (WORDS, "w_q[0,1]=", "nothing follows the ="),
    (WORDS, "w_q[0,1]=1,5", "use a decimal point: 1.5"),
    (WORDS, "w_q[0,1]=true", "w_q has numbers; write 1 or 0"),
    (WORDS, "w_q[0,1]=1/0", "1/0 is not a finite number"),
    (WORDS, "scores[0,1]=3", "scores is computed; set a number of embeddings, w_q"),
    (WORDS, "output[0,1]=3", "output is computed; set a number of embeddings, w_q"),
    (HEADS, "value[0,0,0,0]=3", "value is not given; set a number of query, key"),  # the keys are the values
    (WORDS, "value[0,0]=3", "value is computed; set a number of embeddings, w_q"),
    (WORDS, "b_q[0]=3", "b_q is not given; set a number of embeddings, w_q"),
    (WORDS, "mask[0,1]=2", "2 is neither 0 nor 1"),
    (WORDS | {"mask": "window:left=1,right=0"}, "mask[0,1]=1", "mask is window:left=1,right=0, which has no cells"),
    (WORDS | {"mask": [[1, 1, 1, 1]]}, "mask[cat,1]=1", "unknown token 'cat'; expected one of all"),
    (WORDS | {"score": "gaussian"}, "score.sigma[0]=1", "score.sigma is not an array; write --score gaussian:sigma=X"),
    (WORDS | {"score": "gaussian"}, "score.w[0]=1", "unknown parameter of gaussian 'w'"),
    (WORDS, "w_q.x[0]=1", "w_q has no parameters"),
    (WORDS | {"key_lengths": [2]}, "key_lengths[0]=9", "9 is more than there are keys"),
    (WORDS | {"key_lengths": [2]}, "key_lengths[0]=1.5", "1.5 is not a whole number"),
    (TABLE, "w_q[0,1]=3", "nothing reads w_q: weights are given"),
    (TABLE, "mask[0,1]=0", "nothing reads mask: weights are given"),
    (TABLE | {"context": "sample"}, "weights[0,1]=2", "sample draws with the weights as probabilities"),
    ({"embeddings": np.ones((2, 2), np.float16)}, "embeddings[0,1]=1e6", "1e+06 is too large for float16"),
]


@pytest.mark.parametrize(("keys", "text", "message"), ERRORS, ids=[text for _, text, _ in ERRORS])
def test_what_can_not_be_set_is_an_error_that_says_what_to_do(keys: dict[str, Any], text: str, message: str) -> None:
    spec = attncli.Problem(**keys).spec
    with pytest.raises(AttnError) as caught:
        apply_edits(spec, [parse_edit(text)])
    assert caught.value.typed.startswith(f"--set {text}")
    assert message in caught.value.typed


def test_a_cell_is_set_once() -> None:
    with pytest.raises(AttnError, match=r"--set w_q\[x1,d2\]=4: is set twice"):
        edited(WORDS, "w_q[0,1]=3", "w_q[x1,d2]=4")


def test_embeddings_and_the_vocabulary_are_not_set_together() -> None:
    with pytest.raises(AttnError, match="embeddings and vocabulary are both set"):
        edited(VOCABULARY, "embeddings[cat,0]=1", "vocabulary[cat,1]=1")


def test_a_number_that_is_set_to_itself_changes_nothing(spec: ProblemSpec) -> None:
    for key in editable_keys(spec):
        array = find_array(spec, key)
        number = float(array.values[(0,) * array.values.ndim])
        after = apply_edits(spec, [Edit(key, ("0",) * array.values.ndim, number, "")])
        for name in FIELDS:
            np.testing.assert_equal(_plain(getattr(after, name)), _plain(getattr(spec, name)), err_msg=f"{key} {name}")


def _plain(value: Any) -> Any:
    """A value that can be compared: an operator by its text and its arrays."""
    return (str(value), value.arrays) if isinstance(value, Operator) else value
