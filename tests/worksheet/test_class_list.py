"""Class lists: the names in the files that teachers have."""

import pytest

from attncli.io.inputs import Input, Inputs
from attncli.worksheet.class_list import read_names

FILES = {
    "a name a row": ("Ann\nBo\n", ["Ann", "Bo"]),
    "a column of names": ("id;Student\n1;Ann\n2;Bo\n", ["Ann", "Bo"]),
    "an export": ("First name,Surname,Email\nAnn,Lee,a\nBo,,b\n", ["Ann Lee", "Bo"]),
    "the last name first": ("ID\tLast name\tFirst name\n1\tLee\tAnn\n", ["Ann Lee"]),
}


@pytest.mark.parametrize(("text", "names"), FILES.values(), ids=FILES)
def test_names_are_read_from_the_columns_that_have_them(text: str, names: list[str]) -> None:
    class OneFile(Inputs):
        def open(self, name: str, *_: object) -> Input:
            return self.of_text(text, name)

    assert read_names("class.csv", OneFile()) == names
