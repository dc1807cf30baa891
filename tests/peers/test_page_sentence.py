"""The page's sentence, the lines between its words and the pictures of its heads, in a browser."""

from collections.abc import Sequence
from typing import Any

import attncli
from attncli.base.lazy_numpy import Array, np
from attncli.render.color_map import color
from attncli.render.rows import row_statistics
from tests.arrays import normal
from tests.peers.conftest import PageOf

WORDS = ("the", "cat", "sat", "on", "the")
SELF = {"embeddings": normal(5, 4), "w_q": normal(4, 4, seed=1), "tokens": WORDS}
HEADS = {**SELF, "heads": 2, "causal": True}
CROSS = {
    "query": normal(2, 3),
    "key": normal(4, 3, seed=1),
    "tokens": ("das", "Haus", "ist", "klein"),
    "query_tokens": ("the", "house"),
}
ITEMS = {"query": normal(3, 2, 4, 2), "key": normal(3, 2, 5, 2, seed=1)}


def weights_of(keys: dict[str, Any]) -> Array:
    """The weights that the program computes."""
    return np.asarray(attncli.Problem(**keys).compute(select=["weights"]).weights)


def shown(page: Any, group: int = 0) -> list[float]:
    """The weights that the words of a group are coloured by, and the number under each."""
    return [
        float(x)
        for x in page.locator(".words")
        .nth(group)
        .locator(".word")
        .evaluate_all("words => words.map((word) => word.dataset.weight)")
    ]


def point_at(page: Any, index: int, group: int = 0) -> None:
    """Put the pointer on a word."""
    page.locator(".words").nth(group).locator(".word").nth(index).hover()


def sentence(page: Any) -> str:
    """What the page says of the word that is pointed at."""
    return str(page.locator(".sentence-says").inner_text())


def close(values: Sequence[float], expected: Array) -> bool:
    """Whether numbers are those expected, but for rounding."""
    return bool(np.allclose(values, expected, rtol=0, atol=1e-12))


def test_a_word_colours_the_words_that_it_looks_at_and_with_the_switch_those_that_look_at_it(page_of: PageOf) -> None:
    page, weights = page_of(SELF), weights_of(SELF)
    for at in range(5):
        point_at(page, at)
        assert close(shown(page), weights[at])
    page.get_by_label("is looked at by").check()
    for at in range(5):
        point_at(page, at)
        assert close(shown(page), weights[:, at])
    shares = page.locator(".word").evaluate_all(
        "words => words.map((word) => Number(word.style.getPropertyValue('--share')))"
    )
    assert close(shares, weights[:, 4])  # the shade is the weight


def test_nothing_moves_when_a_word_is_pointed_at(page_of: PageOf) -> None:
    page = page_of({**SELF, "tokens": ["a", "b", "c", "d", "e"]}, context={"viewport": {"width": 390, "height": 844}})
    place = "parts => parts.map((part) => [part.offsetLeft, part.offsetTop, part.offsetWidth, part.offsetHeight])"
    parts = page.locator(".word, .sentence-says, .lines-label, .lines")
    before = parts.evaluate_all(place)
    point_at(page, 2)
    assert parts.evaluate_all(place) == before


def test_the_sentence_names_the_words_by_weight(page_of: PageOf) -> None:
    weights = [[0, 0.75, 0.25], [0.125, 0.25, 0.625], [0, 0, 0]]
    page = page_of(
        {
            "weights": weights,
            "value": normal(3, 2),
            "tokens": ["<b>the</b>", "cat", "sat"],
            "query_tokens": ["<b>the</b>", "cat", "sat"],
        }
    )
    point_at(page, 0)
    assert sentence(page) == "<b>the</b> looks at cat 0.750, sat 0.250"
    assert page.locator(".word-weight").all_inner_texts() == ["0", "0.750", "0.250"]
    point_at(page, 2)
    assert sentence(page) == "sat looks at no word."
    page.get_by_label("is looked at by").check()
    point_at(page, 2)
    assert sentence(page) == "sat is looked at by cat 0.625, <b>the</b> 0.250"


