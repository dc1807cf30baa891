"""The numbers that the page computes are those of the program, and every line of its arithmetic holds."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.engine.run import run
from attncli.io import examples
from attncli.io.documents import json_text
from attncli.page import page_object
from attncli.page.document import page_document, page_functions
from attncli.page.page_plans import computing_function, plan_variants
from attncli.plan.build import plan_of
from attncli.plan.graph import GRADIENT, Node
from attncli.plan.trace import Trace
from attncli.problem.edits import Edit, apply_edits
from attncli.problem.spec import ProblemSpec
from attncli.render.aligned_numbers import align_numbers
from attncli.render.rows import changed
from attncli.render.view import View
from tests.arrays import booleans, normal
from tests.equations import assert_equations_hold
from tests.problems import PROBLEMS, dense_trace, problem, steps_on_demand

TOLERANCE = 1e-12  # of the largest number of a table
STEP = 23  # one in so many cells of a step is looked at
PLAN_STEP = 23  # and one in so many plans of a page
EXAMPLES = {f"{name}: {part.title}": part.problem for name in examples.names() for part in examples.load(name).parts}
RANDOM = {name: problem(**{**keys, "dtype": "float64"}) for name, keys in PROBLEMS.items()}
SMALL = {"query": normal(2, 4, 5), "key": normal(2, 6, 5), "value": normal(2, 6, 3)}
NORMALIZERS = ("softmax1", "softmax:temperature=2", "sparsemax", "entmax", "topk:k=2", "sigmoid", "relu", "sum", "none")
WITH_GRADIENTS: Mapping[str, Mapping[str, Any]] = {
    **{
        name: PROBLEMS[name]
        for name in (
            "causal, grouped heads",
            "a cache and a window",
            "heads in the features, a cache",
            "packed sequences of tokens",
            "packed keys and values, per head, of another sequence",
            "one head, a softcap and a bias",
            "a sink in every head",
            "norms with gains of each head, before and after the context",
            "norms over all heads, a cache",
            "a gate for each head",
            "latents of queries and of keys, a part of each key shared by all heads",
            "an indexer of a query latent, whose keys are normalized",
            "given index scores",
        )
    },
    **{f"{name} and a scale": {**SMALL, "normalize": name, "scale": 0.5} for name in NORMALIZERS},
    **{
        f"{name} under a mask": {**SMALL, "score": name, "mask": booleans(4, 6)}
        for name in ("dot", "gaussian:sigma=2", "euclidean")
    },
    "location": {**SMALL, "score": {"location": {"w": normal(5, 6)}}},
    "a query scale": {
        **{"query": [[1, 0], [0.5, 1], [1, 1]], "key": [[1, 0], [0, 1]], "value": [[1], [3]]},
        "query_scale": {"ssmax": {"scale": np.array([0.5]), "bias": np.array([0.25])}},
    },
    "general": {**SMALL, "score": {"general": {"w": normal(5, 5)}}},
}


def with_gradient(keys: Mapping[str, Any]) -> ProblemSpec:
    """A problem with a gradient of each number of its output."""
    keys = {**keys, "dtype": "float64"}
    shape = plan_of(problem(**keys))["output"].shape
    return problem(**keys, grad_output=normal(*shape, seed=5))


GRADIENTS = {f"gradients of {name}": with_gradient(keys) for name, keys in WITH_GRADIENTS.items()}
ALL = {**EXAMPLES, **RANDOM, **GRADIENTS}
EDITED = {**EXAMPLES, **GRADIENTS}


def covering(specs: Mapping[str, ProblemSpec], chosen: Sequence[str] = ()) -> list[str]:
    """The chosen problems, and a few more that have every function of all, with its options and numbers of axes."""
    plans = {name: plan_of(spec).nodes for name, spec in specs.items()}
    found = {
        name: {(node.function, len(node.axes), *sorted(node.options)) for node in plan} for name, plan in plans.items()
    }
    covered = [*chosen]
    missing = set.union(*found.values()).difference(*(found[name] for name in chosen))
    while missing:
        covered.append(max(found, key=lambda name: len(found[name] & missing)))
        missing -= found[covered[-1]]
    return covered


COVERING_EDITED = covering(EDITED)
COVERING = covering(ALL, COVERING_EDITED)


@pytest.fixture(scope="module")
def scripts(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page whose scripts the tests call with the objects of other pages."""
    page = browser.new_page()
    path = tmp_path_factory.mktemp("page") / "page.html"
    content = page_object(View(run(problem(scores=[[0, 1]]), every_step=True)))
    every_function: list[Any] = [*({"function": name} for name in page_functions()), {"program": {"steps": []}}]
    path.write_text("".join(page_document({**content, "called": every_function}, "x")), encoding="utf-8")
    page.goto(path.as_uri())
    page.evaluate(Path(__file__).with_name("page_numbers.js").read_text(encoding="utf-8"))
    yield page
    page.close()


