"""CSV tables: numbers, labels and headers, or an error with the line."""

import pytest

from attncli.base.errors import AttnError
from attncli.io import csv
from tests.io.opened import later

TWO = [[1.0, 2.0], [3.0, 4.0]]
AB, XY = ("a", "b"), ("x", "y")
INF = float("inf")

READ = {
    "numbers alone": ("1,2\n3,4\n", TWO, None, None),
    "a header row": ("x,y\n1,2\n3,4\n", TWO, None, XY),
    "a label column": ("a,1,2\nb,3,4\n", TWO, AB, None),
    "both": ("word,x,y\na,1,2\nb,3,4\n", TWO, AB, XY),
    "both, an empty corner": (",x,y\na,1,2\nb,3,4\n", TWO, AB, XY),
    "numbers as names, as pandas writes them": (",0,1\n0,1,2\n1,3,4\n", TWO, ("0", "1"), ("0", "1")),
    "a header one cell shorter than the rows": ("x,y\na,1,2\nb,3,4\n", TWO, AB, XY),
    "comments and blank lines": ("# what\n\n1,2\n  # more\n\n3,4\n\n", TWO, None, None),
    "carriage returns and newlines": ("1,2\r\n3,4\r\n", TWO, None, None),
    "carriage returns alone": ("1,2\r3,4\r", TWO, None, None),
    "no newline at the end": ("1,2\n3,4", TWO, None, None),
    "semicolons": ("a;1;2\nb;3;4\n", TWO, AB, None),
    "tabs": ("a\t1\t2\nb\t3\t4\n", TWO, AB, None),
    "blanks": ("1 2\n3   4\n", TWO, None, None),
    "blanks around the cells": (" 1 , 2 \n 3 , 4 \n", TWO, None, None),
    "quoted labels with delimiters": ('"a,b",1,2\n"c ""d""",3,4\n', TWO, ("a,b", 'c "d"'), None),
    "a label that looks like a word of a number": ("nan,1,2\ncat,3,4\n", TWO, ("nan", "cat"), None),
    "infinities alone in the first column": ("inf,1\ninf,2\n", [[INF, 1], [INF, 2]], None, None),
    "infinities alone in the first row": ("inf,Infinity\n1,2\n", [[INF, INF], [1, 2]], None, None),
    "a row of infinities with a label": ("a,inf,inf\nb,3,4\n", [[INF, INF], [3, 4]], AB, None),
    "a header with the name of a number": ("word,x,nan\na,1,2\nb,3,4\n", TWO, AB, ("x", "nan")),
    "blanks in quotes": ('"a ",1,2\n" b",3,4\n', TWO, ("a ", " b"), None),
    "blanks around quotes and labels": (' "a ",1,2\n b ,3,4\n', TWO, ("a ", "b"), None),
    "quotes and blanks": ('"a b" 1  2\n"c  d"  3 4 \n', TWO, ("a b", "c  d"), None),
    "one column": ("1\n2\n", [[1], [2]], None, None),
    "one column under a header": ("x\n1\n2\n", [[1], [2]], None, ("x",)),
    "one row": ("1,2\n", [[1, 2]], None, None),
    "labels with signs and digits": ("-,1,2\n2nd,3,4\n", TWO, ("-", "2nd"), None),
    "dates as labels": ("2024-01-01,1,2\n2024-01-02,3,4\n", TWO, ("2024-01-01", "2024-01-02"), None),
    "one row with a label": ("a,1,2\n", [[1, 2]], ("a",), None),
    "a header of one name over labels and numbers": ("x\na,1\nb,2\n", [[1], [2]], AB, ("x",)),
    "a label over two lines": ('"a\nb",1,2\nc,3,4\n', TWO, ("a\nb", "c"), None),
    "a label over two lines, below": ('a,1,2\n"b\nc",3,4\n', TWO, ("a", "b\nc"), None),
    "a mark of inches, and a blank line": ('5" pipe,1,2\n\nrod,3,4\n', TWO, ('5" pipe', "rod"), None),
    "a mark of inches, and a comment": ('5" pipe,1,2\n# 6\nrod,3,4\n', TWO, ('5" pipe', "rod"), None),
    "delimiters in a comment": ("# a;b\tc\n1,2\n3,4\n", TWO, None, None),
    "labels with blanks and other scripts": ("le chat,1,2\n日本,3,4\n", TWO, ("le chat", "日本"), None),
}

