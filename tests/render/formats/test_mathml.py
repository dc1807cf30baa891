"""MathML: formulas as elements that browsers draw, with every symbol of the line, and nothing of a label as markup."""

import re
import unicodedata
from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.base.text import escape_control
from attncli.ops import kinds, operators
from attncli.render.document import LABEL_END, LABEL_START
from attncli.render.formats.mathml import mathml_line
from tests.problems import PROBLEMS
from tests.render.explanations import every_line, result_of

LABEL = f"{LABEL_START}a <b> & 1/2{LABEL_END}"
OPEN, CLOSE = ('<mo form="prefix" stretchy="false">(</mo>', '<mo form="postfix" stretchy="false">)</mo>')
EQUALS = '<mo stretchy="false">=</mo>'
COMMA = '<mo stretchy="false">,</mo>'
THIN = '<mspace width="0.17em"/>'


def math(elements: str) -> str:
    """A formula of these elements."""
    return f'<math displaystyle="true">{elements}</math>'


def sub(base: str, *letters: str) -> str:
    """A letter with letters below it."""
    return f"<msub><mi>{base}</mi><mrow>{''.join(f'<mi>{letter}</mi>' for letter in letters)}</mrow></msub>"


def content(markup: str) -> ElementTree.Element:
    """The elements of markup, which has to be well-formed."""
    return ElementTree.fromstring(f"<p>{markup}</p>")


def text_of(markup: str) -> str:
    """What is read of markup."""
    return "".join(content(markup).itertext())


S_IJ, Q_I, K_J = sub("S", "i", "j"), sub("Q", "i"), sub("K", "j")
DOT = '<mo stretchy="false">·</mo>'
SUM_J = "<munder><mo>∑</mo><mrow><mi>j</mi></mrow></munder>"
EXP_S = f"<mi>exp</mi><mrow>{OPEN}{S_IJ}{CLOSE}</mrow>"
MINUS, PLUS = '<mo form="infix">−</mo>', '<mo form="infix">+</mo>'
NEGATIVE = '<mo form="prefix">−</mo>'
SLASH = '<mo lspace="0" rspace="0">/</mo>'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Sᵢⱼ = Qᵢ·Kⱼ / √d",
         math(f"{S_IJ}{EQUALS}<mfrac><mrow>{Q_I}{DOT}{K_J}</mrow><mrow><msqrt><mi>d</mi></msqrt></mrow></mfrac>")),
        ("exp(Sᵢⱼ) / (1 + Σⱼ exp(Sᵢⱼ))",
         math(f"<mfrac><mrow>{EXP_S}</mrow><mrow><mn>1</mn>{PLUS}{SUM_J}{EXP_S}</mrow></mfrac>")),
        ("exp((Sᵢⱼ − maxᵢ)/T)",
         math(f"<mi>exp</mi><mrow>{OPEN}<mrow>{OPEN}{S_IJ}{MINUS}<msub><mi>max</mi><mrow><mi>i</mi></mrow></msub>"
              f"{CLOSE}</mrow>{SLASH}<mi>T</mi>{CLOSE}</mrow>")),
        ("maxⱼ Aⱼ", math(f"<munder><mi>max</mi><mrow><mi>j</mi></mrow></munder>{THIN}{sub('A', 'j')}")),
        ("Σⱼ Aⱼ", math(f"{SUM_J}{sub('A', 'j')}")),
        ("Sᵐᵢⱼ", math("<msubsup><mi>S</mi><mrow><mi>i</mi><mi>j</mi></mrow><mrow><mi>m</mi></mrow></msubsup>")),
        ("W_Vᵀ", math("<msubsup><mi>W</mi><mrow><mi>V</mi></mrow><mrow><mo>⊤</mo></mrow></msubsup>")),
        ("X W_Q", math(f"<mi>X</mi>{THIN}{sub('W', 'Q')}")),
        ("W^−1", math(f"<msup><mi>W</mi><mrow>{NEGATIVE}<mn>1</mn></mrow></msup>")),
        ("QKᵀ", math("<mi>Q</mi><msup><mi>K</mi><mrow><mo>⊤</mo></mrow></msup>")),
        ("K_allₛⱼ", math(f"<msub><mi>K</mi><mrow><mtext>all</mtext>{THIN}<mi>s</mi><mi>j</mi></mrow></msub>")),
        ("Qₕ̂ᵢ", math('<msub><mover accent="true"><mi>Q</mi><mo stretchy="false">^</mo></mover>'
                     "<mrow><mi>h</mi><mi>i</mi></mrow></msub>")),
        ("−‖x − y‖² / 2σ²",
         math(f'{NEGATIVE}<mfrac><mrow><msup><mrow><mo form="prefix" stretchy="false">‖</mo><mi>x</mi>{MINUS}<mi>y</mi>'
              '<mo form="postfix" stretchy="false">‖</mo></mrow><mrow><mn>2</mn></mrow></msup></mrow>'
              "<mrow><mn>2</mn><msup><mi>σ</mi><mrow><mn>2</mn></mrow></msup></mrow></mfrac>")),
        ("tanh(S / 2)",
         math('<mi>tanh</mi><mrow><mo form="prefix" stretchy="true">(</mo><mfrac><mrow><mi>S</mi></mrow>'
              '<mrow><mn>2</mn></mrow></mfrac><mo form="postfix" stretchy="true">)</mo></mrow>')),
        ("a / b / c", math("<mfrac><mrow><mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac></mrow>"
                           "<mrow><mi>c</mi></mrow></mfrac>")),
        ("h // 3", math('<mi>h</mi><mo lspace="0.2em" rspace="0">/</mo><mo lspace="0" rspace="0.2em">/</mo>'
                        "<mn>3</mn>")),
        ("−λ |p − j|", math(f'{NEGATIVE}<mi>λ</mi>{THIN}<mrow><mo form="prefix" stretchy="false">|</mo><mi>p</mi>'
                            f'{MINUS}<mi>j</mi><mo form="postfix" stretchy="false">|</mo></mrow>')),
        ("2·[1 −∞]", math(f'<mn>2</mn>{DOT}<mrow><mo>[</mo><mn>1</mn><mspace width="0.7em"/>{NEGATIVE}<mi>∞</mi>'
                          "<mo>]</mo></mrow>")),
        ("1.2e−07", math("<mrow><mn>1.2</mn><mo>×</mo><msup><mn>10</mn><mn>−7</mn></msup></mrow>")),
        ("from low to high − 1, at most", f"from low to high {math(f'{MINUS}<mn>1</mn><mtext>,</mtext>')} at most"),
        (f"Q({LABEL})", math(f"<mi>Q</mi><mrow>{OPEN}<mtext>a &lt;b&gt; &amp; 1/2</mtext>{CLOSE}</mrow>")),
        (f"{'a' * 22} = b = c", math(f"<mtext>{'a' * 22}</mtext>")
         + "".join(f"<wbr/>{math(f'{EQUALS}<mi>{letter}</mi>')}" for letter in "bc")),
        (f"seen by {LABEL}", "seen by a &lt;b&gt; &amp; 1/2"),
        ("visible where j ≤ posᵢ",
         "visible where " + math('<mi>j</mi><mo stretchy="false">≤</mo>'
                                 "<msub><mtext>pos</mtext><mrow><mi>i</mi></mrow></msub>")),
        ("", ""),
    ],
)  # fmt: skip
def test_a_line_is_written_as_mathematics(line: str, expected: str) -> None:
    assert mathml_line(line) == expected


