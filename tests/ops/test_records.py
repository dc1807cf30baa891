"""Records of operators: complete, true, checked when they are registered, and the rules in them."""

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attncli
from attncli.base.axes import LEGEND
from attncli.base.errors import AttnError, UnknownNameError
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops import kinds, look_up, masks, operators
from attncli.ops.records import KeyBounds, OperatorRecord, Range
from attncli.ops.registry import register
from tests.equations import assert_equations_hold
from tests.ops.recorded import lines_of
from tests.ops.values import inner_values, with_derived

EVERY = [record for kind in kinds() for record in operators(kind).values()]
STAGES = [record for record in EVERY if record.kind != "generator"]
staged = pytest.mark.parametrize("record", STAGES, ids=lambda record: record.name)


INDICES = {
    "query_positions",
    "key_positions",
    "query_rows",
    "query_sequences",
    "key_sequences",
    "positions",
    "key_lengths",
    "query_key_lengths",
    "key_mask",
}


def example(record: OperatorRecord) -> dict[str, Any]:
    """The arrays and numbers of a record's example; indices are whole numbers."""
    return {
        name: np.array(value, dtype=int if name in INDICES else float) if name in record.shapes.arrays else value
        for name, value in record.example.items()
        if name != "gives"
    }


@staged
def test_an_example_gives_its_result(record: OperatorRecord) -> None:
    np.testing.assert_allclose(record.function(**example(record)), record.example["gives"], rtol=1e-14, atol=1e-16)


@staged
def test_the_letters_of_a_record_are_in_the_legend(record: OperatorRecord) -> None:
    letters = {
        part
        for axes in (*record.shapes.arrays.values(), record.shapes.result)
        for axis in axes
        for part in axis.split("+")
    }
    assert letters <= set(LEGEND)


@staged
def test_the_arrays_of_an_example_have_the_shapes_of_the_record(record: OperatorRecord) -> None:
    lengths: dict[str, int] = {}
    given = example(record) | {"result": np.array(record.example["gives"])}
    for name, axes in {**record.shapes.arrays, "result": record.shapes.result}.items():
        if name not in given:
            continue
        assert given[name].ndim == len(axes)
        for letter, size in zip(axes, given[name].shape, strict=True):
            if "+" not in letter:
                assert lengths.setdefault(letter, size) == size


@staged
def test_every_inner_quantity_of_an_example_passes_its_tap(record: OperatorRecord) -> None:
    tapped: list[tuple[str, int]] = []

    def tap(name: str, value: np.ndarray) -> np.ndarray:
        tapped.append((name, value.ndim))
        return value

    if record.inner:
        record.function(**example(record), tap=tap)
    assert tapped == [(inner.name, len(inner.axes)) for inner in record.inner]


def first_of(value: Any, letters: tuple[str, ...], fixed: set[str]) -> Any:
    """An array at the first position on some of its axes."""
    return value[tuple(0 if letter in fixed else slice(None) for letter in letters)]


@staged
def test_the_by_hand_lines_of_an_example_hold(record: OperatorRecord) -> None:
    given = with_derived(record, {**record.defaults, **example(record)})
    result = record.function(**given)
    rows, whole = {"b", "n"}, record.kind in ("normalize", "context") or record.reads_rows
    letters = {**record.shapes.arrays, **{inner.name: inner.axes for inner in record.inner}}
    sliced = {
        name: first_of(value, letters[name], rows if whole else rows | {"m"})
        if name in letters and name not in {p.name for p in record.parameters}
        else value
        for name, value in {**given, **inner_values(record, **given)}.items()
    }
    if "heads" in record.function.__code__.co_varnames:
        sliced["heads"] = None
    answer = first_of(result, record.shapes.result, rows if record.kind == "context" else rows | {"m"})
    write = ArithmeticWriter(6, "q", [f"k{number}" for number in range(9)], 0, 0)
    if record.by_hand is None:
        lines = lines_of(record.function, write, given, (0,) * (np.ndim(result) - np.ndim(answer)))
    else:
        lines = record.by_hand(write, **sliced, result=answer)
    assert lines
    if record.kind == "mask":
        assert lines[-1].endswith(": visible" if answer else ": hidden"), "a mask's by_hand ends with verdict(…)"
    else:
        assert_equations_hold(lines, 6)


def test_an_unknown_name_suggests_the_nearest_and_is_a_key_error() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'gaussian'") as caught:
        look_up("score", "gausian")
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, AttnError)


def test_registering_a_name_twice_is_an_error_with_both_modules() -> None:
    def dot(query: Any, key: Any) -> Any:
        """Another dot."""

    with pytest.raises(AttnError, match=r"registered twice, in attncli.ops.scores and .*test_records"):
        register("score", formula="", shapes="query[n d] -> [n m]", source="", example={})(dot)