def test_many_words_are_counted(page_of: PageOf) -> None:
    weights = np.tile(np.arange(10) / 45, (10, 1))
    page = page_of({"weights": weights, "value": normal(10, 2)})
    point_at(page, 0)
    assert sentence(page) == ("query_1 looks at key_10 0.200, key_9 0.178, key_8 0.156, and 6 others, 0.467 together")


def test_heads_are_chosen_or_averaged(page_of: PageOf) -> None:
    page, weights = page_of(HEADS), weights_of(HEADS)
    point_at(page, 2)
    assert close(shown(page), weights[0, 2])
    assert sentence(page).startswith("Head 0: sat looks at ")
    page.get_by_label("Head", exact=True).select_option("1")
    point_at(page, 2)
    assert close(shown(page), weights[1, 2])
    page.get_by_label("mean of all 2").check()
    point_at(page, 3)
    assert close(shown(page), weights.mean(axis=0)[3])
    assert sentence(page).startswith("Mean of 2 heads: on looks at ")


def test_queries_and_keys_that_differ_are_two_lines(page_of: PageOf) -> None:
    page, weights = page_of(CROSS), weights_of(CROSS)
    point_at(page, 1, group=0)
    assert close(shown(page, group=1), weights[1])
    point_at(page, 2, group=1)
    assert close(shown(page, group=0), weights[:, 2])
    assert sentence(page).startswith("ist is looked at by ")
    assert page.get_by_label("is looked at by").count() == 0


def test_a_word_is_reached_and_pinned_by_the_keyboard(page_of: PageOf) -> None:
    page, weights = page_of(SELF), weights_of(SELF)
    page.locator(".word").first.focus()
    page.keyboard.press("ArrowRight")
    assert close(shown(page), weights[1])
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    assert close(shown(page), weights[4])
    page.keyboard.press("Tab")  # the words are one stop
    assert page.locator(".word:focus").count() == 0
    assert close(shown(page), weights[1])
    assert page.locator(".word[aria-pressed=true]").inner_text().startswith("cat")
    page.locator(".word").nth(1).press("Escape")
    page.locator(".word").nth(1).blur()
    assert page.locator(".word[data-weight]").count() == 0


def test_lines_are_as_wide_as_their_weights(page_of: PageOf) -> None:
    page, weights = page_of(HEADS), weights_of(HEADS)
    lines = drawn(page)
    assert set(lines) == {(row, column) for row in range(5) for column in range(row + 1)}  # causal: 0 has no line
    assert all(close([weight], weights[(0, *cell)]) for cell, (weight, _) in lines.items())
    widths = [width for _, width in sorted(lines.values())]
    assert widths == sorted(widths)
    page.locator(".lines-side").last.locator(".lines-label").nth(3).hover()
    assert set(drawn(page)) == {(3, 0), (3, 1), (3, 2), (3, 3)}  # both columns are words that look


def drawn(page: Any) -> dict[tuple[int, int], tuple[float, float]]:
    """The weight and the width of the line of each query and key."""
    paths = page.locator(".lines path").evaluate_all(
        "paths => paths.map((path) => [...['row', 'column', 'weight'].map((name) => Number(path.dataset[name])),"
        " Number(path.getAttribute('stroke-width'))])"
    )
    return {(row, column): (weight, width) for row, column, weight, width in paths}


def test_of_many_lines_the_largest_are_drawn_and_of_too_many_words_none(page_of: PageOf) -> None:
    weights = abs(normal(23, 29))
    page = page_of({"weights": weights, "value": normal(29, 1)})
    least = np.sort(weights, axis=None)[-400]
    assert sorted(drawn(page)) == [tuple(cell) for cell in np.argwhere(weights >= least)]
    assert page.locator(".lines figcaption").inner_text() == "The 400 largest of 667 weights are drawn."
    page = page_of({"weights": np.ones((2, 201)), "value": normal(201, 1)})
    assert page.get_by_text("Lines are drawn between 200 words at most.").is_visible()


