"""Caches as engines keep them, the bits of float8 in uint8, are refused until their type is said, and then decoded."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from tests.cli.running import run_in_process

# By hand: sign, exponent, mantissa. e4m3fn: 0 0111 000 is 1, 1 1000 100 is −3, 0 0001 000 is 2⁻⁶. e5m2: 0 01111 00 is
# 1, 1 10000 10 is −3, 0 00001 00 is 2⁻¹⁴. bfloat16 is the upper half of float32.
NUMBERS: dict[str, tuple[np.ndarray, list[list[float]]]] = {
    "float8_e4m3fn": (np.array([[0x38, 0xC4], [0x08, 0x38]], np.uint8), [[1, -3], [2**-6, 1]]),
    "float8_e5m2": (np.array([[0x3C, 0xC2], [0x04, 0x3C]], np.uint8), [[1, -3], [2**-14, 1]]),
    "bfloat16": (np.array([[0x3F80, -0x3FC0], [0x3E00, 0x3F80]], np.int16), [[1, -3], [0.125, 1]]),
}
QUERY = np.eye(2)


@pytest.fixture(params=NUMBERS)
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def scores_of(folder: Path, *words: str) -> list[list[float]]:
    ran = run_in_process("compute", *words, "--score", "dot", "--select", "scores", "--json", folder=folder)
    assert ran.returncode == 0, ran.stderr
    found: list[list[float]] = json.loads(ran.stdout)["scores"]
    return found


def typed_in(message: str, dtype: str) -> str:
    """What a message says to type for a type."""
    typed = message.partition("; type ")[2].partition("; save integers")[0].split(" or ")
    return next(text for text in typed if dtype in text)


def test_an_array_of_a_file_is_refused_with_what_to_type(dtype: str, tmp_path: Path) -> None:
    bits, numbers = NUMBERS[dtype]
    np.save(tmp_path / "k 8.npy", bits)
    np.save(tmp_path / "q.npy", QUERY)
    query = ("--query", "q.npy")
    ran = run_in_process("compute", *query, "--key", "k 8.npy", folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: --key: {bits.dtype} may be the bits of ")
    found = scores_of(tmp_path, *query, *shlex.split(typed_in(ran.stderr, dtype)))
    assert found == np.transpose(numbers).tolist()


def test_an_entry_of_an_archive_is_refused_with_what_to_type(dtype: str, tmp_path: Path) -> None:
    bits, numbers = NUMBERS[dtype]
    np.savez(tmp_path / "dump.npz", q=QUERY, k=bits)
    ran = run_in_process("compute", "dump.npz", folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    found = scores_of(tmp_path, "dump.npz", *shlex.split(typed_in(ran.stderr, dtype)))
    assert found == np.transpose(numbers).tolist()


def test_a_key_of_a_problem_file_is_refused_with_what_to_write(dtype: str, tmp_path: Path) -> None:
    bits, numbers = NUMBERS[dtype]
    np.save(tmp_path / "k.npy", bits)
    (tmp_path / "p.yaml").write_text("query: [[1, 0], [0, 1]]\nkey: k.npy\n")
    ran = run_in_process("compute", "p.yaml", folder=tmp_path)
    assert ran.returncode == 2
    (tmp_path / "p.yaml").write_text(f"query: [[1, 0], [0, 1]]\n{typed_in(ran.stderr, dtype)}\n")
    assert scores_of(tmp_path, "p.yaml") == np.transpose(numbers).tolist()


def test_an_array_of_python_is_refused_with_what_to_write(dtype: str) -> None:
    key, numbers = NUMBERS[dtype]
    with pytest.raises(AttnError) as error:
        attncli.attention(QUERY, key)
    keywords = eval(f"dict({typed_in(str(error.value), dtype)})", {"key": key})
    found = attncli.attention(QUERY, **keywords, score="dot", select=["scores"]).scores
    np.testing.assert_array_equal(found, np.transpose(numbers))


def test_a_scale_is_that_of_heads_as_of_quantized_weights(tmp_path: Path) -> None:
    bits, numbers = NUMBERS["float8_e4m3fn"]
    np.save(tmp_path / "k.npy", bits)
    found = scores_of(tmp_path, "--query", "1 0; 0 1", "--key", "float8_e4m3fn:bits=k.npy,scale=0.5")
    np.testing.assert_array_equal(found, np.transpose(numbers) / 2)
    key: Mapping[str, Mapping[str, np.ndarray]] = {
        "float8_e4m3fn": {"bits": np.stack([bits, bits, bits])[None], "scale": np.array([2.0, 3.0, 4.0])}
    }
    query = np.broadcast_to(QUERY, (1, 3, 2, 2))
    by_heads = attncli.attention(query, key, score="dot", select=["scores"]).scores
    np.testing.assert_array_equal(by_heads[0], [x * np.transpose(numbers) for x in (2, 3, 4)])


def test_weights_of_8_bits_times_a_scale_are_not_read_as_integers() -> None:
    bits = NUMBERS["float8_e4m3fn"][0]
    with pytest.raises(AttnError, match="may be the bits") as error:
        attncli.attention(embeddings=QUERY, w_q={"fp8": {"weight": bits, "scale": 2}})
    assert error.value.hint is not None
    assert error.value.hint.startswith("type {float8_e4m3fn: {bits: …, scale: …}}")


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint16, np.int32, np.int64])
def test_small_integers_of_other_types_are_numbers(dtype: type) -> None:
    key: np.ndarray = np.array([[1, 2], [100, 3]], dtype)
    found = attncli.attention(QUERY, key, score="dot", select=["scores"]).scores
    np.testing.assert_array_equal(found, key.T)


def test_bits_that_are_none_are_refused() -> None:
    for bits in ([[0.5]], [[256]], [[-129]]):
        with pytest.raises(AttnError, match="bits of float8_e5m2 are integers of 8 bits"):
            attncli.attention([[1]], {"float8_e5m2": {"bits": bits}})
