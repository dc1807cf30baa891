"""Many digits without the package that computes with them."""

import pytest

from attncli.base.errors import AttnError
from attncli.engine import many_digits
from attncli.plan.build import plan_of
from tests.problems import problem


def test_without_mpmath_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_digits, "find_spec", lambda name: None)
    spec = problem(query=[[1.0]], key=[[1.0]])
    with pytest.raises(AttnError) as caught:
        many_digits.run_with_digits(plan_of(spec), spec, ["output"])
    expected = "many digits need the package mpmath; install it: pip install 'attncli[reference]'"
    assert str(caught.value) == expected
