"""pdflatex compiles what `--format latex` writes, and drops no character."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.checks.check import check as check_problem
from attncli.checks.document import check_answer
from attncli.checks.report import CheckOptions, CheckOutcome
from attncli.comparisons.document import render_comparison
from attncli.demos.command import ReportOptions, make_report
from attncli.demos.document import example_answer
from attncli.engine.run import run
from attncli.io import examples
from attncli.ops import kinds, operators
from attncli.problem.edits import edit_problem, parse_edit
from attncli.render.document import Answer
from attncli.render.formats import find_format
from attncli.render.formats.latex_math import latex_line
from attncli.render.target import TEXT_FILE
from attncli.render.view import Cell, ComparisonView, View
from tests.arrays import normal
from tests.comparisons.comparing import Keys, comparison_of
from tests.problems import PROBLEMS, problem

LABELS = (
    "[CLS]", "*", "a_b^c~d\\", "100% & $5 #1 {x}", "--help ``q'' <<a>> ?` !`", "é ü ñ ç š ő ł ß æ Å", "θ Ω ς Σ ≤ → −1",
    "猫😀я", "  two  blanks ", '"quoted"|pipe', "new\nline\ttab", "", "“curly” ‘q’ «g» – — …",
)  # fmt: skip

LABELLED: Keys = {"embeddings": normal(len(LABELS), 4), "tokens": LABELS}

LATEX = find_format("latex")


def explanations() -> Iterator[View]:
    """Every step of every worked example, of every problem of the tests, and of some with difficult labels."""
    for name in examples.names():
        yield from (View(run(part.problem), explain=True) for part in examples.load(name).parts)
    yield from (View(run(problem(**keys)), explain=True) for keys in PROBLEMS.values())
    x = normal(len(LABELS), 4)
    yield View(attncli.attention(x, x, tokens=LABELS, causal=True), explain=True, cells=(Cell(1, 0),))
    equal = attncli.Problem(embeddings=normal(3, 4), tokens=("a_1", "b", "a_1"), heads=2, only=("a_1",)).compute()
    yield View(equal, explain=True, cells=(Cell(),), expanded_axes=frozenset("h"))
    edited = edit_problem(attncli.Problem(embeddings=x, tokens=LABELS).spec, [parse_edit("mask[0,1]=0")])
    yield View(run(edited.after), explain=True, before=run(edited.before), edited_cells=edited.cells)


def wrong_outcome() -> CheckOutcome:
    """The check of wrong weights of tokens with difficult labels."""
    report = check_problem(problem(**LABELLED), {"weights": np.full((len(LABELS), len(LABELS)), 0.1)}, CheckOptions())
    return CheckOutcome("", "a_part", report, None, 0.0)


def example_of(name: str) -> Answer:
    """A worked example as `attn demo` has it."""
    return example_answer(make_report(examples.load(name), ReportOptions(save_command=f"attn demo {name} --save a_b")))


def document() -> str:
    """The explanations, the same results as tables and one cell alone, and every formula of the registry."""
    views = list(explanations())
    texts = [text for view in views for text in LATEX.render(view, TEXT_FILE)]
    texts += LATEX.render(View(views[0].result), TEXT_FILE)
    texts += LATEX.render(View(views[0].result, cells=(Cell(0, 1),)), TEXT_FILE)
    texts += LATEX.render(View(run(problem(**LABELLED, causal=True)), heatmap=True, title="Ä_b & c"), TEXT_FILE)
    texts += LATEX.render(View(run(problem(**LABELLED, heads=2)), explain=True, matrices=True), TEXT_FILE)
    texts += LATEX.render(View(run(problem(**LABELLED)), statistics=True), TEXT_FILE)
    variants: dict[str, Keys] = {"normalize=softmax": LABELLED, "normalize=sparsemax": {**LABELLED, "causal": True}}
    texts += LATEX.render_answer(check_answer([wrong_outcome()], (), 4, is_suite=False), TEXT_FILE)
    texts += (text for name in examples.names() for text in LATEX.render_answer(example_of(name), TEXT_FILE))
    texts += render_comparison(LATEX, comparison_of(variants), TEXT_FILE, ComparisonView())
    for kind in kinds():
        texts += [f"{latex_line(record.formula)}\n\n" for record in operators(kind).values()]
    body = "\n".join(texts)
    packages = "\\usepackage{amsmath,booktabs}\n\\usepackage[table]{xcolor}"
    return f"\\documentclass{{article}}\n{packages}\n\\begin{{document}}\n{body}\\end{{document}}\n"


def test_every_explanation_compiles_and_every_character_is_printed(tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    (tmp_path / "all.tex").write_text(document(), encoding="ascii")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="latin-1", check=False)
    log = (tmp_path / "all.log").read_text(encoding="latin-1")
    assert ran.returncode == 0, log[-2000:]
    assert "Missing character" not in log
    assert "LaTeX Warning: Command" not in log


def test_a_tikz_figure_is_included_with_every_character(tmp_path: Path) -> None:
    found = shutil.which("kpsewhich") and subprocess.run(["kpsewhich", "tikz.sty"], capture_output=True, check=False)
    if not found or not found.stdout:
        pytest.skip("TikZ is not installed")
    pytest.importorskip("matplotlib")
    x = normal(len(LABELS), 4)
    result = attncli.attention(x, x, tokens=LABELS, heads=2, causal=True, select=("weights", "output"))
    result.save(tmp_path / "weights.tikz", title="50% & $x$ of a_b")
    run_of_lines = attncli.load("samples/cars.yaml").compute()
    run_of_lines.save(tmp_path / "curve.pgf", dark=True)
    figures = r"\input{weights.tikz} \input{curve.pgf}"
    packages = r"\documentclass{article}\usepackage{tikz}\usetikzlibrary{patterns}"
    (tmp_path / "all.tex").write_text(rf"{packages}\begin{{document}}{figures}\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert "Missing character" not in (tmp_path / "all.log").read_text(errors="replace")
    commands = [line.split("[")[0] for line in (tmp_path / "weights.tikz").read_text().splitlines()]
    assert commands.count(r"\node") > 3 * len(LABELS)