def test_each_head_of_each_batch_item_has_a_picture(page_of: PageOf) -> None:
    page, weights = page_of(ITEMS), weights_of(ITEMS)
    pictures = page.locator(".picture")
    assert pictures.count() == 6
    for at, (b, h) in enumerate(np.ndindex(3, 2)):
        assert pixels(pictures.nth(at)) == [list(color(x)) for x in weights[b, h].ravel()]
    pictures.nth(3).click()
    point_at(page, 1)
    assert close(shown(page, group=1), weights[1, 1, 1])
    assert pictures.nth(3).get_attribute("aria-pressed") == "true"
    row, column = np.argwhere(weights[1, 1] == weights[1, 1].max())[0]
    entropy = row_statistics(weights[1, 1]).entropy.mean()
    assert pictures.nth(3).locator(".picture-fact").inner_text() == f"entropy {entropy:.2f}"
    assert pictures.nth(3).get_attribute("aria-label") == (
        f"batch item 1, head 1: the largest weight is {weights[1, 1].max():.3f}, query_{row + 1} to key_{column + 1}, "
        f"the mean entropy of a row {entropy:.2f}"
    )


def pixels(picture: Any) -> list[list[int]]:
    """The colours of a picture, [red, green, blue] of each cell."""
    data = picture.locator("canvas").evaluate(
        "canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data]"
    )
    return [data[at : at + 3] for at in range(0, len(data), 4)]


def test_labels_may_be_equal_and_read_from_the_right(page_of: PageOf) -> None:
    page = page_of({"embeddings": normal(4, 2), "tokens": ["القطة", "على", "السجادة", "على"]})
    assert page.locator(".words").get_attribute("dir") == "rtl"
    first = page.locator(".word").first
    first.focus()
    page.keyboard.press("ArrowLeft")
    assert sentence(page).startswith("على#1 looks at ")
    boxes = [page.locator(".word").nth(at).bounding_box()["x"] for at in range(2)]
    assert boxes[0] > boxes[1]


def test_words_lines_and_the_table_follow_each_other(page_of: PageOf) -> None:
    page, weights = page_of(SELF), weights_of(SELF)
    page.locator("#step-list a[data-step=weights]").click()
    page.locator("figure.main td").nth(1 * 5 + 3).hover()
    assert close(shown(page), weights[1])
    line = page.locator(".lines path.is-in-view").evaluate_all("lines => lines.map(({dataset}) => ({...dataset}))")
    assert [(int(each["row"]), int(each["column"])) for each in line] == [(1, 3)]
    point_at(page, 2)
    frame, first = page.locator("figure.main .frame.of-word"), page.locator("figure.main td").nth(2 * 5)
    assert all(abs(frame.bounding_box()[side] - first.bounding_box()[side]) < 4 for side in ("x", "y"))


def test_the_arithmetic_never_lies_over_the_cell_that_it_explains(page_of: PageOf) -> None:
    """In a table of twelve words at 1280 × 800, in its last row."""
    page = page_of({"embeddings": normal(12, 4)}, context={"viewport": {"width": 1280, "height": 800}})
    page.locator("#step-list a[data-step=weights]").click()
    cell = page.locator("figure.main td").last
    assert page.locator(".cell-panel").bounding_box()["height"] < 60  # a line, as long as no cell is in view
    cell.click()
    panel, own = page.locator(".cell-panel").bounding_box(), cell.bounding_box()
    assert own["y"] + own["height"] <= panel["y"] + 1
    assert panel["y"] + panel["height"] <= 800
    assert page.locator("#controls h2").bounding_box()["y"] < 800
