"""Mask expressions: what `~`, `&`, `|` and parentheses mean, how they are written, and where an error is."""

import json
import pickle
import random
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.engine.blocks import key_bounds
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.engine.tiles import key_tiles
from attncli.io.problem_text import problem_json, problem_yaml
from attncli.ops.masks import bounds_of_all, bounds_of_any, bounds_of_others, bounds_of_table
from attncli.ops.records import KeyBounds
from attncli.plan.build import plan_of
from attncli.problem.mask_expressions import MaskExpression, MaskPart, is_mask_expression, parse_mask
from attncli.render.objects import problem_object
from tests.arrays import normal
from tests.problems import problem, write_file

N, M, PAST = 7, 11, 4  # queries, keys, cached keys among these: query i is at key i + 4
IDS = [0, 0, 0, 1, 1, 1, 1, 2, 2, 0, 2]
LENGTHS = [3, 6, 2]
TABLE = [[int((3 * i + 5 * j) % 4 > 0) for j in range(M)] for i in range(N)]

# Each leaf, and whether the query at position p, number i, sees key j: worked out without arrays.
LEAVES: Mapping[str, Callable[[int, int, int], bool]] = {
    "causal": lambda p, i, j: j <= p,
    "window:left=2,right=1": lambda p, i, j: p - 2 <= j <= p + 1,
    "window:left=0,right=inf": lambda p, i, j: j >= p,
    "prefix:size=3": lambda p, i, j: j in (0, 1, 2),
    "chunked:size=3": lambda p, i, j: [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3][j] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3][p],
    "block:size=4": lambda p, i, j: "00001111222"[j] == "00001111222"[p],
    "block:size=2,around=1": lambda p, i, j: abs(int("00112233445"[j]) - int("00112233445"[p])) < 2,
    "dilated:step=3": lambda p, i, j: abs(p - j) in (0, 3, 6, 9),
    "global:tokens=0 5": lambda p, i, j: p == 5 or j == 5 or p == 0 or j == 0,
    f"document:ids={' '.join(map(str, IDS))}": lambda p, i, j: IDS[p] == IDS[j],
    "document:lengths=3 6 2": lambda p, i, j: "00011111122"[p] == "00011111122"[j],
    str(TABLE): lambda p, i, j: TABLE[i][j] == 1,
}
Seen = Callable[[int, int, int], bool]


def random_expression(stream: random.Random, depth: int = 0) -> tuple[str, Seen]:
    """The text of an expression, with more parentheses than it needs at times, and what it means."""
    kind = stream.choice(["leaf", "not", "and", "or"] if depth < 3 else ["leaf"])
    if kind == "leaf":
        return stream.choice(list(LEAVES.items()))
    if kind == "not":
        text, seen = random_expression(stream, depth + 1)
        return f"~({text})", lambda p, i, j: not seen(p, i, j)
    parts = [random_expression(stream, depth + 1) for _ in range(stream.choice([2, 3]))]
    every = all if kind == "and" else any
    text = f" {'&' if kind == 'and' else '|'} ".join(f"({text})" for text, _ in parts)
    return text, lambda p, i, j: every(seen(p, i, j) for _, seen in parts)


def by_hand(seen: Seen) -> np.ndarray:
    """Which keys each query sees, in loops."""
    return np.array([[seen(i + PAST, i, j) for j in range(M)] for i in range(N)])


ARRAYS = {"query": normal(N, 5), "key": normal(N, 5), "value": normal(N, 3)}
CACHED = {**ARRAYS, "past_key": normal(PAST, 5), "past_value": normal(PAST, 3)}


def visible_of(mask: Any, **keys: Any) -> np.ndarray:
    """Which keys each query sees by a mask."""
    found = attncli.Problem(**{**CACHED, "mask": mask, **keys}).compute("visible").trace["visible"].value
    return np.broadcast_to(found, (*found.shape[:-2], N, M))


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_leaf_alone_means_what_a_loop_says(leaf: str) -> None:
    np.testing.assert_array_equal(visible_of(f"({leaf})"), by_hand(LEAVES[leaf]))


