"""A type checker knows the keywords of functions that take the keys of a problem."""

import sys
from pathlib import Path

import pytest

import attncli

USER = """
from typing import assert_type

import numpy as np
from numpy.typing import NDArray
from typing import Any

import attncli

x = np.eye(3)
result = attncli.attention(x, x, x, score="cosine", heads=np.int64(1), scale=0.5, select=["weights"])
assert_type(result, attncli.Result)
assert_type(result.weights, NDArray[Any])
attncli.attention(embeddings=[[1, 2], [3, 4]], w_q={"normal": {"std": 2}}, seed=1, only=0, window=(1, 0), sink=0.5)
problem = attncli.load("p.yaml", mask=None, normalize="entmax:alpha=1.5", dtype=np.float32)
assert_type(problem, attncli.Problem)
assert_type(problem.replace(causal=True), attncli.Problem)
text: str = problem.explain(("cat", "sat"), head="all")
attncli.check(problem, against={"weights": x})
attncli.attention(x, x, scor="cosine")  # type: ignore[call-arg]
attncli.attention(x, x, align="bottom")  # type: ignore[arg-type]
attncli.Problem(query=3)  # type: ignore[arg-type]
"""


def test_a_type_checker_knows_the_keywords_and_finds_misspelt_ones(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    script, root = tmp_path / "user.py", Path(attncli.__file__).parent.parent
    script.write_text(USER)
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\nstrict = true\nmypy_path = {root}\nfollow_imports = silent\n")
    words = ["--config-file", str(config), "--cache-dir", str(tmp_path), "--python-executable", sys.executable]
    output, errors, status = api.run([*words, str(script)])
    assert (status, errors) == (0, ""), output
