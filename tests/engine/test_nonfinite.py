"""The warning on the first number that is not finite, with the cell, file and line that it came from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.problem.arrays import ArrayOrigin
from attncli.problem.fields import DEFAULT_SELECTION
from tests.arrays import normal
from tests.problems import problem, write_file

NAN, INFINITE = np.nan, np.inf
N, M, D = 3, 5, 4
ENGINES = {
    "dense": RunOptions("serial"),
    "blocks": RunOptions("serial", sizes=BlockSizes(dense_cells=0, rows=2, masked_rows=2, tile_cells=6, row_cells=7)),
}
in_every_engine = pytest.mark.parametrize("options", ENGINES.values(), ids=ENGINES)


def with_number(array: np.ndarray, index: tuple[int, ...], number: float) -> np.ndarray:
    """The array with another number at an index."""
    changed = array.copy()
    changed[index] = number
    return changed


QUERY, KEY, VALUE, ZEROS = normal(N, D), normal(M, D), normal(M, 2), np.zeros((N, M))
NAN_KEY, HEADS = with_number(KEY, (2, 1), NAN), normal(2, N, 2 * D)


def unattended(queries: str) -> str:
    """The warning of queries that see no key."""
    return f"no key is visible to {queries}: weights NaN, output NaN"


OVERFLOW = "the arithmetic overflowed, or divided by 0"


def computed_notes(**keys: Any) -> Sequence[str]:
    """The warnings of a problem whose output is computed."""
    return run(problem(**{"query": QUERY, **keys}), ("output",)).trace.notes


# The keys of a problem, the selected results, and the warnings.
CASES: dict[str, tuple[dict[str, Any], tuple[str, ...], list[str]]] = {
    "a key": ({"key": NAN_KEY}, DEFAULT_SELECTION, ["scores[query_1, key_3] is nan: from key[key_3, d2]"]),
    "the first selected result": (
        {"key": NAN_KEY},
        ("output", "weights"),
        ["output[query_1, e1] is nan: from key[key_3, d2]"],
    ),
    "weights alone": ({"key": NAN_KEY}, ("weights",), ["weights[query_1, key_1] is nan: from key[key_3, d2]"]),
    "weights alone, of heads": (
        {"query": with_number(HEADS, (1, 2, 5), NAN), "key": normal(2, M, 2 * D), "heads": 2},
        ("weights", "scores"),
        ["weights[batch item 1, head 1, query_3, key_1] is nan: from query[batch item 1, query_3, d6]"],
    ),
    "weights alone, of queries without keys": (
        {"key": KEY, "mask": [[1, 1, 0, 1, 1], [0] * M, [1] * M], "empty_rows": "nan"},
        ("weights",),
        [unattended("query_2")],
    ),
    "a key that a mask hides": ({"key": NAN_KEY, "mask": [1, 1, 0, 1, 1]}, DEFAULT_SELECTION, []),
    "a key that causal hides from the first queries": (
        {"key": NAN_KEY, "causal": True},
        DEFAULT_SELECTION,
        ["scores[query_3, key_3] is nan: from key[key_3, d2]"],
    ),
    "a value": (
        {"value": with_number(VALUE, (1, 1), -INFINITE)},
        DEFAULT_SELECTION,
        ["output[query_1, e2] is -inf: from value[key_2, e2]"],
    ),
    "a value that most queries do not see": (
        {
            "value": with_number(with_number(VALUE, (1, 1), NAN), (4, 0), NAN),
            "mask": [[1] * 4 + [0], [1] + [0] * 4, [1] * 5],
        },
        ("output",),
        ["output[query_1, e2] is nan: from value[key_2, e2]"],
    ),
    "a value of weight 0": (
        {
            "value": with_number(VALUE, (0, 0), NAN),
            "query": [[0, 9]],
            "key": np.eye(2),
            "score": "dot",
            "normalize": "hardmax",
        }
        | {"value": [[NAN, 0], [1, 2]]},
        DEFAULT_SELECTION,
        [],
    ),
    "minus infinity in a bias": ({"bias": with_number(ZEROS, (1, 2), -INFINITE)}, DEFAULT_SELECTION, []),
    "nan in a bias": (
        {"bias": with_number(ZEROS, (1, 2), NAN)},
        DEFAULT_SELECTION,
        ["weights[query_2, key_1] is nan: from bias[query_2, key_3]"],
    ),
    "infinity in a bias": (
        {"bias": with_number(ZEROS, (1, 2), INFINITE)},
        DEFAULT_SELECTION,
        ["weights[query_2, key_1] is nan: from bias[query_2, key_3], which is inf"],
    ),
    "a parameter": (
        {"score": {"general": {"w": with_number(np.eye(D), (0, 3), NAN)}}},
        DEFAULT_SELECTION,
        ["scores[query_1, key_1] is nan: from score.w[d1, c4]"],
    ),
    "a sink": ({"sink": NAN}, DEFAULT_SELECTION, ["weights[query_1, key_1] is nan: from sink[head 0]"]),
    "a sink of minus infinity": ({"sink": -INFINITE}, DEFAULT_SELECTION, []),
    "rotated features of a selected query": (
        {
            "query": with_number(HEADS, (1, 2, 5), NAN),
            "key": HEADS,
            "heads": 2,
            "only": [2],
            "position": "rope",
            "w_o": normal(8, 3),
        },
        ("output",),
        ["output[batch item 1, query_3, o1] is nan: from query[batch item 1, query_3, d6]"],
    ),
    "a key head of several query heads": (
        {"query": normal(N, 4 * D), "key": with_number(normal(M, 2 * D), (1, 5), NAN), "heads": 4, "kv_heads": 2},
        ("scores",),
        ["scores[head 2, query_1, key_2] is nan: from key[key_2, d6]"],
    ),
    "a cached key": (
        {"past_key": NAN_KEY, "past_value": KEY},
        ("output",),
        ["output[query_1, e1] is nan: from past_key[past_3, d2]"],
    ),
    "an inner quantity": (
        {"key": NAN_KEY},
        ("dot_products",),
        ["dot_products[query_1, key_3] is nan: from key[key_3, d2]"],
    ),
    "a selected input": ({"key": NAN_KEY}, ("present_key",), ["key[key_3, d2] is nan"]),
    "an overflow": (
        {"query": [[1e200]], "key": [[0], [1e200]]},
        DEFAULT_SELECTION,
        [f"scores[query_1, key_2] is inf: {OVERFLOW}"],
    ),
    "an overflow before the result": (
        {"query": [[1e200]], "key": [[0], [1e200]]},
        ("output",),
        [f"output[query_1, e1] is nan: from scores[query_1, key_2], where {OVERFLOW}"],
    ),
    "a number too large for the type": (
        {"query": [[1e5, 0]], "key": np.eye(2), "dtype": "float16"},
        ("scores",),
        ["scores[query_1, key_1] is inf: from query[query_1, d1], given as 100000, too large for float16"],
    ),
    "rows without keys that are to be NaN": (
        {"key": KEY, "mask": [[0] * 5, [1] * 5, [0] * 5], "empty_rows": "nan"},
        DEFAULT_SELECTION,
        [unattended("query_1, query_3")],
    ),
    "a value beside a row without keys": (
        {
            "key": KEY,
            "value": with_number(VALUE, (3, 1), NAN),
            "mask": [[0] * 5, [1] * 5, [0] * 5],
            "empty_rows": "nan",
        },
        ("output",),
        [
            unattended("query_1, query_3"),
            "output[query_2, e2] is nan: from value[key_4, e2]",
        ],
    ),
    "a row without keys in one head": (
        {
            "query": HEADS,
            "key": with_number(HEADS, (1, 2, 5), NAN),
            "heads": 2,
            "mask": [[[[0] * 3, [1] * 3, [1, 1, 0]], [[1, 0, 0]] * 3]],
            "empty_rows": "nan",
            "w_o": normal(8, 3),
        },
        ("output",),
        [unattended("query_1 (head 0)")],
    ),
    "largest scores and weights": (
        {"key": NAN_KEY, "normalize": "hardmax", "context": "argmax"},
        ("output",),
        ["output[query_1, e1] is nan: from key[key_3, d2]"],
    ),
}


@in_every_engine
@pytest.mark.parametrize(("keys", "select", "warnings"), CASES.values(), ids=CASES)
def test_the_first_number_that_is_not_finite_is_traced_back(
    options: RunOptions, keys: dict[str, Any], select: tuple[str, ...], warnings: list[str]
) -> None:
    result = run(problem(**{"query": QUERY, "key": KEY, **keys}), select, options=options)
    assert result.trace.notes == warnings


def test_a_score_that_overflows_to_minus_infinity_is_no_hidden_key() -> None:
    notes = run(problem(query=[[1e200]], key=[[0], [-1e200]]), ("scores",)).trace.notes
    assert notes == [f"scores[query_1, key_2] is -inf: {OVERFLOW}"]


def test_a_label_of_several_tokens_is_numbered() -> None:
    keys = {"key": NAN_KEY, "tokens": ["the", "cat", "the", "mat", "the"]}
    assert computed_notes(**keys) == ["output[query_1, e1] is nan: from key[the#2, d2]"]


YAML = """
query: [[1, 0], [0, 1]]  # line 2
key: keys.csv
value:
  - [1, 2]
  - [.inf, 4]