@pytest.mark.parametrize("seed", range(200))
def test_an_expression_means_what_a_loop_says(seed: int) -> None:
    text, seen = random_expression(random.Random(seed))
    expected = by_hand(seen)
    np.testing.assert_array_equal(visible_of(text), expected)
    spec = problem(**CACHED, mask=text)
    if isinstance(spec.mask, MaskExpression):  # what is written is read as the same
        np.testing.assert_array_equal(visible_of(str(spec.mask)), expected)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a | b & c", "a | (b & c)"),
        ("~a & b", "(~a) & b"),
        ("~a | b", "(~a) | b"),
        ("~(a | b) & ~~c", "(~(a | b)) & (~(~c))"),
        ("a & (b & (c & d)) | e", "((a & b) & c & d) | e"),
        ("  a&b|c ", "a & b | c"),
        ("document:ids=0 0 1&causal", "(document:ids=0 0 1) & (causal)"),
        ("m.npz#mask[0:2, 1:3] & [[1, 0]]", "(m.npz#mask[0:2, 1:3]) & ([[1, 0]])"),
        ("~/mask.csv & ~a", "(~/mask.csv) & (~a)"),
    ],
)
def test_the_opposite_comes_before_and_and_that_before_or(text: str, meaning: str) -> None:
    def shape(part: MaskPart) -> Any:
        return (part.sign, *map(shape, part.parts)) if isinstance(part, MaskExpression) else part.value

    assert shape(parse_mask(text)) == shape(parse_mask(meaning))


@pytest.mark.parametrize("text", ["causal", "a.csv", "~/a.csv", "1 0; 0 1", "[[1, 0]]", "m.npz#a[0:2]", "mine:own"])
def test_a_text_without_signs_is_no_expression(text: str) -> None:
    assert not is_mask_expression(text)


ERRORS = {
    "causal & (prefix:size=2": "column 24: the ( of column 10 is not closed; add )",
    "causal & prefix:size=2)": "column 23: there is no ( before this ); leave it out, or add (",
    "causal &": "column 9: expected a mask, found the end",
    "| causal": "column 1: expected a mask, found '|'",
    "causal && prefix:size=2": "column 9: expected a mask, found '&'; write one &",
    "causal & ()": "column 11: expected a mask, found ')'",
    "causal (prefix:size=2)": "column 8: expected & or |, found '('",
    "(causal prefix:size=2": "column 22: the ( of column 1 is not closed; add )",
    "(causal) window": "column 10: expected & or |, found 'window'",
    "causal ~window": "column 8: expected & or |, found '~'",
    "~causal and prefix:size=2": "column 9: 'and' is not a sign; write &",
    "causal or ~a": "column 8: 'or' is not a sign; write |",
    "~": "column 2: expected a mask, found the end",
    "causl & prefix:size=2": "column 1: 'causl' is neither an array nor a mask; did you mean 'causal'?",
    "causal & prefix:size=-1": "column 10, prefix, size: -1 is out of range; expected 0 or more",
    "causal & prefix": "column 10: prefix needs size; for example prefix:size=2",
    "~dilated:stp=2": "column 2: unknown parameter of dilated 'stp'; did you mean 'step'?",
    "causal | document:ids=0 1": "column 10: ids has 2 numbers (m); past_key has 4 rows (p), key has 7 rows (k)",
    "causal | global:tokens=11": "column 10, tokens: there is no key 11; expected 0 to 10",
    "causal | document": "column 10: document needs ids or lengths; for example document:ids=0 0 1 1 1",
    "causal | document:ids=0 1 1/2 0": "column 10, document, ids: 0.5 is not a whole number from 0",
    f"causal | {[[1] * 12]}": "column 10: mask has 12 keys (m)",
    "causal | [[2]]": "column 10: 2 is neither",
    "causal | key_mask": "column 10: key_mask needs key_mask, which is not given",
    "(" * 120 + "causal" + ")" * 120: "column 102: more than 100 nested ( or ~",
}


@pytest.mark.parametrize(("text", "message"), ERRORS.items(), ids=range(len(ERRORS)))
def test_an_error_names_the_column_where_the_expression_is_not_understood(text: str, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**CACHED, mask=text)
    assert str(caught.value).startswith(f"mask, {message}")


def test_an_error_names_the_column_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    file = write_file(tmp_path, "query: [[1]]\nkey: [[1]]\nvalue: [[1]]\nmask: causal & no.csv\n")
    with pytest.raises(AttnError, match=r"mask, column 10, .*no\.csv: there is no such file$"):
        attncli.load(file)


TEXT = "causal & (window:left=3,right=0 | ~prefix:size=4) & document:ids=0 0 0 0 1 1 1 1 1 2 2"


def test_an_expression_is_written_as_it_is_read(tmp_path: Path) -> None:
    made = attncli.Problem(**CACHED, mask=TEXT)
    assert str(made.mask) == TEXT
    assert repr(made.mask) == f"MaskExpression({TEXT!r})"
    assert TEXT in made._repr_html_().replace("&amp;", "&")
    for name, write in (("p.yaml", problem_yaml), ("p.json", problem_json)):
        (tmp_path / name).write_text("".join(write(made.spec)), encoding="utf-8")
        again = attncli.load(tmp_path / name)
        assert str(again.mask) == TEXT
        np.testing.assert_array_equal(again.compute("visible").visible, made.compute("visible").visible)
    assert json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))["mask"] == TEXT
    assert problem_object(made.compute("visible").trace)["mask"] == TEXT