def page_text(spec: ProblemSpec) -> str:
    """The object of the page of a problem, as JSON."""
    names = (*steps_on_demand(spec), *spec.default_selection)
    return "".join(json_text(page_object(View(run(spec, names, every_step=True)))))


@cache
def page_text_of(name: str) -> str:
    """That of one of the problems of these tests."""
    return page_text(ALL[name])


def call(scripts: Any, function: str, text: str, *arguments: Any) -> Any:
    """The result of a function of page_numbers.js for the object of a page."""
    return scripts.evaluate(f"([text, ...rest]) => pageTests.{function}(JSON.parse(text), ...rest)", [text, *arguments])


def is_missing(node: Node, functions: Collection[str]) -> bool:
    """Whether the page does not have the derivative by which a gradient is computed."""
    return node.stage == GRADIENT and computing_function(node) not in functions


def assert_same(computed: Mapping[str, Any], trace: Trace, fixed: Sequence[str] = ()) -> None:
    """The page's values are those of the program, within rounding of them or of what they are computed from.

    Gradients of numbers, which the page does not compute, have no value after a change.
    """
    functions = set(page_functions())
    of_numbers = {step.name for step in trace if step.node.is_on_demand and is_missing(step.node, functions)}
    assert set(computed["fixed"]) - of_numbers == set(fixed)
    for step in trace.steps:
        if step.node.is_on_demand and step.name not in computed["values"]:
            continue  # it could not be selected: the page's own problem has none
        value = computed["values"][step.name]
        ours, theirs = np.array(value["data"], dtype=float).reshape(value["shape"]), step.value.astype(float)
        values = [theirs, *(trace[name].value for name in step.inputs.values())]  # a sum may be 0 but for rounding
        largest = max(np.abs(value[np.isfinite(value)]).max(initial=0) for value in values)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE * largest, err_msg=step.name)


@pytest.mark.parametrize("name", COVERING)
def test_everything_is_computed_from_what_is_given(scripts: Any, name: str) -> None:
    """Each problem with some of its plans in turn: with and without a causal mask and a scale, with each normalizer."""
    variants = plan_variants(ALL[name])
    plans = range(COVERING.index(name) % PLAN_STEP % len(variants), len(variants), PLAN_STEP)
    for plan, computed in zip(plans, call(scripts, "computed", page_text_of(name), list(plans)), strict=True):
        assert_same(computed, dense_trace(variants[plan].problem))


@pytest.mark.parametrize("name", COVERING)
def test_every_line_of_arithmetic_holds(scripts: Any, name: str) -> None:
    """In some cells, more of them of an example; each number leads to the cell that it stands in."""
    found = call(scripts, "arithmetic", page_text_of(name), 3 if name in EXAMPLES else STEP)
    assert found["faults"] == []
    assert set(found["without"]) <= {"count", "reshape", "selected_positions", "position_count", "last_position_count"}
    assert assert_equations_hold(found["lines"], 4).equal


@pytest.mark.parametrize("name", COVERING)
def test_no_other_cells_make_a_cell(scripts: Any, name: str) -> None:
    assert call(scripts, "cellsWithOtherSources", page_text_of(name), STEP) == []


@pytest.mark.parametrize("name", COVERING_EDITED)
def test_what_follows_from_edited_numbers(scripts: Any, name: str) -> None:
    """The last number of every array that can be edited is another one."""
    text = page_text_of(name)
    edited = [node for node in json.loads(text)["nodes"] if node["edit_key"] is not None]
    numbers = [[node["name"], int(np.prod(node["shape"])) - 1, 0.375 + at] for at, node in enumerate(edited)]
    edits = [
        Edit(node["edit_key"], ("-1",) * len(node["shape"]), number[2], "the test")
        for node, number in zip(edited, numbers, strict=True)
    ]
    assert edits
    assert_same(call(scripts, "changed", text, {}, numbers), dense_trace(apply_edits(EDITED[name], edits)))


SETTINGS: list[tuple[str, dict[str, float], dict[str, float]]] = [
    ("softmax", {"temperature": 2.0}, {"temperature": 0.25}),
    ("topk", {"k": 2}, {"k": 3}),
    ("sigmoid", {"shift": 1.0}, {"shift": -2.5}),
    *(("entmax", {"alpha": 1.7}, {"alpha": alpha}) for alpha in (1.0, 1.001, 1.25, 1.5, 2.0, 3.0)),
]


