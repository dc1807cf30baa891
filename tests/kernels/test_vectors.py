"""Test vectors: the same bytes from a seed, right numbers, and mistakes that they really reveal, in any language."""

import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.checks.check import check, read_expected
from attncli.checks.compare import Checker
from attncli.checks.report import CheckOptions
from attncli.checks.slips import SLIPS
from attncli.checks.slips.search import attempts, run_attempt
from attncli.checks.tolerance import compute_reference, in_type
from attncli.kernels.vector_files import KINDS, MANIFEST, Pack
from attncli.kernels.vectors import ROWS, STEP, TYPES, VectorRow, make_vector
from attncli.problem.arrays import GivenArray
from tests.cli.conftest import run  # noqa: F401 - a fixture
from tests.cli.running import Run
from tests.schemas import assert_valid

BY_NAME = {row.name: row for row in ROWS}
GUIDE = Path(__file__).parents[2] / "docs" / "try.md"
# What each vector is there for.
TELLING = {
    "groups": "kv_heads_tiled",
    "causal": "causal_off_by_one",
    "causal_top_left": "causal_bottom_right",
    "causal_bottom_right": "causal_top_left",
    "window": "window_too_wide",
    "softcap": "no_softcap",
    "softcap_bias": "softcap_after_bias",
    "sink": "no_sink",
    "bias": "no_bias",
    "key_lengths": "key_lengths_off",
    "tiles": "tail_dropped",
    "overflow": "no_maximum",
}
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_bytes_and_another_seed_others(kind: str) -> None:
    first, again, other = (Pack([make_vector(BY_NAME["sink_window"], seed)], seed).files(kind) for seed in (0, 0, 1))
    assert first == again
    assert list(first) == [f"sink_window.{kind}", MANIFEST]
    assert all(first[name] != other[name] for name in first)


def test_the_numbers_of_a_vector_do_not_depend_on_others() -> None:
    alone = Pack([make_vector(BY_NAME["mask"])], 0).files("json")["mask.json"]
    assert Pack([make_vector(BY_NAME[name]) for name in ("plain", "mask")], 0).files("json")["mask.json"] == alone


@each_row
def test_every_type_has_the_inputs_exactly(row: VectorRow) -> None:
    arrays = [x for x in make_vector(row).arrays.values() if x.dtype.kind == "f"]
    for array in arrays:
        assert (array * STEP == np.round(array * STEP)).all()
        assert all((Precision(dtype).round(array) == array).all() for dtype in TYPES)


@each_row
def test_the_results_are_right(row: VectorRow) -> None:
    vector = make_vector(row)
    given = {name: GivenArray(array, dtype="float32") for name, array in vector.results.items()}
    report = check(vector.problem, given, CheckOptions(tries_slips=False))
    assert report.agrees
    assert report.count == sum(array.size for array in vector.results.values())


@each_row
def test_a_mistake_that_a_vector_reveals_changes_its_output_beyond_the_tolerance(row: VectorRow) -> None:
    vector = make_vector(row)
    tolerance, right = vector.tolerances(row.dtype)["output"] / 2, vector.results["output"]
    claimed = {slip for slip in vector.reveals["output"] if not SLIPS[slip].number}
    for attempt in attempts(in_type(vector.problem, "float64"), row.dtype):
        if attempt.slips[0] in claimed:
            with np.errstate(all="ignore"):
                wrong = run_attempt(attempt, ["output"])["output"]
            close = wrong.shape == right.shape and np.allclose(wrong, right, rtol=0, atol=tolerance, equal_nan=True)
            assert not close, attempt.slips[0]
    assert len(claimed) > 10


@each_row
def test_the_tolerance_is_no_less_than_the_error_of_a_right_kernel_and_not_much_more(row: VectorRow) -> None:
    vector, options = make_vector(row), CheckOptions()
    problem = vector.problem_in(row.dtype)
    given = {name: GivenArray(array, dtype=row.dtype) for name, array in vector.results.items()}
    checker = Checker(
        problem, compute_reference(problem, list(given), options), read_expected(problem, given, options), options
    )
    stated = vector.tolerances(row.dtype)
    for name, numbers in checker.quantities.items():
        allowed = (
            checker.tolerance(name).allowed(numbers.array, checker.reference.value(name), numbers.half_units).max()
        )
        assert allowed <= stated[name], name
        assert stated[name] < 100 * allowed or row.is_loud, name


@pytest.mark.parametrize(("name", "slip"), TELLING.items())
def test_each_vector_reveals_the_mistake_that_it_is_for(name: str, slip: str) -> None:
    assert slip in SLIPS
    assert slip in make_vector(BY_NAME[name]).reveals["output"]


@pytest.mark.parametrize("row", [BY_NAME[name] for name in ("plain", "tiles", "float16")], ids=lambda row: row.name)
def test_a_right_kernel_of_its_type_is_within_the_tolerance(row: VectorRow) -> None:
    vector = make_vector(row)
    q, k, v = (vector.arrays[name].astype(np.float32) for name in ("query", "key", "value"))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(q.shape[-1]))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    output = (weights / weights.sum(axis=-1, keepdims=True) @ v).astype(row.dtype)
    assert abs(output - vector.results["output"]).max() <= vector.tolerances(row.dtype)["output"]