def signs(text: str) -> Counter[str]:
    """Letters and digits, those of scripts as usual ones; without what has a sign of its own."""
    plain = unicodedata.normalize("NFKC", re.sub("[ᵀΣ\u0302]", "", text))
    return Counter(character for character in plain if character.isalnum())


def assert_is_whole(formula: str) -> None:
    """A formula is well-formed and has every sign of the line: a root and a fraction as elements."""
    markup = content(mathml_line(formula))
    text = "".join(markup.itertext())
    assert signs(text) == signs(formula), formula
    assert len(markup.findall(".//msqrt")) == formula.count("√"), formula
    assert len(markup.findall(".//mfrac")) + text.count("/") == formula.count("/"), formula
    for sign, written in {"Σ": "∑", "ᵀ": "⊤", "=": "=", "−": "−", "≤": "≤"}.items():
        assert text.count(written) == formula.count(sign), formula


def test_every_formula_of_the_registry_is_written_whole() -> None:
    for kind in kinds():
        for record in operators(kind).values():
            assert_is_whole(record.formula)
            for inner in record.inner:
                assert_is_whole(inner.symbol)
                assert_is_whole(inner.formula)


def test_every_formula_of_a_plan_is_written_whole() -> None:
    nodes = [step.node for name in PROBLEMS for step in result_of(name).trace]
    for text in dict.fromkeys(text for node in nodes for text in (node.symbol, node.formula)):
        assert_is_whole(text)


def test_every_line_of_every_explanation_is_well_formed() -> None:
    for line in every_line():
        content(mathml_line(line))


@given(st.text(alphabet=st.sampled_from("ab1 ᵢ²√^_(){}[]|‖·−=,:Σθ…\\$%&<>\"'/猫e")) | st.text())
def test_any_line_is_well_formed_and_a_label_is_text(text: str) -> None:
    content(mathml_line(text))
    text = text.replace(LABEL_START, "").replace(LABEL_END, "")
    assert text_of(mathml_line(f"Q({LABEL_START}{text}{LABEL_END}) = 1")) == f"Q({escape_control(text)})=1"
