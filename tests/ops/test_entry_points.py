"""Operators of installed packages: own ones work in files, blocks, lists and explanations."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = '''
"""Operators of another package."""

from pathlib import Path
from typing import Annotated

import numpy as np

from attncli import Factorization, OnlineNormalizer, Range, normalizer, position, score
from attncli.numbers.terms import number

Path("imported").touch()  # a file that tells the tests of the import


def doubled_by_hand(write, query, key, result, *, times):
    """The product and its multiple."""
    return [write.equation(number(times) * (query @ key), result)]


@score(
    formula="Sᵢⱼ = t Qᵢ·Kⱼ",
    shapes="query[n d], key[m d] -> [n m]",
    source="my own",
    example={"query": [[1, 2]], "key": [[3, 4]], "times": 2, "gives": [[22]]},
    factorization=Factorization(lambda query, times: query * times, lambda key, times: key),
    by_hand=doubled_by_hand,
)
def multiple(query, key, *, times: float = 2.0):
    """A multiple of the dot product."""
    return query @ key.mT * times


def exponentials(scores, running_max, *, sharpness, out=None):
    """The numerators."""
    return np.exp(sharpness * (scores if running_max is None else scores - running_max))


@normalizer(
    formula="Aᵢⱼ = exp(β Sᵢⱼ) / Σⱼ exp(β Sᵢⱼ)",
    shapes="scores[n m] -> [n m]",
    source="my own",
    example={"scores": [[0, 0]], "gives": [[0.5, 0.5]]},
    is_distribution=True,
    online=OnlineNormalizer(exponentials, exp_scale=lambda parameters: parameters["sharpness"]),
)
def sharp(scores, *, sharpness: Annotated[float, Range(above=0)] = 1.5):
    """Softmax of the scores times a sharpness."""
    numerator = exponentials(scores, scores.max(axis=-1, keepdims=True), sharpness=sharpness)
    return numerator / numerator.sum(axis=-1, keepdims=True)


@position(
    formula="Bᵢⱼ = −r √|posᵢ − j|",
    shapes="query_positions[n], key_positions[m] -> [n m]",
    source="my own",
    example={"query_positions": [0], "key_positions": [0, 4], "rate": 0.5, "gives": [[0, -1]]},
    acts_on="scores",
)
def decay(query_positions, key_positions, heads=None, *, rate: float = 0.25):
    """Scores fall with the root of the distance."""
    bias = -rate * np.sqrt(abs(query_positions[..., :, None] - key_positions))
    return bias if heads is None else np.broadcast_to(bias, (*bias.shape[:-2], heads, *bias.shape[-2:]))
'''
MASKS = '''
"""A mask of another package."""

import attncli


@attncli.mask(
    formula="visible where (posᵢ − j) mod step = 0",
    shapes="query_positions[n], key_positions[m] -> [n m]",
    source="my own",
    example={"query_positions": [0], "key_positions": [0, 1, 2], "step": 2, "gives": [[True, False, True]]},
)
def strided(query_positions, key_positions, *, step: int = 2):
    """Every second key, counted from the query."""
    return (query_positions[..., :, None] - key_positions) % step == 0
'''
ENTRY_POINTS = """
[attncli.operators]
mine = own_operators
strided = own_masks:strided
"""
PROBLEM = """
embeddings: [[1, 0], [0, 1], [1, 1]]
score: multiple:times=3
normalize: {sharp: {sharpness: 0.5}}
position: decay:rate=2
"""
IN_BLOCKS = """
import numpy as np
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from tests.problems import problem

x = np.random.default_rng(0).standard_normal((37, 4))
own = problem(
    query=x, key=x, score="multiple:times=0.5", normalize="sharp:sharpness=2.5", position="decay:rate=0.1",
    mask="strided:step=3", causal=True,
)
whole = run(own, ("output",), every_step=True).output
sizes = BlockSizes(dense_cells=1, rows=5, masked_rows=5, tile_cells=25)
in_blocks = run(own, ("output",), options=RunOptions("serial", sizes=sizes)).output
print(np.abs(whole - in_blocks).max() < 1e-12, np.abs(whole).max() > 1)
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


