"""The tests themselves."""

import pytest


def test_no_test_is_parametrized_over_a_set(request: pytest.FixtureRequest) -> None:
    """Its order differs between the processes that share the tests."""
    marks = [mark for item in request.session.items for mark in item.iter_markers("parametrize")]
    values = [mark.kwargs.get("argvalues", mark.args[-1]) for mark in marks]
    assert not [value for value in values if isinstance(value, set | frozenset)]
