"""CSV and TSV: every label and every number is read back."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attncli
from attncli.render.formats.csv import write_csv, write_tsv
from attncli.render.view import View

LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@pytest.mark.parametrize(("render", "delimiter"), [(write_csv, ","), (write_tsv, "\t")])
@given(labels=st.lists(LABELS, min_size=2, max_size=2))
def test_a_reader_of_csv_sees_labels_and_numbers(render: object, delimiter: str, labels: list[str]) -> None:
    result = attncli.attention([[1.0, 2]], [[1.0, 0], [0, 1]], tokens=labels, select=("weights",))
    text = "".join(render(View(result)))
    header, row = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert header == ["", *labels]
    np.testing.assert_array_equal(np.array(row[1:], dtype=float), result.weights[0])