@pytest.mark.usefixtures("restored_registry")
def test_the_decorator_returns_the_function_itself() -> None:
    def lonely(query: Any) -> Any:
        """Only here."""

    record = {"formula": "0", "shapes": "query[n d] -> [n m]", "source": "this test", "example": {"gives": []}}
    assert register("score", **record)(lonely) is lonely
    assert lonely.record is operators("score")["lonely"]


@pytest.mark.parametrize(
    ("limits", "inside", "outside"),
    [(Range(above=0), [1e-9, 5], [0, -1]), (Range(least=1), [1, 2], [0.999]), (Range(), [-1e9], [float("nan")])],
)
def test_a_range_includes_its_limits_as_declared(limits: Range, inside: list[float], outside: list[float]) -> None:
    assert all(limits.holds(number) for number in inside)
    assert not any(limits.holds(number) for number in outside)


FIELDS = {"formula": "0", "shapes": "query[n d], key[m d] -> [n m]", "source": "this test", "example": {"gives": []}}


def zeros(query: Any, key: Any) -> Any:
    """Zeros."""
    return query @ key.mT * 0


def without_docstring(query: Any, key: Any) -> Any:
    return query


def of_values(query: Any, value: Any) -> Any:
    """A score that reads values."""
    return query


def with_a_text(query: Any, key: Any, *, text: str = "") -> Any:
    """A score with a text."""
    return query


def without_a_type(query: Any, key: Any, *, power=None) -> Any:  # type: ignore[no-untyped-def] # what the test is about
    """A score with something."""
    return query


def without_a_product(query: Any, key: Any, *, matmul: Any) -> Any:
    """A score that is handed how to multiply, sometimes."""
    return matmul(query, key.mT)


def with_a_number_of_that_name(query: Any, key: Any, *, tap: float = 1.0) -> Any:
    """A score with a parameter that has the name of what is handed."""
    return query * tap


def of_anything(query: Any, key: Any, **others: Any) -> Any:
    """A score that takes anything."""
    return query


@pytest.mark.parametrize("value", [3, np.add, type, len])
def test_what_is_no_function_is_no_operator(value: Any) -> None:
    with pytest.raises(AttnError, match="is not a function; write def NAME"):
        attncli.score(**FIELDS)(value)


def test_a_position_says_what_it_acts_on_in_a_known_word() -> None:
    def shifted(x: Any, positions: Any) -> Any:
        """A position."""
        return x

    fields = {**FIELDS, "shapes": "x[n d], positions[n] -> [n d]"}
    with pytest.raises(AttnError, match="can't act on 'heads'; expected embeddings, query_and_key, products, scores"):
        attncli.position(**fields, acts_on="heads")(shifted)  # what the test is about


@pytest.mark.parametrize(
    ("function", "fields", "message"),
    [
        (zeros, {"formula": ""}, "score 'zeros' in .*test_records: has no formula"),
        (zeros, {"source": ""}, "has no source"),
        (without_docstring, {}, "has no docstring"),
        (zeros, {"shapes": "query[n j] -> [n m]"}, "letters that are not in the legend: j"),
        (of_values, {}, "has an argument 'value' that no plan passes; a score gets key, key_positions, query, "),
        (with_a_text, {}, "its parameter 'text' has an unsupported type; expected int, float, bool or a Literal"),
        (without_a_type, {}, "its parameter 'power' has an unsupported type"),
        (without_a_product, {}, "the default of its keyword 'matmul' is not a function; only some calls pass"),
        (with_a_number_of_that_name, {}, "the default of its keyword 'tap' is not a function; only some"),
        (zeros, {"example": {}}, "its example has no result; add 'gives': the result"),
        (zeros, {"example": {"gives": [], "kay": 1}}, "unknown argument of its example 'kay'; did you mean 'key'"),
        (zeros, {"example": None}, "its shapes are not a text, or its example is not a mapping"),
        (zeros, {"shapes": 3}, "its shapes are not a text, or its example is not a mapping"),
        (zeros, {"shapes": ""}, r"its shapes lack 'query'; write query\[…\] in shapes="),
        (zeros, {"shapes": "query[n d] -> [n m]"}, "its shapes lack 'key'"),
        (zeros, {"shapes": "query[n d], key[m d] -> [n d]"}, r"its result has the axes \[n d\]; expected \[n m …\]"),
        (of_anything, {}, "takes any arguments; name them: parameters follow"),
    ],
)
def test_an_incomplete_record_of_this_package_is_refused(
    function: Any, fields: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "__module__", "attncli.test_records")
    with pytest.raises(AttnError, match=message):
        attncli.score(**{**FIELDS, **fields})(function)
    assert function.__name__ not in operators("score")