NUMBERS = {
    "1e3": 1000, "010": 10, ".5": 0.5, "5.": 5, "+1": 1, "-2.5E-1": -0.25, "0": 0, "00.10": 0.1,
    "inf": INF, "-inf": -INF, "+.INF": INF, "-Infinity": -INF, ".Inf": INF,
    "1e-320": 1e-320, "9007199254740993": 9007199254740992,
}  # fmt: skip

REFUSED = {
    "a word in a row": ("1,2\n3,yes\n", "t.csv, line 2, number 2: 'yes' is not a number"),
    "a word in the first row": ("1,yes\n3,4\n", "t.csv, line 1, number 2: 'yes' is not a number"),
    "an empty cell at the very beginning": (",2\n3,4\n", "t.csv, line 1, number 1: an empty cell"),
    "versions in the first column": ("1.2.3,4\n1.2.4,5\n", "t.csv, line 1, number 1: '1.2.3' is not a number"),
    "percentages in a column of their own": ("50%\n20%\n", "t.csv, line 1, number 1: '50%' is not a number"),
    "null": ("1,2\nnull,4\n", "t.csv, line 2, number 1: 'null' is not a number"),
    "an empty cell": ("1,2\n3,\n", "t.csv, line 2, number 2: an empty cell; write a number, 0 for nothing"),
    "an empty cell in the first row": ("1,\n3,4\n", "t.csv, line 1, number 2: an empty cell"),
    "a shorter row": ("a,1,2\nb,3\n", "t.csv, line 2: 1 number where the other rows have 2"),
    "a longer row, after comments": ("1,2\n# c\n\n3,4,5\n6,7\n", "t.csv, line 4: 3 numbers where the other rows"),
    "a decimal comma and a point": ("1.5;2\n3;1,5\n", "t.csv, line 2, number 2: '1,5' is not a number; use a"),
    "a comma that may divide thousands": ("1;2\n3;1,500\n", "t.csv, line 2, number 2: '1,500' is not a number"),
    "a thousands separator": ('1,"1,000"\n', "t.csv, line 1, number 2: '1,000' is not a number"),
    "NUL in a number": ("1,2\n3,\0004\n", "t.csv, line 2: has the character NUL; leave it out"),
    "NUL in a label": ("a,1\n\nb\0,2\n", "t.csv, line 3: has the character NUL"),
    "nothing but NUL": ("\0\0", "t.csv, line 1: has the character NUL"),
    "a group separator after the last": ("1,20\x1d\n2,3\n", "line 1, number 2: has the control character '\\x1d"),
    "a group separator after the first": ("12\x1d,20\n2,3\n", "line 1, number 1: has the control character"),
    "a file separator for a space": ("1 2\n3\x1c4\n", "line 2: has the control character '\\x1c'"),
    "a separator in a word for NaN": ("1,2\n3,nan\x1f\n", "line 2, number 2: has the control character '\\x1f'"),
    "an underscore": ("1,1_000\n", "line 1, number 2: '1_000' is not a number; write it in decimal digits: 1000"),
    "hexadecimal": ("1,0x10\n", "line 1, number 2: '0x10' is not a number; write it in decimal digits: 16"),
    "a decimal comma in quotes": ('"1,5"\n"2"\n', "line 1, number 1: '1,5' is not a number; use a decimal point"),
    "digits of another script": ("1,2\n3,٣\n", "line 2, number 2: '٣' is not a number"),
    "a percentage": ("1,50%\n", "line 1, number 2: '50%' is not a number"),
    "a number too large": ("1,1e999\n", "1e999 is too large for a floating-point number"),
    "a header and nothing else": ("x,y\n", "t.csv: has a header and no numbers"),
    "nothing at all": ("", "t.csv: has no numbers"),
    "comments alone": ("# a\n", "t.csv: has no numbers"),
    "a header of another length": ("x,y,z,w\n1,2\n3,4\n", "t.csv, line 1: the header has 4 cells for 2 columns"),
    "a quotation that never ends": ('"a,1\nb,2\n', "t.csv, line 1: is not CSV"),
    "a trailing comma": ("1,2,\n3,4,\n", "t.csv, line 1, number 3: an empty cell"),
    "a trailing comma after a header": ("x,y,\n1,2,\n3,4,\n", "number 3: an empty cell"),
    "an empty label": ("word,x,y\na,1,2\n,3,4\n", "t.csv, line 3"),
    "labels and no numbers": ("a\nb\n", "t.csv, line 2, number 1: 'b' is not a number"),
    "a minus sign of typographers": ("1,2\n3,−4\n", "t.csv, line 2, number 2: '−4' is not a number"),
    "an error after a label over two lines": ('a,1\n"b\nc",2\nd,x\n', "t.csv, line 4, number 1: 'x' is not a number"),
    "labels in some rows only": ("a,1\n2,3\n", "t.csv, line 1, number 1: 'a' is not a number"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "numbers", "labels", "columns"), READ.values(), ids=READ)
