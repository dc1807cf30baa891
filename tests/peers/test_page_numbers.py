"""The numbers of the page, computed by its own scripts, are those of the program."""

from typing import Any

import pytest

pytestmark = pytest.mark.peer


def test_a_page_opens(page_of: Any) -> None:
    page = page_of({"scores": [[0, 1]]})
    assert page.evaluate("attnPage.state.get().step") == "weights"