@pytest.mark.usefixtures("restored_registry")
def test_annotations_may_be_text_as_in_modules_that_postpone_them() -> None:
    code = """
from __future__ import annotations
from typing import Annotated, Literal
from attncli import Range, normalizer

@normalizer(formula="0", shapes="scores[n m] -> [n m]", source="this test", example={"gives": []})
def postponed(scores, *, power: Annotated[float, Range(above=0)] = 1.0, way: Literal["up", "down"] = "up",
              often: int | None = None, sure: bool = False):
    '''Postponed.'''
"""
    exec(compile(code, "postponed.py", "exec"), {"__name__": "postponed"})
    kinds = {parameter.name: str(parameter) for parameter in operators("normalize")["postponed"].parameters}
    assert kinds == {
        "power": "power: number > 0 = 1",
        "way": "way: up|down = up",
        "often": "often: integer",
        "sure": "sure: true|false = false",
    }


@pytest.mark.usefixtures("restored_registry")
def test_the_definition_is_appended_to_the_docstring() -> None:
    def plain(query: Any, key: Any) -> Any:
        """One line."""

    def indented(query: Any, key: Any) -> Any:
        """A line.

        A note:
            indented.
        """

    definition = """Definition
----------
formula       0
shapes        query[n d], key[m d] → [n m]
source        this test"""
    for function, own in ((plain, "One line."), (indented, "A line.\n\nA note:\n    indented.")):
        attncli.score(**FIELDS)(function)
        assert inspect.getdoc(function) == f"{own}\n\n{definition}"


@pytest.mark.usefixtures("restored_registry")
def test_a_mask_may_have_no_sign() -> None:
    def shifted(query_positions: Any, key_positions: Any) -> Any:
        """A mask."""

    record = attncli.mask(
        formula="0", shapes="query_positions[n], key_positions[m] -> [n m]", source="x", example={"gives": []}
    )
    assert record(shifted).record.sign is None


USUAL = {
    "score": "query[n d], key[m d] → [n m]",
    "normalizer": "scores[n m] → [n m]",
    "context": "weights[n m], value[m e] → [n e]",
    "norm": "x[n d] → [n d]",
    "query_scale": "positions[n] → [n]",
    "mask": "query_positions[n], key_positions[m] → [n m]",
}


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize(("decorator", "shapes"), USUAL.items())
def test_an_operator_of_your_own_needs_no_field(decorator: str, shapes: str) -> None:
    names = [part.partition("[")[0] for part in shapes.partition(" → ")[0].split(", ")]
    code = f"def own({', '.join(names)}, width=2.5, *, is_wide=False):\n    return {names[0]} * width"
    found: dict[str, Any] = {}
    exec(compile(code, "/some/where/mine.py", "exec"), found)
    record = getattr(attncli, decorator)(found["own"]).record
    facts = dict(record.definition)
    assert (facts["shapes"], facts["source"]) == (shapes, "mine.py, line 1")
    assert "own(" in record.formula
    assert [str(parameter) for parameter in record.parameters] == ["width: number = 2.5", "is_wide: true|false = false"]


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize(
    ("names", "acts_on"),
    [
        ("positions, features", "embeddings"),
        ("x, positions", "query_and_key"),
        ("query, query_positions, key_positions", "products"),
        ("query_positions, key_positions, heads", "scores"),
    ],
)
def test_the_arguments_of_a_position_say_what_it_acts_on(names: str, acts_on: str) -> None:
    found: dict[str, Any] = {}
    exec(f"def own({names}):\n    return None", found)
    assert attncli.position(found["own"]).record.acts_on == acts_on


positions = st.lists(st.integers(-3, 9), min_size=1, max_size=5).map(sorted).map(np.array)
sides = st.sampled_from([0, 1, 3, float("inf")])


def assert_bounds(visible: np.ndarray, bounds: KeyBounds) -> None:
    """Keys outside `any_visible` are masked for every query, keys inside `all_visible` for none."""
    keys = np.arange(visible.shape[-1])
    (first, end), (low, high) = bounds.any_visible, bounds.all_visible
    outside, inside = (keys < first) | (keys >= end), (keys >= low) & (keys < high)
    assert not visible[..., outside].any()
    assert visible[..., inside].all()


@given(positions, st.integers(1, 8))
def test_causal(query_positions: np.ndarray, count: int) -> None:
    given = {"query_positions": query_positions, "key_positions": np.arange(count)}
    assert_bounds(masks.causal(**given), masks.causal.record.key_bounds(**given))