w_o: weights.npy
"""


@in_every_engine
@pytest.mark.parametrize(
    ("select", "warning"),
    [
        ("weights", "weights[cat, cat] is nan: from key[mat, d2] (keys.csv, line 4)"),
        ("value", "value[mat, e1] is inf (p.yaml, line 6)"),
        ("w_o", "w_o[e1, o2] is nan (weights.npy)"),
    ],
)
def test_the_warning_names_the_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: RunOptions, select: str, warning: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_file(tmp_path, "# words\n,a,b\ncat,1,2\nmat,3,nan\n", "keys.csv")
    np.save("weights.npy", [[1, NAN], [3, 4]])
    write_file(tmp_path, YAML)
    assert run(attncli.load("p.yaml").spec, (select,), options=options).trace.notes == [warning]


def test_rows_of_transposed_weights_are_those_of_their_file(tmp_path: Path) -> None:
    text = "embeddings: [[1, 2]]\nweight_layout: out_in\nw_q: [[1, 0],\n  [.nan, 1]]\n"
    path = write_file(tmp_path, text)
    assert attncli.load(path).compute(("query",)).trace.notes == [
        f"query[token_1, d2] is nan: from w_q[x1, d2] ({path}, line 4)"
    ]


def test_a_vector_of_a_vocabulary_is_in_its_file(tmp_path: Path) -> None:
    path = write_file(tmp_path, "sentence: a b\nvocabulary: {a: [1], b: [.nan]}\n")
    assert attncli.load(path).compute("output").trace.notes == [
        f"output[a, e1] is nan: from embeddings[b, x1] ({path})"
    ]


def test_the_origin_of_a_row_without_a_line_is_its_file() -> None:
    assert ArrayOrigin("a.npy").path_of_row(3) == ("a.npy",)