@pytest.mark.parametrize(("normalizer", "before", "after"), SETTINGS)
def test_what_follows_from_settings(
    scripts: Any, normalizer: str, before: dict[str, float], after: dict[str, float]
) -> None:
    keys = {**SMALL, "mask": booleans(4, 6), "grad_output": [[1, 2, -1]]}
    text = page_text(problem(**keys, normalize={normalizer: before}, scale=0.5))
    expected = dense_trace(problem(**keys, normalize={normalizer: after}, scale=-1.5))
    assert_same(call(scripts, "changed", text, {**after, "scale": -1.5}, []), expected)


def test_rows_with_ties_and_hidden_keys_by_every_normalizer(scripts: Any) -> None:
    spec = problem(scores=[[2, 2, -1], [0, -np.inf, 0], [-np.inf] * 3, [1, 1, 1]], value=normal(3, 2))
    variants = plan_variants(spec)
    assert {variant.choices.normalizer for variant in variants} >= {"softmax", "sparsemax", "entmax", "hardmax", "topk"}
    found = call(scripts, "computed", page_text(spec), list(range(len(variants))))
    for computed, variant in zip(found, variants, strict=True):
        assert_same(computed, dense_trace(variant.problem))


@pytest.mark.usefixtures("restored_registry")
def test_what_the_page_cannot_compute_is_missing(scripts: Any) -> None:
    @attncli.normalizer(
        formula="Aᵢⱼ = Sᵢⱼ²", shapes="scores[n m] -> [n m]", source="here", example={"scores": [[2]], "gives": [[4]]}
    )
    def square(scores: np.ndarray) -> np.ndarray:
        """The squares of the scores, number by number."""
        return np.array([[float(x) ** 2 for x in row] for row in scores])

    text = page_text(problem(query=normal(2, 3), key=normal(4, 3), normalize="square"))
    found = call(scripts, "changed", text, {}, [["query", 0, 7.0]])
    assert set(found["fixed"]) == {"weights", "context", "output"}
    assert not found["values"].keys() & set(found["fixed"])
    reasons = [node["why_no_program"] for node in json.loads(text)["nodes"] if node["why_no_program"]]
    assert reasons
    assert all("taking a number out of its array" in reason for reason in reasons)


@pytest.mark.parametrize("normalizer", ["softmax", "softmax1", "topk:k=2", "hardmax", "sparsemax", "entmax"])
def test_the_arithmetic_of_a_row_with_nan_claims_no_number(scripts: Any, normalizer: str) -> None:
    text = page_text(problem(scores=[[0.5, np.nan, 3]], normalize=normalizer))
    lines = call(scripts, "arithmetic", text, 1)["lines"]
    assert lines
    assert [line for line in lines if "NaN" not in line or "≈" in line] == []


def test_numbers_are_written_as_tables_have_them(scripts: Any) -> None:
    small = [[0.5, 2, 0, 10.25], [1 / 3, 1e-7, -1e-7, 0], [0.03125, 0.09375, -2.5], [1e-7, 3e-9], [1e12, 0.5]]
    tables = [np.array(numbers) for numbers in small]
    tables += [normal(50) * 10.0**power for power in range(-12, 17)]
    tables += [np.array([np.nan, np.inf, -np.inf, 1.5])]
    for decimals in (0, 2, 4, 17):
        written = scripts.evaluate(
            """([tables, decimals]) => tables.map((numbers) => {
              const style = attnPage.numberStyle(numbers, decimals);
              return numbers.map((number) => attnPage.numberText(number, style));
            })""",
            [[table.tolist() for table in tables], decimals],
        )
        expected = [
            [text.strip().replace("-", "−") for text in align_numbers(table[None], decimals)[0]] for table in tables
        ]
        assert written == expected


def test_a_number_changed_by_more_than_rounding(scripts: Any) -> None:
    before = np.array([[1.0, 2.0, 1e-300], [np.nan, np.inf, 0.0], [1e300, -1e300, 5.0]])
    after = np.array([[1.0 + 2**-52, 2.0 + 2**-40, 0.0], [np.nan, -np.inf, -0.0], [-1e300, np.inf, 5.0]])
    marks = scripts.evaluate(
        """([before, after, shape]) => {
          const value = (data) => ({ shape, data: Float64Array.from(data) });
          return Array.from(attnPage.changedCells(value(before), value(after)));
        }""",
        [before.ravel().tolist(), after.ravel().tolist(), [3, 3]],
    )
    assert marks == changed(before, after).ravel().astype(int).tolist()


def test_what_is_computed_again_does_not_count_as_changed(scripts: Any) -> None:
    """Also where rounding adds up over many features and steps."""
    spec = problem(embeddings=normal(64, 32), heads=8, causal=True, **{f"w_{x}": normal(32, 32, seed=1) for x in "qkv"})
    assert call(scripts, "marks", page_text(spec)) == []


def test_each_script_of_a_function_has_its_name(scripts: Any) -> None:
    names = list(page_functions())
    assert names
    assert scripts.evaluate("names => names.filter((name) => !attnPage.hasFunction({ function: name }))", names) == []
