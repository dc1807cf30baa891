"""LaTeX: balanced tables, labels that are no commands, and formulas and arithmetic as mathematics, all in ASCII."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.ops import kinds, operators
from attncli.render.document import LABEL_END, LABEL_START, Document, Grid, Section
from attncli.render.formats import latex, latex_tables
from attncli.render.formats.latex_math import (
    BREAKABLE_GAP,
    CHARACTER_COMMAND,
    CHARACTER_DEFINITION,
    latex_display,
    latex_label,
    latex_line,
)
from attncli.render.target import TEXT_FILE
from tests.arrays import normal
from tests.render.explanations import every_line, text_of

EVIL = "a|b_c*[x]<y>&%$#{}~^\\"
GRID = Grid(np.array([[0.25, -np.inf]]), (EVIL,), ("one", "two"), corner="n\\m", slice_label="head 0")
SECTION = Section("weights", (GRID,), "A", formula="Aᵢⱼ = x", arithmetic=("1 + 1 = 2",), remarks=("a_remark",))


def is_balanced(text: str) -> bool:
    """Whether braces and dollars that are no characters of the text pair up."""
    commands = re.sub(r"\\[^a-zA-Z]", "", text)
    depths = np.cumsum([(c == "{") - (c == "}") for c in commands] or [0])
    return depths.min() >= 0 and depths[-1] == 0 and commands.count("$") % 2 == 0


def test_a_latex_table_is_balanced_and_reads_no_command_in_a_label() -> None:
    text = text_of([SECTION], render=latex.render, heading="scaled_dot → softmax")
    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\end{tabular}") == 1
    assert r"\section*{scaled\_dot $\to$ softmax}" in text
    assert "\\paragraph{weights} $A$\n" in text
    assert "\\[\nA_{ij} = x\n\\]" in text
    assert (
        r"a\textbar{}b\_c{*}{[}x]\textless{}y\textgreater{}\&\%\$\#\{\}"
        r"\textasciitilde{}\textasciicircum{}\textbackslash{} & $0.25$ & $-\infty$ \\"
    ) in text
    assert is_balanced(text)


def test_what_is_marked_is_bold() -> None:
    text = text_of(
        [Section("weights", (replace(GRID, rows=("a_b",), marked=frozenset({(0, 1)})),))], render=latex.render
    )
    assert r" & one & \textbf{two} \\" in text
    assert r"\textbf{a\_b} & $0.25$ & {\boldmath $-\infty$} \\" in text


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("[CLS]", "{[}CLS]"),
        ("--help", r"-\kern0pt -help"),
        ("``q''", r"`\kern0pt `q'\kern0pt '"),
        ("  a  b ", r"\ \ a \ b\ "),
        ("café Łódź", r"caf\'{e} \L{}\'{o}d\'{z}"),
        ("θ ≤ Σ", r"$\theta$ $\le$ $\Sigma$"),
        ("猫", r"\unicodecharacter{732B}"),
        ('"', r"\texttt{\char34}"),
        ("a\nb", r"a\textbackslash{}nb"),
    ],
)
def test_a_label_is_printed_as_it_is(label: str, expected: str) -> None:
    assert latex_label(label) == expected


def test_a_character_without_a_command_is_defined_once_above_the_tables() -> None:
    grid = Grid(np.ones((2, 1)), ("猫", "犬"), ("one",))
    text = text_of([Section("weights", (grid,))], render=latex.render)
    assert text.count(CHARACTER_DEFINITION) == 1
    assert text.index(CHARACTER_DEFINITION) < text.index(r"\unicodecharacter{732B}")
    assert CHARACTER_DEFINITION not in text_of([SECTION], render=latex.render)


FEATURES = Grid(np.array([[1.0, -0.5], [0, 2]]), ("x1", "x2"), ("d1", "d2"), corner="x\\d")


def latex_of(*grids: Grid, symbol: str = "", **fields: Any) -> str:
    """The text of tables as results."""
    return "".join(latex.render(Document([Section("w_q", grids, symbol)], 4, **fields), TEXT_FILE))


def test_features_that_are_counted_are_a_matrix() -> None:
    text = latex_of(FEATURES, symbol="W_Q")
    assert "\\[\nW_{Q} = \\begin{bmatrix}\n1.0 & -0.5 \\\\\n0 & 2.0\n\\end{bmatrix}\n\\]" in text
    assert "tabular" not in text


def test_a_table_is_a_matrix_where_that_is_asked_for_and_fits() -> None:
    words = replace(FEATURES, rows=("cat", "sat"), slice_label="head 0")
    assert ("bmatrix" in latex_of(words), "bmatrix" in latex_of(words, are_matrices=True)) == (False, True)
    assert r"\text{w\_q, head 0} = " in latex_of(words, are_matrices=True)
    wide = Grid(np.ones((1, 11)), ("x1",), tuple(f"d{column}" for column in range(11)), corner="x\\d")
    assert "tabular" in latex_of(wide, are_matrices=True)


def test_what_is_marked_stays_a_table_unless_matrices_are_asked_for() -> None:
    marked = replace(FEATURES, marked=frozenset({(0, 1)}))
    assert ["bmatrix" in latex_of(marked, are_matrices=asked) for asked in (False, True)] == [False, True]


def test_cells_have_the_colours_of_their_weights() -> None:
    """Viridis: dark with white digits for 0, bright with black ones for 1, grey without any where masked."""
    weights = Grid(
        np.array([[1.0, 0.0], [0.0, 0.0]]), ("a", "b"), ("c", "d"), is_heatmap=True,
        hidden=np.array([[False, True], [False, False]]),
    )  # fmt: skip
    text = latex_of(weights, has_heatmaps=True)
    assert r"a & \cellcolor[HTML]{FDE725}$1$ & \cellcolor[HTML]{E8E8E8} \\" in text
    assert r"b & \cellcolor[HTML]{440154}\color{white}$0$ & " in text
    assert r"% needs \usepackage[table]{xcolor}" in text
    assert "cellcolor" not in latex_of(weights)


def test_results_have_captions_and_documents_the_title() -> None:
    text = latex_of(GRID, heading="a → b", title="50 %", has_captions=True)
    assert text.count(r"\tablecaption{w\_q, head 0}") == 1
    assert text.index(r"\providecommand{\tablecaption}") < text.index("\\section*{50 \\%}\n\n\\noindent a $\\to$ b")
    assert r"\paragraph" not in text


def test_only_formulas_are_displayed() -> None:
    assert latex_display("Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ)") == r"A_{ij} =\frac{\exp(S_{ij})}{\sum_{j} \exp(S_{ij})}"
    assert latex_display("S where visible, −∞ elsewhere") == r"S\text{\ where visible,\ }-\infty\text{\ elsewhere}"
    assert latex_display("the features of Q") is None


LABEL = f"{LABEL_START}a_b = [1 2]{LABEL_END}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Sᵢⱼ = Qᵢ·Kⱼ / √d", r"$S_{ij} = Q_{i}\cdot K_{j} / \sqrt{d}$"),
        ("Aᵢⱼ = exp(Sᵢⱼ/T) / Σⱼ exp(Sᵢⱼ/T)", r"$A_{ij} = \exp(S_{ij}/T) / \sum_{j} \exp(S_{ij}/T)$"),
        ("[Sᵢⱼ − τᵢ]₊^(1/(α−1))", r"$[S_{ij} - \tau_{i}]_{+}^{1/(\alpha-1)}$"),
        ("visible where j ≤ posᵢ", r"visible where $j \le \text{pos}_{i}$"),
        ("l = gain √(6 / (rows + columns))", r"$l = \text{gain}\ \sqrt{6 / (\text{rows} + \text{columns})}$"),
        ("visible where posᵢ − left ≤ j", r"visible where $\text{pos}_{i} - \text{left} \le j$"),
        ("−λₕ |posᵢ − j|", r"$-\lambda_{h} |\text{pos}_{i} - j|$"),
        ("table[bucket(j − posᵢ), h]", r"$\operatorname{table}[\operatorname{bucket}(j - \text{pos}_{i}), h]$"),
        ("QKᵀ", r"$QK^{\top}$"),
        ("Q̂ᵣ", r"$\hat{Q}_{r}$"),
        ("M_causal", r"$M_{\text{causal}}$"),
        ("−‖Qᵢ − Kⱼ‖² / 2σ²", r"$-\|Q_{i} - K_{j}\|^{2} / 2\sigma^{2}$"),
        ("0.5·[2 −1] = [1 −∞]",
         r"$0.5\cdot\begin{pmatrix}2 & -1\end{pmatrix} = \begin{pmatrix}1 & -\infty\end{pmatrix}$"),
        ("1.2e−07/√(4 + 1e+20)", r"$1.2\times 10^{-7}/\sqrt{4 + 1\times 10^{20}}$"),
        ("2·1e−05²", r"$2\cdot(1\times 10^{-5})^{2}$"),
        (f"Q({LABEL})·K({LABEL}) = 2", r"$Q(\text{a\_b = {[}1 2]})\cdot K(\text{a\_b = {[}1 2]}) = 2$"),
        (f"key 3 ≤ position 4 of {LABEL}: visible",
         r"key $3 \le \text{position}\ 4$ of a\_b = {[}1 2]: visible"),
        ("n queries, m keys", "$n$ queries, $m$ keys"),
        ("the bias of it is a number: visible", "the bias of it is a number: visible"),
        ("from low to high − 1", "from low to high ${}- 1$"),
        ("xᵢ_j", "$x_{i}{}_{j}$"),
        ("W^−1", "$W^{-1}$"),
        ("1 + factor ln(2)", r"$1 + \text{factor}\ \ln(2)$"),
        ("x W_QKV + b_QKV", r"$x W_{\text{QKV}} + b_{\text{QKV}}$"),
        ("C_all̂ = V_all̂ₕ", r"$\hat{C}_{\text{all}} = \hat{V}_{\text{all}_{h}}$"),
        ("1 + ⌊(posᵢ + 1) / 2⌋ ≠ ±1", r"$1 + \lfloor(\text{pos}_{i} + 1) / 2\rfloor \ne \pm1$"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_line_is_read_as_mathematics(line: str, expected: str) -> None:
    assert latex_line(line) == expected


@pytest.mark.parametrize("numbers", [["1"] * 11, ["0.12345678901234567"] * 3])
def test_a_vector_of_many_numbers_or_digits_may_be_broken_because_no_matrix_is(numbers: list[str]) -> None:
    """One of more than ten columns does not compile, and one wider than the page loses numbers."""
    assert latex_line(f"[{' '.join(numbers)}]") == rf"$\bigl({BREAKABLE_GAP.join(numbers)}\bigr)$"


def test_every_formula_of_the_registry_has_a_latex_form() -> None:
    for kind in kinds():
        for record in operators(kind).values():
            for text in (record.formula, *(text for inner in record.inner for text in (inner.symbol, inner.formula))):
                line = latex_line(text)
                assert line.isascii(), text
                assert CHARACTER_COMMAND not in line, text
                assert is_balanced(line), text


@pytest.mark.parametrize(("line", "expected"), [("aᵝᵞ", r"$a^{{\beta}{\gamma}}$"), ("aᴭ", r"$a^{{\text{\AE{}}}}$")])
def test_scripts_that_are_no_latin_letters_are_commands_too(line: str, expected: str) -> None:
    assert latex_line(line) == expected


@given(st.text(alphabet=st.sampled_from("ab1 ᵢ²√^_(){}[]|‖·−=,:Σθ…\\$%&猫e")) | st.text())
def test_any_line_and_any_label_is_balanced_ascii(text: str) -> None:
    for line in (latex_line(text), latex_line(f"Q({LABEL_START}{text}{LABEL_END}) = 1"), latex_label(text)):
        assert line.isascii()
        assert is_balanced(line), line


def test_a_page_may_end_after_each_table_of_a_section_but_not_before_its_first() -> None:
    text = text_of([replace(SECTION, grids=(GRID, GRID, GRID))], render=latex.render)
    before_tables = text.split(r"\begin{tabular}")[:-1]
    assert r"\nopagebreak" in before_tables[0].partition(r"\emph")[0]
    assert all(r"\nopagebreak" not in after.partition(r"\emph")[0] for after in before_tables[1:])
    assert all(r"\smallskip" in after.partition(r"\emph")[0] for after in before_tables)


def test_a_label_is_written_once_however_many_tables_of_a_page_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    written = list[str]()
    monkeypatch.setattr(latex_tables, "latex_label", lambda label: written.append(label) or label)
    text_of([Section("weights", (Grid(np.zeros((2, 99)), ("cat", "dog"), ("one",) * 99),))], render=latex.render)
    assert written.count("cat") == 1


def test_a_table_wider_or_longer_than_a_page_is_in_several_tabulars() -> None:
    values = normal(50, 30)
    rows, columns = tuple(f"r{row}" for row in range(50)), tuple(f"c{column}" for column in range(30))
    text = text_of([Section("wide", (Grid(values, rows, columns),))], render=latex.render)
    assert text.count(r"\begin{tabular}") > 4
    assert all(f"${number:.4f}$" in text for number in values.ravel())
    assert max(len(line) for line in text.splitlines() if "&" in line) < 150


def test_every_line_of_every_explanation_is_balanced_ascii() -> None:
    for line in every_line():
        text = latex_line(line)
        assert text.isascii(), line
        assert is_balanced(text), line
        assert CHARACTER_COMMAND not in text, line
