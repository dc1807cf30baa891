"""--explain: every step, its arithmetic true, its numbers in the JSON."""

import json
import re
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.engine.run import run
from attncli.io import examples
from attncli.ops import operators
from attncli.problem.labels import number_equal_labels
from attncli.problem.spec import ProblemSpec
from attncli.render.formats import json as json_view
from attncli.render.formats import latex, markdown, terminal
from attncli.render.sections import Section, sections
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import Cell, View
from attncli.render.worked_lines import EVERY_KEY_IS_HIDDEN
from tests.equations import DECIMALS, assert_equations_hold, value_of

SLOW = pytest.mark.slow
PARTS = [
    pytest.param(part, id=f"{name}-{part.title or 'whole'}")
    for name in examples.names()
    for part in examples.load(name).parts
]


def explained(part: examples.Part, **view: Any) -> list[Section]:
    return list(sections(View(run(part.problem), explain=True, decimals=DECIMALS, **view)))


def equations(section: Section) -> list[str]:
    """The lines with arithmetic in them, without those that say what a mask does."""
    return [line for line in section.arithmetic if not line.endswith((": visible", ": hidden", EVERY_KEY_IS_HIDDEN))]


@pytest.mark.parametrize("part", PARTS)
def test_every_equation_of_the_examples_holds(part: examples.Part) -> None:
    assert_equations_hold([line for section in explained(part) for line in equations(section)])


D, E, A = 3, 5, 4
RANDOM = np.random.default_rng(0)
PARAMETERS = {
    "general": {"w": RANDOM.normal(size=(D, D))},
    "additive": {"w1": RANDOM.normal(size=(D, A)), "w2": RANDOM.normal(size=(D, A)), "v": RANDOM.normal(size=A)},
    "location": {"w": RANDOM.normal(size=(D, 5))},
    "topk": {"k": 2},
    "attentional": {"w": RANDOM.normal(size=(E + D, A))},
    "softmax": {"temperature": 0.7},
    "cosine": {"beta": 2.5},
    "entmax": {"alpha": 1.3},
    "sigmoid": {"shift": -0.5},
}


@pytest.mark.parametrize(
    ("score", "normalize"),
    [
        pytest.param(score, normalize, marks=() if (i + j) % 4 == 0 else SLOW)
        for i, score in enumerate(operators("score"))
        for j, normalize in enumerate(operators("normalize"))
    ],
)
def test_every_equation_of_every_pipeline_holds(score: str, normalize: str) -> None:
    query, key, value = (RANDOM.normal(size=size) for size in ((3, 2 * D), (5, 2 * D), (5, 2 * E)))
    for context, record in operators("context").items():
        if record.needs_distribution and not operators("normalize")[normalize].is_distribution:
            continue
        stages: dict[str, Any] = {
            stage: {name: PARAMETERS[name]} if name in PARAMETERS else name
            for stage, name in (("score", score), ("normalize", normalize), ("context", context))
        }
        result = attncli.attention(query, key, value, heads=2, scale=0.5, **stages)
        for cells in ((), (Cell(2, 4),)):
            shown = sections(View(result, explain=True, decimals=DECIMALS, cells=cells))
            assert_equations_hold([line for section in shown for line in section.arithmetic])


def test_every_equation_of_every_problem_holds(spec: ProblemSpec) -> None:
    result = run(spec)
    decimals = 3 if spec.dtype == "bfloat16" else 6 if spec.dtype == "float32" else DECIMALS
    hidden = np.argwhere(np.isneginf(result.trace["masked_scores"].value))
    for cells in [()] if not len(hidden) else [(), (Cell(*map(int, hidden[0][-2:])),)]:
        for section in sections(View(result, explain=True, decimals=decimals, cells=cells)):
            for line in equations(section):
                if "…" not in line and spec.dtype == "float64":
                    assert_equations_hold([line])


