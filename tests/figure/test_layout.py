"""The layout of a figure: nothing overlaps, nothing leaves the page, panels are as large as they fit; its size."""

import re
from dataclasses import replace
from itertools import combinations

import pytest

import attncli
from attncli.figure.layout import MARGIN, MAX_HEIGHT, MAX_WIDTH, PAPER, Box, GroupSize, PageLayout, lay_out
from attncli.render.figure_style import Size, parse_size

GROUP = GroupSize(
    count=1,
    per_slice=1,
    cells=(4, 4),
    panel=Size(2, 2),
    row_labels=0.5,
    column_labels=0.4,
    has_axis_names=True,
    title=0.6,
    panel_title=0.5,
    subtitle=0.0,
    legend_lines=1,
    legend=1.0,
    color_bar=0.3,
)
GROUPS = {
    "one": [GROUP],
    "three": [GROUP, replace(GROUP, cells=(4, 2), panel=Size(1, 2)), replace(GROUP, color_bar=0.0)],
    "heads": [replace(GROUP, count=12, panel=Size(1.5, 1.5))],
    "many heads": [replace(GROUP, count=32, cells=(64, 64), panel=Size(4.5, 4.5))],
    "wide titles": [replace(GROUP, count=6, panel=Size(0.8, 0.8), panel_title=1.5)],
    "flat": [replace(GROUP, cells=(1, 300), panel=Size(4.5, 0.02)), GROUP],
}
SIZES = [None, Size(7, 9), Size(12, 6), Size(5, 12)]


def boxes(page: PageLayout) -> list[Box]:
    """All panels and colour bars of a page."""
    return [box for group in page.groups for box in (*group.panels, group.color_bar) if box.width]


def overlap(first: Box, second: Box) -> bool:
    """Whether two rectangles have an area in common."""
    beside = first.left + first.width <= second.left or second.left + second.width <= first.left
    below = first.top + first.height <= second.top or second.top + second.height <= first.top
    return not (beside or below)


@pytest.mark.parametrize("lines", [1, 3])
def test_lines_of_a_title_move_everything_down_and_make_a_page_so_much_higher(lines: int) -> None:
    plain, titled = (lay_out([GROUP], None, [1.0] * count, []) for count in (0, lines))
    assert plain is not None
    assert titled is not None
    height = lines * 0.19 + 0.07  # of the lines, and of the gap below them
    assert titled.size.height == pytest.approx(plain.size.height + height)
    tops = [(below.top, above.top) for below, above in zip(boxes(titled), boxes(plain), strict=True)]
    assert all(below == pytest.approx(above + height) for below, above in tops)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
def test_nothing_overlaps_or_leaves_the_page(groups: list[GroupSize], size: Size | None) -> None:
    page = lay_out(groups, size, [1.0], [2.0])
    assert page is not None
    assert size in (None, page.size)
    found = boxes(page)
    assert not any(overlap(*pair) for pair in combinations(found, 2))
    assert all(box.left >= 0 and box.top >= 0 for box in found)
    assert all(box.left + box.width <= page.size.width for box in found)
    assert all(box.top + box.height <= page.size.height for box in found)
    assert [len(group.panels) for group in page.groups] == [group.count for group in groups]


def test_without_a_size_panels_are_as_large_as_they_should_be_and_the_page_as_small() -> None:
    page = lay_out([GROUP], None, [], [])
    assert page is not None
    assert (page.groups[0].panels[0].width, page.groups[0].panels[0].height) == (2, 2)
    assert page.size.width < 3.5
    many = lay_out(GROUPS["many heads"], None, [], [])
    assert many is not None
    assert many.size.width <= MAX_WIDTH + 0.2
    assert many.size.height <= MAX_HEIGHT + 0.2


def test_a_larger_page_has_larger_panels() -> None:
    pages = [lay_out(GROUPS["heads"], size, [], []) for size in (Size(4, 4), Size(8, 8))]
    small, large = (page.groups[0].panels[0].width for page in pages if page is not None)
    assert small < large


def test_a_page_may_be_too_small() -> None:
    assert lay_out(GROUPS["many heads"], Size(2, 2), [], []) is None


def test_rows_of_panels_are_full_where_that_takes_no_more_than_a_row_more() -> None:
    page = lay_out(GROUPS["heads"], Size(9, 7), [], [])
    assert page is not None
    assert 12 % page.groups[0].columns == 0


