"""Words for numbers: NaN and infinities in every spelling, and hints for what is no number."""

import math

import pytest

from attncli.base.number_words import non_finite, number_hint

SPELLINGS = ["inf", "Inf", "INF", ".inf", ".Inf", "+inf", "+.inf", "infinity", "Infinity", "+Infinity"]


@pytest.mark.parametrize("word", SPELLINGS)
def test_infinity_is_read_however_it_is_spelt(word: str) -> None:
    assert non_finite(word) == math.inf
    assert non_finite(f"-{word.removeprefix('+')}") == -math.inf


@pytest.mark.parametrize("word", ["nan", "NaN", "NAN", ".nan", ".NaN", "-nan", "+nan"])
def test_nan_is_read_however_it_is_spelt(word: str) -> None:
    assert math.isnan(non_finite(word) or 0)


@pytest.mark.parametrize("word", ["", "-", "in", "info", "nano", "..inf", "inf.", "1", "na", "ınf", "null", " inf"])
def test_any_other_word_is_no_number(word: str) -> None:
    assert non_finite(word) is None


HINTS = {
    "0x1F": "write it in decimal digits: 31",
    "0o17": "write it in decimal digits: 15",
    "0b101": "write it in decimal digits: 5",
    "1_000": "write it in decimal digits: 1000",
    "-1_0.5": "write it in decimal digits: -10.5",
    "1": "write it without quotes",
    "-.5E3": "write it without quotes",
    "1,5": "write the decimal point as a point: 1.5",
    "−1.5": "write the minus sign as a hyphen: -1.5",
    "1−2": None,
    "1.2.3": None,
    "cat": None,
    "1__0": None,
}


@pytest.mark.parametrize(("word", "hint"), HINTS.items(), ids=HINTS)
def test_a_word_that_is_meant_as_a_number_has_a_hint(word: str, hint: str | None) -> None:
    assert number_hint(word) == hint