def test_a_table_is_written_with_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "allowed.csv").write_text("1,0,1\n", encoding="utf-8")
    (tmp_path / "p.yaml").write_text(
        "{query: [[1]], key: [[1], [2], [3]], mask: ~causal | allowed.csv}", encoding="utf-8"
    )
    assert str(attncli.load(tmp_path / "p.yaml").mask) == "~causal | [[1, 0, 1]]"


def test_parentheses_are_written_where_they_are_needed() -> None:
    for text in ("causal & (prefix:size=2 | dilated:step=2)", "~(causal & prefix:size=2)", "~~causal | prefix:size=2"):
        assert str(problem(**CACHED, mask=text).mask) == text
    assert str(problem(**CACHED, mask="global:tokens=3 & causal").mask) == "global:tokens=[3] & causal"
    assert str(problem(**CACHED, mask="((~causal) | (prefix:size=2))").mask) == "~causal | prefix:size=2"


def test_a_problem_with_an_expression_can_be_pickled() -> None:
    spec = problem(**CACHED, mask=TEXT)
    again = pickle.loads(pickle.dumps(spec))
    assert str(again.mask) == TEXT
    assert again.signature == spec.signature


def test_problems_that_differ_in_numbers_share_a_plan_and_not_a_mask() -> None:
    one, other = (
        {"mask": f"causal | document:ids={ids}"} for ids in ("0 0 0 0 1 1 1 1 1 1 1", "0 0 0 0 1 1 1 1 1 1 0")
    )
    assert problem(**CACHED, **one).signature == problem(**CACHED, **other).signature
    assert (visible_of(**one) != visible_of(**other)).any()
    assert problem(**CACHED, mask="causal | prefix:size=2").signature != problem(**CACHED, **one).signature
    swapped = [problem(**CACHED, mask=f"causal {sign} prefix:size=2").signature for sign in "&|"]
    assert swapped[0] != swapped[1]


def test_an_expression_has_no_cells_to_set() -> None:
    with pytest.raises(AttnError, match=r"mask is ~causal \| prefix:size=2, which has no cells"):
        attncli.Problem(**CACHED, mask="~causal | prefix:size=2").set({"mask[0,0]": 1})


def test_the_parts_of_an_outer_and_are_rules_of_their_own() -> None:
    spec = problem(**CACHED, causal=True, mask="(causal | prefix:size=2) & ~dilated:step=2 & causal")
    rules = plan_of(spec)["visible"].inputs
    assert list(rules) == ["any", "not_dilated", "causal_2", "causal_3"]
    assert rules["any"] == "visible_by_any"


# Documents


def test_documents_are_each_document_alone() -> None:
    """Also where positions begin anew in each, which those of rope do not by themselves: they are relative."""
    lengths = [5, 1, 8, 3]
    n = sum(lengths)
    arrays = {name: normal(2, n, 8, seed=at) for at, name in enumerate(("query", "key", "value"))}
    ids = " ".join(str(number) for number, length in enumerate(lengths) for _ in range(length))
    starts = np.cumsum([0, *lengths])
    restarted = np.concatenate([np.arange(length) for length in lengths])
    for more in ({}, {"positions": restarted}):
        for mask in (f"document:ids={ids} & causal", f"causal & document:lengths={' '.join(map(str, lengths))}"):
            whole = attncli.attention(**arrays, mask=mask, position="rope", heads=2, **more).output
            for first, end in pairwise(starts):
                own = {name: array[:, first:end] for name, array in arrays.items()}
                alone = attncli.attention(**own, causal=True, position="rope", heads=2).output
                np.testing.assert_allclose(whole[:, first:end], alone, rtol=0, atol=1e-12)


def test_documents_with_positions_that_begin_anew_are_each_document_alone() -> None:
    """Of positions that are added; without them those of the second document go on."""
    x, projections = normal(7, 8), {f"w_{name}": normal(8, 8, seed=at) for at, name in enumerate("qkv")}
    keys = {"position": "sinusoidal", **projections}
    packed = {"embeddings": x, "mask": "causal & document:ids=0 0 0 1 1 1 1", **keys}
    alone = attncli.Problem(embeddings=x[3:], causal=True, **keys).compute("output").output
    reset = attncli.Problem(**packed, positions=[0, 1, 2, 0, 1, 2, 3]).compute("output").output
    np.testing.assert_allclose(reset[3:], alone, rtol=0, atol=1e-12)
    assert abs(attncli.Problem(**packed).compute("output").output[3:] - alone).max() > 1e-3


def test_masks_that_count_from_the_first_key_are_not_combined_with_packed_sequences() -> None:
    for mask in ("causal | prefix:size=2", "document:lengths=7", "~global:tokens=1"):
        with pytest.raises(AttnError, match="counts from the first key, not from each sequence's first"):
            problem(**ARRAYS, mask=mask, cu_seqlens=[0, 3, 7])