def test_pairs_of_panels_stay_in_a_row() -> None:
    page = lay_out([replace(GROUP, count=6, per_slice=2, panel=Size(1.4, 1.4))], None, [], [])
    assert page is not None
    tops = [box.top for box in page.groups[0].panels]
    assert tops[::2] == tops[1::2]


def test_labels_are_rotated_where_they_are_wider_than_a_cell_and_thinned_where_there_are_many() -> None:
    page = lay_out([GROUP, replace(GROUP, column_labels=0.6), replace(GROUP, cells=(40, 40))], None, [], [])
    assert page is not None
    shown = [(group.is_rotated, group.label_steps) for group in page.groups]
    assert shown == [(False, (1, 1)), (True, (1, 1)), (True, (2, 2))]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("6x4", (6, 4)),
        (" 6.5 × 4 ", (6.5, 4)),
        ("6inx4in", (6, 4)),
        ("254x127mm", (10, 5)),
        ("25.4CM x 5in", (10, 5)),
    ],
)
def test_two_numbers_are_inches_or_have_a_unit(text: str, size: tuple[float, float]) -> None:
    assert parse_size(text, "--size") == Size(*size)


@pytest.mark.parametrize("text", ["", "6", "6x", "6x4x2", "-6x4", "6pxx4px", "nanx1", "6 4"])
def test_another_text_is_an_error_that_shows_how(text: str) -> None:
    message = f"--size: {text!r} is not a size; expected a width and a height, such as 6x4 (inches) or 15x10cm"
    with pytest.raises(attncli.AttnError, match=re.escape(message)):
        parse_size(text, "--size")


@pytest.mark.parametrize("text", ["0x4", "4x31", "2cmx10cm", "1000000x1"])
def test_a_size_has_limits(text: str) -> None:
    with pytest.raises(attncli.AttnError, match=r"out of range; expected 1 to 30 inches each, 2\.54 to 76\.2 cm"):
        parse_size(text, "--size")


def test_a_figure_is_no_larger_than_a_page_of_paper_where_its_panels_can_be_smaller() -> None:
    page = lay_out([GROUP] * 14, None, [], [])
    assert page is not None
    assert page.size.width <= 7 + 2 * MARGIN
    assert page.size.height <= 9


def test_labels_are_smaller_before_some_are_left_out() -> None:
    sizes = []
    for cells in (10, 20, 24, 60):
        page = lay_out([replace(GROUP, cells=(cells, cells), panel=Size(2.2, 2.2))], None, [], [])
        assert page is not None
        (group,) = page.groups
        sizes.append((group.label_sizes[0] < 9, group.label_steps[0]))
    assert sizes == [(False, 1), (True, 1), (True, 1), (True, 2)]


def test_heads_are_in_one_row_where_their_labels_stay_legible() -> None:
    shown = []
    for cells in (12, 40):
        page = lay_out([replace(GROUP, count=4, cells=(cells, cells), panel=Size(3.3, 3.3))], None, [], [])
        assert page is not None
        shown.append(page.groups[0].columns)
    assert shown == [4, 2]


def test_cells_are_flat_where_numbers_have_room_only_so() -> None:
    group = replace(GROUP, panel=Size(3, 3), flat_panel=Size(3, 1.5), number_cell=Size(0.7, 0.2))
    page = lay_out([group] * 8, None, [], [])
    assert page is not None
    assert page.groups[0].panels[0].width > 1.5 * page.groups[0].panels[0].height


def test_larger_text_makes_everything_larger_and_the_page_no_larger() -> None:
    pages = [lay_out([GROUP] * 2, None, [], [], PAPER.scaled(1 / scale)) for scale in (1, 2)]
    sizes = [page.size.scaled(scale) for page, scale in zip(pages, (1, 2), strict=True) if page is not None]
    assert len(sizes) == 2
    assert all(size.width <= 7.4 and size.height <= 9 for size in sizes)


def test_a_slice_is_in_a_row_where_every_word_keeps_its_label_or_rows_are_kept() -> None:
    variants = replace(GROUP, count=10, per_slice=10, cells=(12, 12), panel=Size(2, 2))
    for group, columns in ((variants, 4), (replace(variants, keeps_rows=True), 10)):
        page = lay_out([group], None, [], [])
        assert page is not None
        assert page.groups[0].columns == columns


def test_what_no_paper_holds_is_as_high_as_its_labels_need() -> None:
    page = lay_out([replace(GROUP, count=6, cells=(12, 12), panel=Size(2, 2))] * 12, None, [], [])
    assert page is not None
    assert 9 < page.size.height < 30
    assert all(group.label_steps == (1, 1) for group in page.groups)
