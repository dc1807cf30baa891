"""The grid of small maps: it fits the screen, a map is a square, and layers and heads have their numbers."""

import numpy as np
import pytest

from attncli.render.document import Grid
from attncli.render.formats.text_page import TextPage, without_styles
from attncli.render.heatmap.map_grid import print_map_grid
from attncli.render.target import TextTarget

TERMINAL = TextTarget(80, has_styles=True, height=24, color_system="truecolor")


def grid(weights: np.ndarray) -> Grid:
    labels = tuple(f"t{at}" for at in range(len(weights)))
    return Grid(weights, labels, labels, "n\\m", is_heatmap=True)


def drawn(layers: int, heads: int, target: TextTarget, tokens: int = 20) -> list[str]:
    page = TextPage(target)
    rows = [(str(layer), [grid(np.eye(tokens))] * heads) for layer in range(layers)]
    print_map_grid(page, rows, [str(head) for head in range(heads)], 2)
    return [without_styles(line) for line in page.text.splitlines()]


@pytest.mark.parametrize(("layers", "heads"), [(1, 8), (6, 12), (2, 2), (12, 12)])
@pytest.mark.parametrize("target", [TERMINAL, TextTarget(80, height=24)], ids=["colours", "characters"])
def test_all_maps_fit_a_screen(layers: int, heads: int, target: TextTarget) -> None:
    lines = drawn(layers, heads, target)
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 22
    assert lines[0].split() == [str(head) for head in range(heads)]
    assert [line.split()[0] for line in lines[1:] if line[:1].isdigit()][:-1] == [str(layer) for layer in range(layers)]


def test_heads_that_have_no_room_follow_below() -> None:
    lines = drawn(1, 40, TextTarget(80, height=24))
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("0 ") for line in lines) == 2


def test_a_block_has_the_largest_of_its_weights() -> None:
    page = TextPage(TextTarget(80, height=24))
    weights = np.zeros((40, 40))
    weights[0, 39] = 1
    print_map_grid(page, [("0", [grid(weights)])], ["0"], 2)
    first = page.text.splitlines()[1]
    assert first.rstrip().endswith("█")
    assert first.count("█") == 1
