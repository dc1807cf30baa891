"""Text: equal words among many, and signs in ASCII and other encodings, without an escape where a sign is known."""

import pytest

from attncli.base.text import first_duplicate, most_common, transliterate
from attncli.ops import kinds, operators
from attncli.ops.records import OperatorRecord


def test_of_values_that_are_equally_common_the_first_counts() -> None:
    assert most_common([3, 2, 2, 3, 1]) == 3


def test_the_first_duplicate_is_the_one_that_begins_first() -> None:
    assert first_duplicate(["on", "the", "cat", "cat", "the"]) == "the"


RECORDS = [pytest.param(record, id=f"{kind}-{name}") for kind in kinds() for name, record in operators(kind).items()]


@pytest.mark.parametrize("record", RECORDS)
def test_all_that_a_record_says_has_an_ascii_form(record: OperatorRecord) -> None:
    texts = [record.formula, record.source, record.summary, *map(str, record.parameters)]
    texts += [text for inner in record.inner for text in (inner.symbol, inner.formula)]
    for text in texts:
        plain = transliterate(text, "ascii")
        assert plain.isascii()
        assert "\\" not in plain, plain


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("Sᵢⱼ = Qᵢ·Kⱼ / √d", "ascii", "S_ij = Q_i*K_j / sqrt(d)"),
        ("√(‖x‖² + 1) ≥ −∞", "ascii", "sqrt(||x||^2 + 1) >= -inf"),
        ("W₁Kⱼ pθ 2σ²", "ascii", "W_1 K_j p theta 2 sigma^2"),
        ("Q̂ᵣ, QKᵀ, H_α", "ascii", "Q_hat_r, QK^T, H_alpha"),
        ("1 + ⌊(pos + 1) / 2⌋, 3⌊x⌋", "ascii", "1 + floor((pos + 1) / 2), 3 floor(x)"),
        ("· outside: 3", "ascii", ". outside: 3"),
        ("2 × 3 → 6 …", "ascii", "2 x 3 -> 6 ..."),
        ("Sᵢ = 2·σ² ± …", "cp1252", "S_i = 2·sigma² ± …"),
        ("Milićević", "ascii", "Milicevic"),
        ("é 猫", "latin-1", "é \\u732b"),
        ("θ ─ 猫", "utf-8", "θ ─ 猫"),
        ("plain", "ascii", "plain"),
    ],
)
def test_what_an_encoding_lacks_is_written_in_its_characters(text: str, encoding: str, expected: str) -> None:
    assert transliterate(text, encoding) == expected
