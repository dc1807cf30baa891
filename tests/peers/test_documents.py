"""The documents show what those of their commands and Python sessions print and draw that need Matplotlib or pandas."""

import re

import pytest

from docs.generation import console_blocks
from tests.documents.reading import assert_outputs_are_shown

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")


@pytest.mark.parametrize("document", console_blocks.documents_with_outputs())
def test_a_document_shows_what_its_sessions_print_and_its_figures_have_the_words_of_the_samples(document: str) -> None:
    writes = re.compile(r"-o \S+\.(csv|svg|pdf|png|yaml)\b")
    assert_outputs_are_shown(document, lambda command: writes.search(command) is not None)