def test_a_table_is_read(
    text: str, numbers: list[list[float]], labels: tuple[str, ...] | None, columns: tuple[str, ...] | None
) -> None:
    table = csv.read(text, "t.csv")
    assert table.numbers.tolist() == numbers
    assert table.labels == labels
    assert table.columns == columns


@pytest.mark.parametrize(("text", "number"), NUMBERS.items(), ids=NUMBERS)
def test_a_number_has_its_decimal_value(text: str, number: float) -> None:
    assert csv.read(f"1,{text}\n", "t.csv").numbers.tolist() == [[1, number]]


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_an_error_in_a_table_has_its_file_and_line(text: str, message: str) -> None:
    for before, place in (("", message), ("# c\n\n\n", later(message, 3))):
        with pytest.raises(AttnError) as caught:
            csv.read(before + text, "t.csv")
        assert place in str(caught.value)
        assert str(caught.value).startswith("t.csv")


@pytest.mark.parametrize("cell", ["9" * 5000, "x" * 5000], ids=["digits", "letters"])
def test_an_error_shows_the_beginning_of_a_long_cell(cell: str) -> None:
    with pytest.raises(AttnError) as caught:
        csv.read(f"1,2\n3,{cell}\n", "t.csv")
    assert str(caught.value).startswith("t.csv, line 2")
    assert len(str(caught.value)) < 200


def test_a_table_may_be_read_with_the_digits_that_were_typed() -> None:
    rows, table = csv.typed_rows("# computed by hand\n,x,y\ncat, 0.10 ,1e-3\n\ndog,nan,-2\n", "w.csv")
    assert [[number.text for number in row] for row in rows] == [["0.10", "1e-3"], ["nan", "-2"]]
    assert (rows[0], table.labels, table.columns) == ([0.1, 0.001], ("cat", "dog"), ("x", "y"))


@pytest.mark.parametrize(
    ("text", "numbers", "labels"),
    [
        ("1,5;2\n3,5;4\n", [[1.5, 2], [3.5, 4]], None),
        ("1;2\n3;-1,5\n", [[1, 2], [3, -1.5]], None),
        ("1,500;0,25\n", [[1.5, 0.25]], None),
        (";x;y\na, b;1,5;2\nc;3;4\n", [[1.5, 2], [3, 4]], ("a, b", "c")),
    ],
)
def test_between_semicolons_a_comma_is_that_of_decimals(
    text: str, numbers: list[list[float]], labels: tuple[str, ...] | None
) -> None:
    table = csv.read(text, "t.csv")
    assert (table.numbers.tolist(), table.labels) == (numbers, labels)
    typed, _ = csv.typed_rows(text, "t.csv")
    assert typed == numbers
    assert {number.half_unit for row in typed for number in row} <= {0.5, 0.05, 0.005, 0.0005}