@given(positions, st.integers(1, 8), sides, sides)
def test_window(query_positions: np.ndarray, count: int, left: float, right: float) -> None:
    given = {"query_positions": query_positions, "key_positions": np.arange(count), "left": left, "right": right}
    assert_bounds(masks.window(**given), masks.window.record.key_bounds(**given))


@given(st.lists(st.integers(0, 8), min_size=1, max_size=3), st.integers(1, 8))
def test_key_lengths(lengths: list[int], count: int) -> None:
    given = {"key_positions": np.arange(count), "key_lengths": np.array(lengths)}
    assert_bounds(masks.key_lengths(**given), masks.key_lengths.record.key_bounds(**given))


@given(st.lists(st.lists(st.integers(0, 8), min_size=3, max_size=3), min_size=1, max_size=3), st.integers(1, 8))
def test_query_key_lengths(lengths: list[list[int]], count: int) -> None:
    given = {"key_positions": np.arange(count), "query_key_lengths": np.array(lengths)}
    assert_bounds(masks.query_key_lengths(**given), masks.query_key_lengths.record.key_bounds(**given))


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=3))
def test_key_mask(rows: list[list[bool]]) -> None:
    mask = np.array(rows)
    assert_bounds(masks.key_mask(mask), masks.key_mask.record.key_bounds(mask))


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 6), st.sampled_from([0.1, 0.5, 0.95]))
def test_tables(seed: int, rows: int, columns: int, share: float) -> None:
    visible = np.random.default_rng(seed).random((rows, columns)) < share
    for rule, table in ((masks.mask_, visible), (masks.bias, np.where(visible, 0.5, -np.inf))):
        given = {"table": table, "query_rows": np.arange(rows), "key_positions": np.arange(columns + 2)}
        assert_bounds(rule(**given), rule.record.key_bounds(**given))


POSITIONS, KEYS = np.array([2, 3, 4]), np.arange(8)


@pytest.mark.parametrize(
    ("name", "given", "any_visible", "all_visible"),
    [
        ("causal", {"query_positions": POSITIONS}, (0, 5), (0, 3)),
        ("window", {"query_positions": POSITIONS, "left": 1, "right": 1}, (1, 6), (3, 4)),
        ("window", {"query_positions": POSITIONS, "left": 3, "right": 0}, (0, 5), (1, 3)),
        ("key_lengths", {"key_lengths": np.array([3, 5])}, (0, 5), (0, 3)),
    ],
)
def test_key_bounds_are_not_wider_than_needed(
    name: str, given: dict[str, Any], any_visible: tuple[int, int], all_visible: tuple[int, int]
) -> None:
    bounds = operators("mask")[name].key_bounds(key_positions=KEYS, **given)
    clipped = [tuple(np.clip(ends, 0, len(KEYS)).tolist()) for ends in (bounds.any_visible, bounds.all_visible)]
    assert clipped == [any_visible, all_visible]


def test_every_mask_has_key_bounds_unless_a_cell_depends_on_its_row() -> None:
    lacking = {name for name, record in operators("mask").items() if record.key_bounds is None}
    assert lacking == {name for name, record in operators("mask").items() if record.reads_rows}


@pytest.mark.parametrize("name", [name for name, record in operators("normalize").items() if record.online])
@pytest.mark.parametrize("cut", [1, 4, 6])
def test_two_parts_of_a_row_accumulate_to_the_weights(name: str, cut: int) -> None:
    """Each part has its own_max running maximum; then both are rescaled to the larger one."""
    scores = np.array([[0.5, -np.inf, 2.0, -1.0, 2.0, 0.25, 1.5], [-9.0, -8.0, -np.inf, -7.0, -7.5, -30.0, -2.0]])
    record = operators("normalize")[name]
    function, options, rule = record.function, record.defaults, record.online
    parts_of_scores = [scores[:, :cut].copy(), scores[:, cut:].copy()]
    largest = [np.maximum(part.max(axis=-1, keepdims=True), rule.min_running_max) for part in parts_of_scores]
    running_max = np.maximum(*largest)
    parts = []
    for part, own_max in zip(parts_of_scores, largest, strict=True):
        shown = np.where(np.isinf(own_max), 0, own_max)
        found = rule.numerator(part.copy(), shown if rule.uses_running_max else None, out=part, **options)
        parts.append(found * rule.numerator(shown, running_max, **options) if rule.uses_running_max else found)
    whole = np.concatenate(parts, axis=-1)
    total = whole.sum(axis=-1, keepdims=True) + (rule.extra_denominator(running_max) if rule.extra_denominator else 0)
    np.testing.assert_allclose(whole / total if rule.is_divided else whole, function(scores), rtol=1e-12, atol=1e-15)