def test_a_mistake_is_under_the_first_result_that_reveals_it() -> None:
    reveals = make_vector(BY_NAME["sink"]).reveals
    assert "lse_without_sink" in reveals["lse"]
    assert "groups_tiled_backwards" in make_vector(BY_NAME["groups"]).reveals["grad_value"]
    every = [slip for slips in reveals.values() for slip in slips]
    assert len(every) == len(set(every))


def test_pages_hold_the_keys_of_their_table() -> None:
    arrays = make_vector(BY_NAME["pages"]).arrays
    assert arrays["key"].ndim == 4
    assert arrays["page_table"].tolist() == [[6, 5, 4], [3, 2, 1]]


def test_numpy_reads_an_archive_and_the_manifest_says_what_is_in_it() -> None:
    files = Pack([make_vector(BY_NAME["mask"])], 0).files("npz")
    arrays, (row,) = np.load(io.BytesIO(files["mask.npz"])), json.loads(files[MANIFEST])["vectors"]
    assert {name: list(arrays[name].shape) for name in row["shapes"]} == row["shapes"]
    assert arrays["lse"][:, :, 1].tolist() == [[-np.inf] * 2] * 2
    assert_valid(files[MANIFEST].decode())


@pytest.mark.parametrize("kind", KINDS)
def test_attn_check_reads_each_kind_of_file(run: Run, kind: str) -> None:  # noqa: F811 - a fixture
    ran = run("vectors", "causal_bottom_right", "bfloat16", "pages", "-o", "pack", "--files", kind)
    assert ran.stdout.startswith("3 vectors: ")
    ran = run("check", "pack", "--quiet")
    assert (ran.returncode, ran.stdout) == (0, "3 of 3 agree.\n")


def test_what_the_command_refuses(run: Run, tmp_path: Path) -> None:  # noqa: F811 - a fixture
    assert "unknown vector 'nope'" in run("vectors", "nope").stderr
    assert "no file is written" in run("vectors", "plain", "--files", "json").stderr
    assert run("vectors", "plain", "--force", "--strict").returncode == 2
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    assert "already exists" in run("vectors", "plain", "-o", "there").stderr
    assert "unknown kind of files" in run("vectors", "plain", "-o", "new", "--files", "csv").stderr


@pytest.mark.deep
@pytest.mark.parametrize(
    ("language", "tool", "file", "kernel", "build"),
    [
        ("c", "gcc", "vectors.c", "kernel.c", "gcc -Wall vectors.c kernel.c -lm -o test && ./test"),
        ("js", "node", "vectors.mjs", "kernel.mjs", "node vectors.mjs"),
        ("rust", "rustc", "vectors.rs", "kernel.rs", "rustc --edition 2021 --test vectors.rs -o test && ./test"),
    ],
)
@pytest.mark.parametrize("scale", ["0.5", "1.0"])
def test_the_programs_of_the_guide_tell_a_right_kernel_from_a_wrong_one(
    tmp_path: Path, language: str, tool: str, file: str, kernel: str, build: str, scale: str
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    found = re.search(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    (tmp_path / file).write_text(found[1], encoding="utf-8")
    (tmp_path / kernel).write_text(KERNELS[language].replace("SCALE", scale), encoding="utf-8")
    (tmp_path / "pack").mkdir()
    for name, content in (
        Pack([make_vector(BY_NAME["plain"])], 0).files("json" if language == "js" else "safetensors").items()
    ):
        (tmp_path / "pack" / name).write_bytes(content)
    ran = subprocess.run(build, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode == 0) == (scale == "0.5"), ran.stdout + ran.stderr


KERNELS = {
    "c": """
#include <math.h>
void attention(const float *q, const float *k, const float *v, float *out) {
  for (int bh = 0; bh < 4; bh++) for (int i = 0; i < 5; i++) {
    float sum = 0, row[3] = {0};
    for (int j = 0; j < 7; j++) {
      float s = 0;
      for (int c = 0; c < 4; c++) s += q[(bh * 5 + i) * 4 + c] * k[(bh * 7 + j) * 4 + c];
      float w = expf(s * SCALE); sum += w;
      for (int e = 0; e < 3; e++) row[e] += w * v[(bh * 7 + j) * 3 + e];
    }
    for (int e = 0; e < 3; e++) out[(bh * 5 + i) * 3 + e] = row[e] / sum;
  }
}
""",
    "js": """
export const attention = (q, k, v) => q.map((heads, b) => heads.map((rows, h) => rows.map((x) => {
  const w = k[b][h].map((y) => Math.exp(SCALE * y.reduce((sum, own, c) => sum + own * x[c], 0)));
  const sum = w.reduce((a, b) => a + b);
  return v[b][h][0].map((_, e) => w.reduce((a, own, j) => a + own * v[b][h][j][e], 0) / sum);
})));
""",
    "rust": """
pub fn attention(q: &[f32], k: &[f32], v: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; 60];
    for bh in 0..4 { for i in 0..5 {
        let w: Vec<f32> = (0..7).map(|j| (SCALE * (0..4).map(|c| q[(bh * 5 + i) * 4 + c] * k[(bh * 7 + j) * 4 + c])
            .sum::<f32>()).exp()).collect();
        for e in 0..3 {
            let sum: f32 = (0..7).map(|j| w[j] * v[(bh * 7 + j) * 3 + e]).sum();
            out[(bh * 5 + i) * 3 + e] = sum / w.iter().sum::<f32>();
        }
    } }
    out
}
""",
}