def test_documents_are_packed_sequences() -> None:
    arrays = {name: normal(9, 6, seed=at) for at, name in enumerate(("query", "key", "value"))}
    by_ids = attncli.attention(**arrays, mask="causal & document:ids=0 0 0 0 1 1 2 2 2").output
    packed = attncli.attention(**arrays, causal=True, cu_seqlens=[0, 4, 6, 9]).output
    np.testing.assert_allclose(by_ids, packed, rtol=0, atol=1e-12)


def test_documents_keep_their_ids_in_types_of_few_digits() -> None:
    ids = [*range(2046, 2053)]  # of which float16 and bfloat16 have not all
    arrays = {"query": normal(7, 2), "key": normal(7, 2)}
    for dtype in ("float16", "bfloat16"):
        mask = f"document:ids={' '.join(map(str, ids))}"
        visible = attncli.attention(**arrays, mask=mask, dtype=dtype, select="visible").visible
        np.testing.assert_array_equal(visible, np.eye(7, dtype=bool))


# Blocks


@pytest.mark.parametrize("seed", range(100))
def test_bounds_that_are_combined_hide_nothing_that_is_seen(seed: int) -> None:
    """Of some queries: no key outside them is seen by any, every key inside them by all, none in their gap."""
    stream = np.random.default_rng(seed)
    visible, bounds = zip(*(_table_with_bounds(stream) for _ in range(3)), strict=True)
    rules = dict(zip("abc", bounds, strict=True))
    assert_bounds(np.logical_and.reduce(visible), bounds_of_all(M, **rules))
    assert_bounds(np.logical_or.reduce(visible), bounds_of_any(M, **rules))
    assert_bounds(~visible[0], bounds_of_others(M, a=bounds[0]))
    both = bounds_of_any(M, a=bounds[0], b=bounds[1])
    assert_bounds((visible[0] | visible[1]) & visible[2], bounds_of_all(M, ab=both, c=bounds[2]))
    assert_bounds(~(visible[0] | visible[1]), bounds_of_others(M, ab=both))
    inner = bounds_of_others(M, ab=both)
    assert_bounds(~(visible[0] | visible[1]) | visible[2], bounds_of_any(M, x=inner, c=bounds[2]))


def _table_with_bounds(stream: np.random.Generator) -> tuple[np.ndarray, KeyBounds]:
    """A random table of visible keys, some of them for all queries, and its bounds."""
    first, end = sorted(stream.integers(0, M + 1, 2))
    inside = (np.arange(M) >= first) & (np.arange(M) < end)
    visible = inside & (stream.random((2, M)) < stream.choice([0.5, 0.9, 1]))
    return visible, bounds_of_table(visible)


def assert_bounds(visible: np.ndarray, bounds: KeyBounds) -> None:
    """What bounds say of a table is so."""
    keys = np.arange(M)
    (first, end), (low, high), (start, stop) = bounds.any_visible, bounds.all_visible, bounds.gap
    assert not visible[:, (keys < first) | (keys >= end)].any()
    assert visible[:, (keys >= low) & (keys < high)].all()
    assert not visible[:, (keys >= start) & (keys < stop)].any()


def test_keys_between_a_prefix_and_a_window_are_skipped() -> None:
    spec = problem(query=normal(400, 4), key=normal(400, 4), mask="causal & (window:left=9,right=0 | prefix:size=3)")
    plan = plan_of(spec)
    values = run(spec, ("visible",), every_step=True).trace
    rows = slice(300, 310)
    arrays = {name: values[name].value for name in ("key_positions",)}
    arrays["query_positions"] = values["query_positions"].value[rows]
    bounds = key_bounds([node for node in plan.nodes if node.stage == "mask"], arrays, 400)
    assert (bounds.any_visible, bounds.gap) == ((0, 310), (3, 291))
    assert [(tile.first, tile.end) for tile in key_tiles(bounds, 128, 64)] == [(0, 64), (256, 310)]


@pytest.mark.parametrize("seed", range(40))
def test_blocks_skip_nothing_that_is_seen(seed: int) -> None:
    """In tiles and in whole rows, of few queries and keys."""
    text, _ = random_expression(random.Random(1000 + seed))
    dense = run(problem(**CACHED, mask=text), ("weights", "output"), every_step=True).trace
    sizes = BlockSizes(dense_cells=0, tile_cells=6, rows=2, masked_rows=2, row_cells=22, min_unmasked_keys=1)
    for select in (("output",), ("weights", "output")):
        blocks = run(problem(**CACHED, mask=text), select, options=RunOptions(sizes=sizes)).trace
        for name in select:
            np.testing.assert_allclose(blocks[name].value, dense[name].value, rtol=0, atol=1e-14)
