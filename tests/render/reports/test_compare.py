"""The printed comparison: tables side by side where they fit, styles, other encodings, Markdown and LaTeX."""

from collections.abc import Callable, Iterable, Mapping

import pytest

from attncli.render.reports.compare import render_comparison, render_latex, render_markdown
from attncli.render.target import TextTarget
from tests.comparisons import Keys, comparison_of, weights_of

VARIANTS: dict[str, Keys] = {
    "scale=1": weights_of([0.5, 0.5], [0.75, 0.25]),
    "scale=2": weights_of([0.125, 0.875], [0.75, 0.25]),
}
TEXT = """\
weighted_sum

2 variants of scale: 1, 2

weights
scale=1            scale=2
n\\m   cat   sat    n\\m     cat     sat
───────────────    ───────────────────
cat  0.50  0.50    cat  0.125▼  0.875▲
sat  0.75  0.25    sat  0.750   0.250

output
scale=1    scale=2
n\\e  e1    n\\e    e1
───────    ─────────
cat   6    cat  7.5▲
sat   5    sat  5.0

statistics
query  variant → key   support   entropy   effective keys   largest
───────────────────────────────────────────────────────────────────
cat  scale=1 → cat           2   0.6931           2.0000     0.500
     scale=2 → sat           2   0.3768▼          1.4576▼    0.875▲
sat  scale=1 → cat           2   0.5623           1.7548     0.750
     scale=2 → cat           2   0.5623           1.7548     0.750
  support: the keys with a weight; largest: the largest weight, and → the key
    that has it
  effective keys: exp(entropy), as many keys of equal weight have that
    entropy, in nats
  ▲ rose   ▼ fell   ◆ changed otherwise, from scale=1

differences from scale=1
  scale=2: they part at weights[cat, cat]: 0.5 → 0.125
    weights: largest difference 0.375 at [cat, cat], 0.5 → 0.125; total
      variation up to 0.375; KL divergence up to 0.4133 nats; order of keys the
      same
    output: largest difference 1.5 at [cat, e1], 6 → 7.5
"""


def shown(target: TextTarget, variants: Mapping[str, Keys] = VARIANTS) -> str:
    """The printed comparison."""
    return "".join(render_comparison(comparison_of(variants), target))


def test_a_comparison_fits_80_columns() -> None:
    assert shown(TextTarget(80)) == TEXT


def test_tables_stand_below_one_another_on_a_narrow_screen() -> None:
    lines = shown(TextTarget(30)).splitlines()
    at = lines.index("weights")
    assert [lines[at + 1], lines[at + 7]] == ["scale=1", "scale=2"]


def test_a_pipe_has_tables_side_by_side_and_whole_sentences() -> None:
    lines = shown(TextTarget()).splitlines()
    assert "scale=1            scale=2" in lines
    assert any(line.startswith("    weights: ") and line.endswith("order of keys the same") for line in lines)


def test_a_table_has_the_name_of_a_numbered_variant_where_it_is_wide_enough() -> None:
    tokens: Keys = {"tokens": ("a", "b", "c", "d"), "query_tokens": ("a", "b"), "value": [[1 / 3, 2, 3, 1 / 7]] * 4}
    wide: dict[str, Keys] = {
        "normalize=softmax, a=1": {**tokens, "weights": [[1, 0, 0, 0], [0, 1, 0, 0]]},
        "normalize=sparsemax, a=2": {**tokens, "weights": [[1, 0, 0, 1], [0, 1, 0, 0]]},
    }
    lines = shown(TextTarget(80), wide).splitlines()
    assert lines[lines.index("output") + 1].split("  ")[:2] == ["1", "normalize=softmax, a=1"]
    assert lines[lines.index("weights") + 1].split() == ["1", "2"]


def test_a_terminal_shades_weights_and_colours_what_changed() -> None:
    styled = shown(TextTarget(80, has_styles=True))
    assert "\x1b[1m2 variants of scale" in styled
    assert "\x1b[1;32m7.5▲\x1b[0m" in styled


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_other_encodings_have_their_own_signs(encoding: str) -> None:
    text = shown(TextTarget(80, encoding=encoding))
    text.encode(encoding)
    assert "0.125v  0.875^" in text
    assert "0.5 -> 0.125" in text


def test_a_control_character_in_a_token_is_an_escape() -> None:
    tokens = ("a\x1b[2J", "b")
    variants = {name: {**keys, "tokens": tokens, "query_tokens": tokens} for name, keys in VARIANTS.items()}
    assert "\x1b" not in shown(TextTarget(80), variants)


@pytest.mark.parametrize("render", [render_markdown, render_latex])
def test_documents_have_every_table_and_sentence(render: Callable[..., Iterable[str]]) -> None:
    document = "".join(render(comparison_of(VARIANTS)))
    for text in (
        "weighted",
        "2 variants of scale",
        "0.125",
        "effective keys",
        "differences from scale=1",
        "0.4133 nats",
    ):
        assert text in document