def install(folder: Path, modules: dict[str, str], entry_points: str) -> None:
    """Put modules and the metadata of a package that has them in a folder, as an installer does."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    metadata = folder / "own_operators-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: own-operators\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)


def runner(site: Path, folder: Path) -> Run:
    """Run Python in a folder, with a folder of packages."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)]), "PYTHONIOENCODING": "utf-8"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=60, check=False
        )

    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run Python where a package with operators is installed."""
    site = tmp_path / "site"
    site.mkdir()
    install(site, {"own_operators": PACKAGE, "own_masks": MASKS}, ENTRY_POINTS)
    (tmp_path / "own.yaml").write_text(PROBLEM, encoding="utf-8")
    return runner(site, tmp_path)


def attn(run: Run, *words: str) -> str:
    """What `attn` prints; it has to succeed without a word on standard error."""
    ran = run("-m", "attncli", *words)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.deep
def test_operators_of_a_package_are_listed_last_and_shown(run: Run) -> None:
    listed = attn(run, "list")
    for name in ("multiple", "sharp", "decay", "strided"):
        assert re.search(rf"^ {name} ", listed, re.MULTILINE)
    assert listed.index(" euclidean ") < listed.index(" multiple ") < listed.index("normalizers")
    shown = attn(run, "show", "strided")
    assert "visible where (posᵢ − j) mod step = 0" in shown
    assert "step: integer = 2" in shown


@pytest.mark.deep
def test_operators_of_a_package_work_in_a_file_and_are_explained(run: Run) -> None:
    explained = attn(run, "compute", "own.yaml", "--explain")
    assert "Sᵢⱼ = t Qᵢ·Kⱼ" in explained
    assert "times = 3" in explained
    assert "sharpness = 0.5" in explained
    assert "rate = 2" in explained
    assert re.search(r"^  3·\d = \d$", explained, re.MULTILINE)


def test_a_mask_of_a_package_works_in_a_file_and_its_picture(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(f"{PROBLEM}mask: strided:step=2\ncausal: true\n", encoding="utf-8")
    explained = attn(run, "compute", "own.yaml", "--explain")
    assert "● visible: 4   □ strided: 4   ▷ after the query (causal): 1" in explained


@pytest.mark.deep
def test_operators_of_a_package_in_blocks_agree_with_dense(run: Run) -> None:
    ran = run("-c", IN_BLOCKS)
    assert (ran.stdout, ran.stderr) == ("True True\n", "")


@pytest.mark.deep
def test_packages_are_imported_only_for_lists_completion_and_unknown_names(run: Run, tmp_path: Path) -> None:
    imported = tmp_path / "imported"
    table = ["--embeddings", "[[1, 2], [3, 4]]", "--score", "gaussian:sigma=2", "--normalize", "sparsemax"]
    for words in (["compute", *table], ["compute", *table, "--w-q", "randint", "--seed", "1"], ["compute", "--help"]):
        attn(run, *words)
        assert not imported.exists()
    ran = run("-m", "attncli", "compute", *table[:-1], "sharpp")
    assert ran.stderr == "attn: --normalize: unknown normalize 'sharpp'; did you mean 'sharp'?\n"
    assert imported.exists()


@pytest.mark.deep
def test_a_package_that_fails_to_import_is_named_only_where_operators_are_listed(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    install(site, {"own_operators": "raise ValueError('not today')"}, "[attncli.operators]\nmine = own_operators\n")
    run = runner(site, tmp_path)
    ran = run("-m", "attncli", "list")
    assert ran.returncode == 0
    assert ran.stdout.startswith("scores\n")
    assert ran.stderr == (
        "attn: warning: package own_operators: its operators can't be loaded (ValueError: not today);"
        " fix or uninstall it\n"
    )
    attn(run, "compute", "--embeddings", "[[1, 2], [3, 4]]")