def test_every_number_of_every_head_is_in_the_json_and_makes_a_document(spec: ProblemSpec) -> None:
    view = View(run(spec), explain=True, expanded_axes=frozenset("bh"))
    by_name = {section.title.partition("  ")[0].partition(" ")[2]: section for section in sections(view)}
    steps = {step["name"]: step for step in json.loads("".join(json_view.render(view)))["steps"]}
    for name, step in steps.items():
        if name in by_name and by_name[name].grids and name != "visible":
            stacked = np.array([grid.values for grid in by_name[name].grids]).reshape(-1)
            np.testing.assert_array_equal(stacked, np.array(step["value"]).astype(float).reshape(-1), err_msg=name)
    for render in (markdown.render_sections, latex.render_sections):
        assert render(sections(view), 4)


@pytest.mark.slow
@pytest.mark.parametrize("target", [TextTarget(80), TEXT_FILE], ids=["a screen", "a file"])
def test_every_head_is_shown_as_text(target: TextTarget, spec: ProblemSpec) -> None:
    view = View(run(spec), explain=True, expanded_axes=frozenset("bh"))
    assert terminal.render_sections(sections(view), target, 4)


@pytest.mark.parametrize(("key", "rotates"), [(0, False), (1, False), (2, True), (3, True)])
def test_the_rotation_of_new_keys_is_explained_and_not_of_cached_ones(key: int, rotates: bool) -> None:
    x = RANDOM.normal(size=(2, 4))
    result = attncli.attention(x, x, past_key=x + 1, past_value=x, position="rope")
    shown = {section.title: section for section in sections(View(result, explain=True, cells=(Cell(0, key),)))}
    (rotated,) = [section for title, section in shown.items() if "rotated_key" in title]
    assert bool(rotated.arithmetic) == rotates
    if rotates:
        assert f"turns by pθ = {key}" in rotated.arithmetic[0]


def test_of_a_wide_result_the_first_number_is_worked_out() -> None:
    x = RANDOM.normal(size=(2, 9))
    result = attncli.attention(x, x, score="dot", normalize="none")
    (line,) = next(s.arithmetic for s in sections(View(result, explain=True)) if "context" in s.title)
    assert re.match(r"c\(query_\d\)\[e1\] = \S+·\S+ \+ \S+·\S+ = \S+$", line)


@pytest.mark.parametrize("part", PARTS)
def test_the_last_number_of_the_arithmetic_is_in_the_table(part: examples.Part) -> None:
    result = run(part.problem)
    for section in sections(View(result, explain=True, decimals=DECIMALS)):
        if section.arithmetic and section.grids and section.grids[0].signs is None:
            (last,) = np.atleast_2d(value_of(section.arithmetic[-1].split(" = ")[-1]))
            rows = section.grids[0].values
            close = (
                np.isclose(rows, last, rtol=1e-9, atol=1e-10) if last.size in (1, rows.shape[1]) else np.array(False)
            )
            assert close.any(), section.title


@pytest.mark.parametrize("part", PARTS)
def test_every_number_that_is_explained_is_in_the_json(part: examples.Part) -> None:
    view = View(run(part.problem), explain=True)
    steps = {step["name"]: step for step in json.loads("".join(json_view.render(view)))["steps"]}
    for section in sections(view):
        if (numbered := re.match(r"\d+\. (\w+)", section.title)) is None or not section.grids:
            continue  # what was given, and what stands above already
        step = steps[numbered[1]]
        value = np.array(step["value"], dtype=float).reshape(-1, section.grids[0].values.shape[-1])
        for grid in section.grids:
            assert grid.rows == number_equal_labels(step["rows"]) or len(step["shape"]) == 1
            assert grid.columns == number_equal_labels(step["columns"])
            for row in grid.values:
                assert (value == row).all(axis=-1).any(), section.title


def tutorial(**keys: Any) -> attncli.Result:
    word = examples.load("tutorial").parts[1].problem
    given = {name: getattr(word, name) for name in ("embeddings", "tokens", "w_q", "w_k", "w_v")}
    return attncli.Problem(**{**given, "only": ("word_1",), **keys}).compute()


