"""`attn try`: what it prints and writes, what it refuses, and how it ends."""

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from attncli.cli.commands import COMMANDS
from tests.cli.running import Run
from tests.kernels.wrong_kernels import RIGHT
from tests.problems import write_file

KERNEL = """
import numpy as np
def attention(q, k, v, causal=False, blocks=4):
    print("not a result")
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], 1), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
"""
PROGRAM = """
import sys
import numpy as np
from kernel import attention
given = np.load(sys.argv[1])
np.savez(sys.argv[2], output=attention(given["query"], given["key"], given["value"], causal=True)[0])
"""


@pytest.fixture(autouse=True)
def kernel(tmp_path: Path) -> None:
    write_file(tmp_path, KERNEL, "kernel.py")


def test_the_smallest_input_is_shown_by_hand_and_written_for_a_check(run: Run, tmp_path: Path) -> None:
    ran = run("try", "kernel.py:attention", "--causal", "--inputs", "0", "--dtype", "float64", "-o", "small.yaml")
    lines = ran.stdout.splitlines()
    assert (ran.returncode, ran.stderr) == (1, "")
    assert lines[0].startswith("attention fails on 50 of ")
    assert lines[0].endswith(" inputs; explained by causal_off_by_one.")
    assert "  left at their defaults: blocks" in lines
    assert "Fails already with 1 query, 2 keys, d = 1 (5 numbers):" in lines
    assert "    at query_1, e1: yours 0.5 ± 2e-323, correct 0" in lines
    assert "      C(query_1)[e1] = 1·0 + 0·1 = 0" in lines
    assert lines[-1] == "Next: attn check small.yaml"
    assert "  not a result" in lines  # what it printed, on the smallest input alone
    assert sum("not a result" in line for line in lines) == 1
    checked = run("check", "small.yaml", "--json")
    assert checked.returncode == 1
    explained = json.loads(checked.stdout)["explained_by"]
    assert ["causal_off_by_one"] in [one["slips"] for one in explained]
    again = run("try", "kernel.py:attention", "--causal", "-o", "small.yaml")
    assert (again.returncode, again.stderr) == (
        2,
        "attn: small.yaml: already exists; choose another name, or --force\n",
    )


def test_a_function_that_passes_ends_with_0_and_writes_no_file(run: Run, tmp_path: Path) -> None:
    words = ("try", "kernel.py:attention", "--inputs", "3", "--dtype", "float32", "--json", "-o", "small.yaml")
    ran = run(*words)
    found = json.loads(ran.stdout)
    assert (ran.returncode, found["passes"], found["failed"], found["smallest"]) == (0, True, 0, None)
    assert (found["dtypes"], found["layout"], found["arrays"]) == (["float32"], "bhnd", "numpy")
    assert ran.stderr == "attn: warning: small.yaml is not written: the function fails on no input\n"
    assert not (tmp_path / "small.yaml").exists()


@pytest.mark.deep
def test_what_it_gave_is_written_with_its_digits_however_small(run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, "def attention(q, k, v): return v * 1e-20 + 1e-30", "tiny.py")
    words = ("--inputs", "0", "--dtype", "float64", "--json", "-o", "small.yaml")
    found = json.loads(run("try", "tiny.py:attention", *words).stdout)["smallest"]["returned"]["output"]
    checked = json.loads(run("check", "small.yaml", "--json").stdout)
    assert [result["worst"]["expected"] for result in checked["results"]] == [np.ravel(found)[0]]


