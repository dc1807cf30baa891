"""Blocks of text side by side, with styles and characters of two columns."""

from attncli.render.formats.text_page import side_by_side

RED = "\x1b[31m{}\x1b[0m"


def test_styles_take_no_columns() -> None:
    plain = list(side_by_side([["ab", "c"], ["d", "e"]], 80))
    styled = list(side_by_side([[RED.format("ab"), RED.format("c")], ["d", "e"]], 80))
    assert styled == [RED.format("ab") + "    d", RED.format("c") + "     e"]
    assert plain == ["ab    d", "c     e"]


def test_wide_characters_take_two_columns() -> None:
    assert list(side_by_side([["猫", "abc"], ["x", "y"]], 80)) == ["猫     x", "abc    y"]


def test_a_block_that_does_not_fit_begins_a_row_and_one_too_wide_has_its_own() -> None:
    blocks = [["a" * 6], ["b" * 6], ["c" * 30], ["d"]]
    assert list(side_by_side(blocks, 16)) == ["aaaaaa    bbbbbb", "", "c" * 30, "", "d"]


def test_no_blocks_are_no_lines() -> None:
    assert list(side_by_side([], 80)) == []