def test_the_explanation_of_the_tutorial() -> None:
    shown = {section.title: section for section in sections(View(tutorial(), explain=True))}
    assert [title for title in shown if title[0].isdigit()] == [
        "1. query", "2. key", "3. value", "4. dot_products", "5. scores", "6. exponentials",
        "7. weights", "8. context",
    ]  # fmt: skip
    assert shown["1. query"].arithmetic == ("query(word_1) = 1·[2 0 2] + 0·[2 0 0] + 0·[2 1 2] = [2 0 2]",)
    assert shown["1. query"].shapes == "Xₒ [n x] 1 × 3, W_Q [x d] 3 × 3 → [n d] 1 × 3"
    assert shown["5. scores"].arithmetic == (
        "q(word_1)·k(word_1) = 2·2 + 0·2 + 2·2 = 8",
        "8/√3 = 4.6188",
    )
    assert shown["7. weights"].arithmetic == ("exp(4.6188 − 5.7735) / (0.3152 + 0.0099 + 1 + 0.0099) = 0.2361",)
    assert shown["8. context"].arithmetic == (
        "c(word_1) = 0.2361·[1 1 0] + 0.0074·[0 1 1] + 0.7491·[1 2 1] + 0.0074·[0 0 0] = [0.9852 1.7417 0.7565]",
    )
    assert shown["8. context"].remarks == ("output = context: one head, no w_o",)


def test_another_cell_may_be_worked_out() -> None:
    shown = {section.title: section for section in sections(View(tutorial(), explain=True, cells=(Cell(0, 1),)))}
    assert shown["5. scores"].arithmetic[0] == "q(word_1)·k(word_2) = 2·0 + 0·2 + 2·1 = 2"


def test_steps_that_do_nothing_are_not_shown() -> None:
    result = attncli.attention([[1.0, 2.0]], [[3.0, 4.0]])
    shown = {section.title: section for section in sections(View(result, explain=True))}
    assert not any("output" in title for title in shown)
    assert (shown["3. value"].formula, shown["3. value"].grids) == ("V = K", ())


def test_the_first_head_is_shown_or_the_given_one() -> None:
    result = run(examples.load("multi_head").parts[0].problem)
    for head, expected in ((None, 0), (0, 0), (1, 1)):
        positions = {} if head is None else {"h": head}
        shown = {section.title: section for section in sections(View(result, explain=True, positions=positions))}
        (grid,) = shown["10. weights"].grids
        np.testing.assert_array_equal(grid.values, result.weights[expected])
        assert grid.slice_label == f"head {expected}"


def test_a_long_sum_counts_its_omitted_terms() -> None:
    x = np.ones((1, 100))
    shown = {section.title: section for section in sections(View(attncli.attention(x, x, score="dot"), explain=True))}
    (line,) = shown["4. scores"].arithmetic
    assert "… 88 more …" in line
    assert line.endswith(" = 100")


def test_overflow_is_explained_without_a_python_warning() -> None:
    result = attncli.attention([[1e200, 1.0]], [[1e200, 1.0], [-1e200, 2.0]], score="dot")
    lines = [line for section in sections(View(result, explain=True)) for line in section.arithmetic]
    assert any("∞" in line for line in lines)
    assert any("overflowed" in note for note in result.trace.notes)


def test_the_letters_of_the_shapes_are_explained_first() -> None:
    first = next(iter(sections(View(tutorial(), explain=True))))
    assert first.formula == ("n queries, m keys, d query features, e value features, x embedding features")


def test_an_option_that_does_not_take_part_is_not_shown() -> None:
    """The number of heads, where there is no axis of heads."""
    result = attncli.attention([[1.0]], [[1.0], [2.0]], position="alibi")
    shown = {section.title: section for section in sections(View(result, explain=True))}
    assert [section.shapes for title, section in shown.items() if title.endswith("position_bias")] == [
        "p [n] 1, j [m] 2, m [h] 1 → [n m] 1 × 2"
    ]