@pytest.mark.deep
def test_nan_of_a_query_that_sees_no_key_may_be_right(run: Run, tmp_path: Path) -> None:
    source = KERNEL.replace("causal=False", "mask=None").replace("if causal", "if mask is not None")
    write_file(tmp_path, source.replace("np.tri(*scores.shape[-2:], 1)", "mask"), "kernel.py")
    ran = run("try", "kernel.py:attention", "--inputs", "0", "--dtype", "float64")
    assert "attention fails on " in ran.stdout
    assert ran.stdout.splitlines()[0].endswith("; explained by empty_rows_nan.")
    hint = "  A query that sees no key is to give 0; --empty-rows nan says that NaN is right."
    assert hint in ran.stdout.splitlines()
    words = ("--inputs", "0", "--dtype", "float64", "--empty-rows", "nan", "--quiet")
    assert " passes all " in run("try", "kernel.py:attention", *words).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no function; type attn try kernel.py:attention --causal"),
        (("kernel.py:atention",), "kernel.py: unknown function 'atention'; did you mean 'attention'?"),
        (("kernel.py:attention", "--layout", "hbnd"), "--layout: unknown layout 'hbnd'; did you mean 'hnd'?"),
        (("kernel.py:attention", "--arrays", "cupy"), "--arrays: unknown library 'cupy'; expected one of numpy, torch"),
        (("kernel.py:attention", "--w-q", "1 0; 0 1"), "--w-q: has a size of its own; inputs have many"),
        (("kernel.py:attention", "--mask", "1 0; 0 1"), "--mask: has a size of its own; inputs have many"),
        (("kernel.py:attention", "--dim", "wide"), "--dim: 'wide' is not a whole number"),
        (("kernel.py:attention", "--lengths", "16,0"), "--lengths: 0 is out of range; expected 1 or more"),
        (("kernel.py:attention", "--dtype", "float8_e5m2"), "--dtype: unknown type 'float8_e5m2'; expected one of"),
        (("kernel.py:attention", "--scale", "wide"), "--scale: 'wide' is not a finite number"),
        (("kernel.py:attention", "--inputs", "-1"), "--inputs: -1 is out of range; expected 0 or more"),
        (("kernel.py:attention", "--returns", "outptu"), "--returns: unknown result 'outptu'; did you mean 'output'?"),
        (("kernel.py:attention", "--backward"), "--backward: NumPy's arrays have no gradients; write"),
        (("numpy:interp",), "interp: can't be called with NumPy arrays in any layout: it raises ValueError"),
        (("kernel.py:attention", "--as", "flush"), "--as: unknown convention 'flush'; did you mean 'flash'?"),
        (
            ("kernel.py:attention", "--as", "jax", "--softcap", "2", "--strict"),
            "--strict: jax has no softcap: read as attn reads it",
        ),
        (("kernel.py:attention", "p.yaml", "--command", "a {in} {out}"), "a function and --command contradict"),
        (("--command", "a {in} {out}", "--backward"), "--backward: gradients are tried of a function"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_what_can_not_be_tried_is_an_error_of_one_line(words: tuple[str, ...], message: str, run: Run) -> None:
    ran = run("try", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {message}")
    assert ran.stderr.count("\n") == 1


@pytest.mark.deep
def test_the_arrays_of_a_problem_are_one_more_input(run: Run, tmp_path: Path) -> None:
    source = KERNEL.replace("    weights = np", "    scores = scores + (q == 41).any()\n    weights = np")
    write_file(tmp_path, source.replace("+ (q", "* (1 + (q").replace(".any()", ".any())"), "kernel.py")
    write_file(
        tmp_path, "query: [[41, 1]]\nkey: [[1, 0], [0, 1]]\nvalue: [[1], [2]]\nexpected: {output: [[1]]}\n", "p.yaml"
    )
    words = ("try", "kernel.py:attention", "p.yaml", "--inputs", "0", "--json", "--dtype", "float64")
    found = json.loads(run(*words).stdout)
    assert (found["failed"], found["smallest"]["kind"]) == (1, "differs")


@pytest.mark.deep
@pytest.mark.parametrize("example", [f"{example} --inputs 5 --dtype float64" for example in COMMANDS["try"].examples])
def test_its_examples_run_as_they_are(example: str, run: Run, tmp_path: Path) -> None:
    right = RIGHT + "\nattention_of_layout = attention\n"
    if "bnhd" in example:
        right += (
            "def attention(q, k, v):\n"
            "    return attention_of_layout(*(x.swapaxes(1, 2) for x in (q, k, v)))[0].swapaxes(1, 2)\n"
        )
    if "window" in example:
        right += "def attention(q, k, v, window=None):\n    return attention_of_layout(q, k, v, window=window)\n"
    if "backward" in example:
        right = right.replace("def attention_backward(q, k, v, grad_output):\n", BACKWARD_START)
    write_file(tmp_path, right, "kernel.py")
    write_file(tmp_path, f"#!{sys.executable}\n{PROGRAM}", "kernel")
    (tmp_path / "kernel").chmod(0o755)
    program, *words = shlex.split(example)
    ran = run(*words)
    assert (program, ran.returncode) == ("attn", 0), ran.stdout + ran.stderr
    assert " passes all " in ran.stdout


BACKWARD_START = """def attention_backward(q, k, v, grad_output, causal=False):
    if causal:
        return causal_backward(q, k, v, grad_output)
    return plain_backward(q, k, v, grad_output)


def causal_backward(q, k, v, grad_output):
    seen = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
    scale = q.shape[-1] ** -0.5
    scores = np.where(seen, q @ k.swapaxes(-1, -2) * scale, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    dw = grad_output @ v.swapaxes(-1, -2)
    ds = scale * weights * (dw - (dw * weights).sum(axis=-1, keepdims=True))
    return ds @ k, ds.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ grad_output


def plain_backward(q, k, v, grad_output):
"""


@pytest.mark.deep
def test_ctrl_c_ends_it_with_130_and_ends_the_function(run_process: Run, tmp_path: Path) -> None:
    source = "import os, time\ndef attention(q, k, v): open('pid', 'w').write(str(os.getpid())); time.sleep(60)\n"
    write_file(tmp_path, source, "slow.py")
    words = [sys.executable, "-m", "attncli", "try", "slow.py:attention", "--timeout", "60"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == (b"", b"")
    assert process.returncode == 130
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()


@pytest.mark.deep
def test_a_kernel_of_an_own_layout_is_found_by_trying(run: Run, tmp_path: Path) -> None:
    source = KERNEL.replace("    print", "    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))\n    print")
    source = source.replace("@ v\n", "@ v).swapaxes(1, 2)\n").replace("return weights", "return (weights")
    write_file(tmp_path, source, "kernel.py")
    found = json.loads(run("try", "kernel.py:attention", "--inputs", "0", "--dtype", "float64", "--json").stdout)
    assert (found["passes"], found["layout"]) == (True, "bnhd")
    assert found["called"][0].endswith("bnhd (batch, tokens, heads, features), found by trying")


@pytest.mark.deep
def test_the_numbers_of_the_report_are_those_of_the_function(run: Run, tmp_path: Path) -> None:
    found = json.loads(
        run("try", "kernel.py:attention", "--causal", "--inputs", "0", "--dtype", "float64", "--json").stdout
    )["smallest"]
    query, key, value = (np.array(found["arguments"][name]) for name in ("query", "key", "value"))
    weights = np.exp(query @ key.swapaxes(-1, -2))  # of 1 feature, and all keys are seen
    wrong = weights / weights.sum(axis=-1, keepdims=True) @ value
    assert np.allclose(found["returned"]["output"], wrong[0, 0])
    assert found["correct"] == {"output": [[0.0]]}
