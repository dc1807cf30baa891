"""Cells worked out by hand: which one is chosen, and lines of arithmetic that are true."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli import attention
from attncli.base.axes import LEGEND
from attncli.engine.run import run
from attncli.io import examples
from attncli.ops import operators
from attncli.plan.trace import RunResult
from attncli.render.by_hand import cell_lines, worked_positions
from attncli.render.document import Section
from attncli.render.view import Cell, View
from tests.arrays import normal
from tests.equations import Count, assert_equations_hold
from tests.problems import PROBLEMS, problem
from tests.render.explanations import explained, result_of


def weighted(weights: Any, **view: Any) -> View:
    """A view of a problem with these weights [… n m]: the scores are the weights."""
    weights = np.array(weights, dtype=float)
    *leading, _, m = weights.shape
    keys = np.broadcast_to(np.eye(m), (*leading, m, m))
    return View(attention(weights, keys, score="dot", normalize="none"), **view)


def cells(view: View) -> list[tuple[int, ...]]:
    """The positions of the worked cells on the axes of the weights."""
    axes = view.result.trace["weights"].axes
    return [tuple(at[letter] for letter in axes) for at in worked_positions(view)]


TABLE = np.array([[[[0.1, 0.9], [0.3, 0.7]], [[0.2, 0.8], [0.6, 0.4]]]])  # 1 batch item, 2 heads


def test_the_cell_is_in_the_head_of_the_view() -> None:
    assert cells(weighted(TABLE, positions={"h": 1})) == [(0, 1, 0, 0)]


ASKED = {
    "one": ((Cell(1, 0),), [(1, 0)]),
    "several in their order": ((Cell(1, 0), Cell(0, 1)), [(1, 0), (0, 1)]),
    "a row": ((Cell(1, None),), [(1, 0), (1, 1)]),
    "a column": ((Cell(None, 1),), [(0, 1), (1, 1)]),
    "all": ((Cell(),), [(0, 0), (0, 1), (1, 0), (1, 1)]),
    "each once": ((Cell(0, 1), Cell(0, None)), [(0, 1), (0, 0)]),
}


@pytest.mark.parametrize(("asked", "expected"), ASKED.values(), ids=ASKED)
def test_the_cells_that_are_asked_for_are(asked: tuple[Cell, ...], expected: list[tuple[int, int]]) -> None:
    assert cells(weighted(TABLE[0, 0], cells=asked)) == expected
    every_head = weighted(TABLE, cells=asked, expanded_axes=frozenset("h"))
    assert cells(every_head) == [(0, head, *pair) for head in (0, 1) for pair in expected]


DEEP = pytest.mark.deep
PARTS = [
    pytest.param(part, id=f"{name}-{part.title or 'whole'}")
    for name in examples.names()
    for part in examples.load(name).parts
]
TUTORIAL = examples.load("tutorial").parts


def by_name(result: RunResult, **view: Any) -> dict[str, Section]:
    """The sections of an explanation whose sums are written whole, by the name of the step."""
    return explained(View(result, **{"explain": True, "max_terms": None, **view}))


def corners(result: RunResult) -> tuple[Cell, ...]:
    """The first cell, the first of the last row, the last one, and one in the middle."""
    rows, columns = (len(result.trace.labels[letter]) for letter in "nm")
    cells = [(0, 0), (rows - 1, 0), (rows - 1, columns - 1), (rows // 2, columns // 2)]
    return tuple(Cell(*cell) for cell in dict.fromkeys(cells))


def lines(result: RunResult, decimals: int = 4, **view: Any) -> list[str]:
    """The lines of some cells, each once."""
    shown = by_name(result, **{"cells": corners(result), "decimals": decimals, **view}).values()
    return list(dict.fromkeys(line for section in shown for line in section.arithmetic))


def check(result: RunResult, decimals: int = 4) -> Count:
    """How many lines hold; all of them do."""
    return assert_equations_hold(lines(result, decimals), decimals, result.trace.precision.name)


@pytest.mark.parametrize("part", PARTS)
def test_every_line_of_the_examples_holds(part: examples.Part) -> None:
    assert check(run(part.problem), 4).equal


@pytest.mark.parametrize("decimals", [4, 8])
@pytest.mark.parametrize("part", TUTORIAL, ids=lambda part: part.title)
def test_no_line_of_the_tutorial_holds_only_nearly(part: examples.Part, decimals: int) -> None:
    assert check(run(part.problem), decimals).near == 0


D, E, A = 3, 5, 4
PARAMETERS = {
    "general": {"w": normal(D, D)},
    "additive": {
        "w1": normal(D, A),
        "w2": normal(D, A, seed=1),
        "v": normal(A),
        "b": normal(A, seed=1),
        "activation": "sigmoid",
    },
    "location": {"w": normal(D, 5)},
    "topk": {"k": 2},
    "attentional": {"w": normal(E + D, A)},
    "softmax": {"temperature": 0.7},
    "cosine": {"beta": 2.5},
    "gaussian": {"sigma": 1.3},
    "entmax": {"alpha": 1.3},
    "sigmoid": {"shift": -0.5},
}


@pytest.mark.parametrize(
    ("score", "normalize", "turn"),
    [
        pytest.param(score, normalize, i // 2 + j, marks=() if (i + j) % 4 == 0 else DEEP)
        for i, score in enumerate(operators("score"))
        for j, normalize in enumerate(operators("normalize"))
    ],
)
def test_every_line_of_every_pipeline_holds(score: str, normalize: str, turn: int) -> None:
    """Each pair has one of the contexts that take it, in turn."""
    is_distribution = operators("normalize")[normalize].is_distribution
    contexts = [name for name, row in operators("context").items() if is_distribution or not row.needs_distribution]
    stages: dict[str, Any] = {
        stage: {name: PARAMETERS[name]} if name in PARAMETERS else name
        for stage, name in (("score", score), ("normalize", normalize), ("context", contexts[turn % len(contexts)]))
    }
    check(attncli.attention(normal(3, 2 * D), normal(5, 2 * D), normal(5, 2 * E), heads=2, scale=0.5, **stages))


PRECISIONS = [(None, 2), ("float16", 4), (None, 5), ("bfloat16", 6), (None, 0), ("float32", 6), (None, 8)]
# Each problem at one precision, in turn, in two cells, of vectors of more than 13 numbers the first one; deep at two
# more, whole, in four cells.
AT_PRECISIONS = [
    pytest.param(name, *precision, *((slice(None), None) if turn else (slice(number % 2, None, 2), 13)),
                 marks=DEEP if turn else ())
    for number, name in enumerate(PROBLEMS)
    for precision, turn in zip(PRECISIONS, [(number + at) % 7 for at in range(7)], strict=True)
    if turn in (0, 1, 3)
]  # fmt: skip


# What is called by its name where it is projected.
PROJECTED = {"query", "key", "value", "projected_gate", "output", "query_latent", "kv_latent", "rope_key"}
PROJECTED |= {"index_query", "index_key", "index_weights"}


@pytest.mark.parametrize(("name", "dtype", "decimals", "cells", "max_terms"), AT_PRECISIONS)
def test_every_line_of_every_problem_holds(
    name: str, dtype: str | None, decimals: int, cells: slice, max_terms: int | None
) -> None:
    """A row in them has the symbol of its array, not the letter of an axis."""
    result = result_of(name, dtype)
    found = lines(result, decimals, cells=corners(result)[cells], max_terms=max_terms)
    assert assert_equations_hold(found, decimals, result.trace.precision.name) != Count()
    names = {symbol for line in found for symbol in re.findall(r"(\w+\u0302?\w*)\((?:query|key|token)_\d+\)", line)}
    assert names - PROJECTED <= {step.symbol for step in result.trace}
    assert not names & set(LEGEND)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([-9, -4, -2, 0, 1, 3, 8]),
    st.sampled_from([-6, 0, 4]),
    st.sampled_from(["dot", "scaled_dot", "cosine", "euclidean", "gaussian", "laplacian"]),
    st.sampled_from(["softmax", "sparsemax", "entmax", "softmax1", "hardmax", "sum", "none"]),
    st.integers(0, 10),
)
def test_every_line_of_huge_and_tiny_numbers_holds(
    seed: int, exponent: int, of_values: int, score: str, normalize: str, decimals: int
) -> None:
    random = np.random.default_rng(seed)
    x, value = random.normal(size=(3, 2)) * 10.0**exponent, random.normal(size=(3, 2)) * 10.0**of_values
    check(attncli.attention(x, x, value, score=score, normalize=normalize), decimals)


@pytest.mark.parametrize("part", PARTS)
def test_the_last_number_of_a_step_s_lines_is_in_its_table(part: examples.Part) -> None:
    """But for the sum of the weights, which is 1."""
    result, checked = run(part.problem), 0
    for section in by_name(result).values():
        worked = [line for line in section.arithmetic if not line.startswith("Σⱼ Aᵢⱼ")]
        if not worked or not section.grids or section.grids[0].signs is not None:
            continue
        cells = {text.strip().rstrip("0").rstrip(".") or "0" for row in section.grids[0].cell_texts(4) for text in row}
        last = re.split(r" [=≈] |: ", worked[-1])[-1].strip("[]").replace("−", "-").split()
        for number in last if re.match(r"[-\d]", last[0]) else ():
            assert (number.rstrip("0").rstrip(".") if "." in number else number) in cells, (section.title, worked)
            checked += 1
    assert checked


def test_small_weights_are_written_as_in_their_table() -> None:
    x = np.array([[0.0], [-11.0]])
    shown = by_name(attncli.attention([[1.0]], x, [[1.0], [2.0]], score="dot"), cells=(Cell(0, 1),))
    (weights,) = shown["weights"].grids
    assert weights.cell_texts(4) == [["1.0000", "0.0000"]]
    assert shown["weights"].arithmetic[-1] == "Σⱼ Aᵢⱼ = 1.0000 + 0.0000 = 1.0000"
    assert shown["context"].arithmetic == ("C(query_1)[e1] = 1.0000·1 + 0.0000·2 = 1.0000",)


def test_of_a_wide_result_the_first_number_is_worked_out_and_all_of_them_when_asked_for() -> None:
    x = normal(2, 9)
    result = attncli.attention(x, x, score="dot", normalize="none")
    short, whole = (by_name(result, max_terms=limit)["context"].arithmetic for limit in (12, None))
    assert re.match(r"C\(query_\d\)\[e1\] = \S+·\S+ \+ \S+·\S+ = \S+$", short[0])
    assert re.match(r"C\(query_\d\) = \S+·\[(\S+ ){8}\S+\] \+ \S+·\[(\S+ ){8}\S+\] = \[(\S+ ){8}\S+\]$", whole[0])


@pytest.mark.parametrize(("limit", "omitted"), [(12, 88), (3, 97), (100, 0), (None, 0)])
def test_a_long_sum_counts_its_omitted_terms(limit: int | None, omitted: int) -> None:
    x = np.ones((1, 100))
    (line,) = by_name(attncli.attention(x, x, score="dot"), max_terms=limit)["scores"].arithmetic
    assert line.count("1·1") == 100 - omitted
    assert (f"… {omitted} more …" in line) == bool(omitted)
    assert line.endswith(" = 100")


def test_the_number_of_an_earlier_step_is_that_step_s_number() -> None:
    """Also where a step is rounded to a narrow type, and what follows was computed from the unrounded number."""
    shown = by_name(attncli.attention([[1.1, 2.3]], [[3.3, 0.9]], dtype="float16"))
    assert shown["dot_products"].grids[0].cell_texts(4) == [["5.6992"]]
    assert shown["scores"].arithmetic == (
        "Q(query_1)·K(key_1) = 1.0996·3.3008 + 2.3008·0.8999 = 5.7000, in float16 5.6992",
        "5.69922/√2 = 4.0300, in float16 4.0312",
    )


@pytest.mark.parametrize(
    ("keys", "title", "expected"),
    [
        ({"position": "alibi", "heads": 2}, "slopes", ["slope of head 1 = 2^(−8·2/2) = 0.0039"]),
        ({"position": "alibi", "heads": 2}, "position_bias", ["−0.0039·|1 − 0| = −0.0039"]),
        ({"score": "gaussian"}, "scores", ["‖Q(query_2) − K(key_1)‖² = (1 − 0)² + (3 − 2)² = 2", "−2/(2·1²) = −1"]),
        ({"softcap": 4.0, "score": "dot"}, "capped_scores", ["4·tanh(6/4) = 3.6206"]),
        ({"qk_norm": "rms", "score": "dot"}, "normalized_query",
         ["mean_square = (1² + 3²)/2 = 5", "size = √5 = 2.2361", "Q̂(query_2) = [1 3]/2.2361 = [0.4472 1.3416]"]),
        ({"position": "rope", "score": "dot"}, "rotated_query",
         ["angle of pair 0 = 1·10000^(−0/2) = 1", "1·cos(1) − 3·sin(1) = −1.9841", "3·cos(1) + 1·sin(1) = 2.4624"]),
        ({"normalize": "entmax", "score": "dot"}, "weights",
         ["α − 1 = 1.5 − 1 = 0.5", "μ = 0.5·11/1 = 5.5", "δ = (0.5·11 − 5.5)² = 0", "τ = 5.5 − √((1 − 0)/1) = 4.5",
          "max(0.5·6 − 4.5, 0)² = 0"]),
        ({"normalize": "relu", "score": "dot"}, "weights", ["max(6, 0) = 6"]),
        ({"normalize": "none", "score": "dot"}, "weights", ["the weight is the score: 6"]),
        ({"normalize": "hardmax", "score": "dot"}, "weights",
         ["6 is less than the largest score, 11: the weight is 0"]),
        ({"position": {"t5": {"table": [[1], [2], [3], [4], [5], [6], [7], [8]]}}, "score": "dot"}, "position_bias",
         ["distance = 0 − 1 = −1", "a bucket for each distance below 2: 1", "table[1] = 2"]),
    ],
)  # fmt: skip
def test_what_is_worked_can_be_redone(keys: dict[str, Any], title: str, expected: list[str]) -> None:
    heads = keys.get("heads", 1)
    query, key = np.array([[1.0, 0], [1, 3]]), np.array([[0.0, 2], [2, 3]])
    result = attncli.attention(np.tile(query, heads), np.tile(key, heads), **keys)
    positions = {"h": heads - 1} if heads > 1 else {}
    assert list(by_name(result, cells=(Cell(1, 0),), positions=positions)[title].arithmetic) == expected


def test_the_arithmetic_of_a_step_does_not_follow_from_the_name_of_its_stage() -> None:
    view = View(run(problem(query=[[1.0, 2.0]], key=[[3.0, 4.0]], scale=0.5)))
    step, at = view.result.trace["scores"], {"n": 0, "m": 0}
    elsewhere = replace(step, node=replace(step.node, stage="project"))
    assert cell_lines(view, elsewhere, at) == cell_lines(view, step, at) != []


@pytest.mark.parametrize(
    ("keys", "step", "expected"),
    [
        ({}, "grad_value", "dV(key_2)[e1] = 1 + 2 = 3 (over 2 heads)"),
        ({}, "grad_key", "dK(key_2)[d1] = 4 + 8 = 12 (over 2 heads)"),
        ({}, "grad_scores", "dS(query_1, key_2) is the number of dA at head 0, query query_1, key key_2: 4"),
        ({"bias": [[5.0, 6.0]]}, "grad_bias", "dB⁺(query_1, key_2) = 4 + 4 = 8 (over 2 heads)"),
        ({"position": {"alibi": {"slopes": [0.5, 0.25]}}}, "grad_position.slopes",
         "dslopes = −(3·|0 − 0| + 4·|0 − 1|) = −4"),
        ({"key_lengths": 1}, "grad_scores", "nothing of dSᵐ comes back to dS(query_1, key_2): 0"),
    ],
)  # fmt: skip
def test_sums_and_moves_of_gradients_are_worked_out(keys: dict[str, Any], step: str, expected: str) -> None:
    given = {"query": [[[[1.0]], [[2.0]]]], "key": [[[[1.0], [1.0]]]], "value": [[[[3.0], [4.0]]]]}
    spec = problem(**given, **keys, score="dot", normalize="none", grad_output=[[1.0]])
    result = run(spec, every_step=True)
    assert cell_lines(View(result), result.trace[step], {"b": 0, "h": 0, "g": 0, "n": 0, "m": 1, "k": 1}) == [expected]
