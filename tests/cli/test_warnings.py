"""Warnings: one line each on standard error; with --strict they are the error."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.cli.output_options import OutputOptions
from attncli.problem.edits import EditedProblem
from attncli.problem.fields import option_name
from attncli.render.formats import format_choices
from attncli.render.view import View
from tests.arrays import normal
from tests.cli.running import Run

PAIR = "compute --query [[1,2],[3,4]] --key [[1,2],[3,4]]"
NOTHING_DRAWN = "nothing is drawn"
# Words, and the options that have no effect in them, with the reasons.
UNREAD = {
    "a seed": (f"{PAIR} --seed 3", {"seed": NOTHING_DRAWN}),
    "a stream": (f"{PAIR} --generator legacy", {"generator": NOTHING_DRAWN}),
    "a generator of nothing": (f"{PAIR} --init normal", {"init": NOTHING_DRAWN}),
    "a size": (f"{PAIR} --dim 2", {"dim": NOTHING_DRAWN}),
    "columns": (f"{PAIR} --d-k 2 --d-v 2", {"d_k": NOTHING_DRAWN, "d_v": NOTHING_DRAWN}),
    "a size that is known": (
        "compute --embeddings [[1,2],[3,4]] --init normal --seed 1 --token-count 2",
        {"token_count": "no drawn array needs it"},
    ),
    "a seed of zeros": (
        "compute --embeddings [[1,2]] --init zeros --seed 1",
        {"seed": "no drawn array needs it"},
    ),
    "a layout without weights": (f"{PAIR} --weight-layout out_in", {"weight_layout": "there is no weight matrix"}),
    "an alignment": (
        f"{PAIR} --align bottom_right",
        {"align": "no mask and no position scheme reads the positions of the queries"},
    ),
    "decimals of JSON": ("compute t.yaml --json --precision 2", {"precision": "json has every digit"}),
    "the usual decimals of JSON": ("compute t.yaml --json --precision 4", {"precision": "json has every digit"}),
    "decimals of arrays": ("compute t.yaml -o x.npz --precision 2", {"precision": "npz has every digit"}),
    "a cell of JSON": ("compute t.yaml --json --cell 0,0", {"cell": "json has no worked lines"}),
    "terms of JSON": ("compute t.yaml --json --explain --terms all", {"terms": "json has no worked lines"}),
    "terms of tables": (
        "compute t.yaml --terms all", {"terms": "only --explain and --cell work out sums"}
    ),
    "statistics of an array": (
        "compute t.yaml -o x.npy --select weights --stats",
        {"stats": "npy has the results alone; json and csv have their statistics"},
    ),
    "a seed of a complete problem": ("generate t.yaml --seed 1", {"seed": NOTHING_DRAWN}),
    "decimals of a comparison": (
        "compare t.yaml --vary scale=0.5,1 --json --precision 2", {"precision": "json has every digit"}
    ),
}  # fmt: skip
READ = {
    "a seed": "compute --seed 1 --token-count 2 --dim 2 --generator legacy",
    "columns": "compute --embeddings [[1,2],[3,4]] --init normal --seed 1 --d-k 3 --d-v 4",
    "a size": "generate --seed 1 --token-count 2 --dim 2",
    "a seed of a parameter": "compute --query [[1]] --key [[1]] --score general:w=normal --seed 1",
    "a layout of a parameter": "compute --query [[1]] --key [[1]] --score general:w=[[2]] --weight-layout out_in",
    "a layout": "compute --embeddings [[1,2],[3,4]] --w-q [[1,2],[3,4]] --weight-layout out_in",
    "an alignment": f"{PAIR} --align bottom_right --causal",
    "decimals": "compute t.yaml --precision 2",
    "decimals of CSV": "compute t.yaml --format csv --precision 2",
    "a selection": "compute t.yaml --explain --select weights --json",
    "a selection of steps": "compute t.yaml --explain --select weights",
    "a selection beside a cell": "compute t.yaml --cell 0,0 --select weights",
    "all heads beside a cell": "compute t.yaml --cell 0,0 --head all",
    "one file for several readers": "compute seeded.yaml",
}


@pytest.mark.parametrize(("words", "reasons"), UNREAD.values(), ids=UNREAD)
def test_an_option_that_nothing_reads_is_a_warning(
    words: str, reasons: dict[str, str], run: Run, tutorial: str
) -> None:
    ran = run(*words.split())
    assert ran.returncode == 0
    assert ran.stderr.splitlines() == [
        f"attn: warning: --{name.replace('_', '-')} has no effect: {reason}" for name, reason in reasons.items()
    ]


# What is computed, where it is written to, whether it is executed, shown once, or an error, other tests have, and what
# needs a number that is set.
OTHERS = {"gradient", "plan", "format", "json", "output", "watch", "open", "pager", "executor", "safe_csv", "strict"}
OTHERS |= {"changes"}
# The rows of the options that say what is shown of a result: `select` names it, the others set fields of the view.
SHOWN = {name: row for name, row in OutputOptions.rows().items() if name not in OTHERS}
# The fields of a view that no option of `attn compute` sets: other commands do, or they follow from the problem.
NOT_SET = {"result", "command", "remark", "feature", "before", "edited_cells", "about", "parts"}
WRITTEN = [
    *(f"-f {name}" for name in format_choices()),
    *("-f table --cell 0,0", "-o x.npz", "-o x.html", "-o x.ipynb"),
    pytest.param("-o x.svg", marks=pytest.mark.peer),  # Matplotlib draws it
]


def test_every_output_option_is_one_that_changes_what_is_shown_or_is_tested_elsewhere() -> None:
    assert {name for name, row in SHOWN.items() if row.view is None} == {"select"}


def test_every_field_of_a_view_is_set_by_an_option() -> None:
    problem = EditedProblem(spec := attncli.Problem(weights=[[1.0]], value=[[1.0]]).spec, spec)
    given = OutputOptions(cell=["0,0"], head="0", batch="0", size="6x4")
    assert {field.name for field in fields(View)} == {*given.view_fields(problem)} | NOT_SET


@pytest.mark.parametrize("written", WRITTEN)
def test_an_option_changes_what_is_written_or_is_warned_of(written: str, run: Run, tmp_path: Path) -> None:
    arrays = {name: normal(2, 3, 2, seed=seed) for seed, name in enumerate(("query", "key", "value"))}
    if written == "-o x.html":  # the page of fewer steps is quickly made
        arrays = {"weights": np.eye(3)[np.newaxis, np.newaxis].repeat(2, 0).repeat(2, 1), "value": arrays["value"]}
    np.savez(tmp_path / "p.npz", **arrays)

    def result(*options: str) -> tuple[object, list[str]]:
        """What is written, and the options without effect."""
        ran = run("compute", "p.npz", "--heads", "2", *written.split(), *options)
        assert ran.returncode == 0
        contents = [path.read_bytes() for path in tmp_path.glob("x.*")]
        return (ran.stdout, contents), re.findall("warning: (.*) has no effect", ran.stderr)

    without, warnings = result()
    assert warnings == []
    for name, row in SHOWN.items():
        words = [option_name(name), *filter(None, [row.example])]
        shown, unread = result(*words)
        assert unread == ([option_name(name)] if shown == without else []), words
        if row.has_opposite:  # it may be the default
            opposite, also_unread = result(f"--no-{name}")
            assert (opposite == shown, also_unread) == (shown == without, unread), name


# The options that commands have of their own for what they show, an opposite behind a blank, and formats of them all.
OWN_OPTIONS = {
    "compare t.yaml --vary scale=0.5,1,2": (
        ["--stats --no-stats", "--all-pairs", "--precision 1", "--title X", "--select scores"],
        ["table", "json", "csv", "markdown", "latex", "html"],
    ),
    "heads m.npy": (
        ["--heatmap", "--rollout", "--maps", "--precision 1", "--sort first", "--top 1", "--head 0", "--layer 1"],
        ["table", "json", "csv", "markdown", "latex", "html"],
    ),
    "worksheet t.yaml": (["--no-formulas", "--precision 1", "--blank output"], ["md", "tex", "html"]),
}


@pytest.mark.parametrize(
    ("words", "options", "form"),
    [(words, options, form) for words, (options, forms) in OWN_OPTIONS.items() for form in forms],
)
def test_an_option_of_a_command_changes_what_it_writes_or_is_warned_of(
    words: str, options: list[str], form: str, run: Run, tutorial: str, tmp_path: Path
) -> None:
    maps = normal(2, 2, 5, 5, seed=1) ** 2
    np.save(tmp_path / "m.npy", maps / maps.sum(axis=-1, keepdims=True))
    written = ["-f", form] if form in format_choices() else ["-o", f"x.{form}"]

    def result(*options: str) -> tuple[object, bool]:
        """What is written, and whether an option is without effect."""
        ran = run(*words.split(), *written, *options)
        assert ran.returncode == 0, ran.stderr
        contents = {path.name: path.read_bytes() for path in tmp_path.glob("x*")}
        return (ran.stdout, contents), "has no effect" in ran.stderr

    for option in options:
        given = option.split(" --")
        results = [result(*text.split()) for text in ("", given[0], *(f"--{opposite}" for opposite in given[1:]))]
        contents, are_warned = zip(*results, strict=True)
        has_effect = any(content != contents[0] for content in contents)
        assert not are_warned[0]
        assert all(warned != has_effect for warned in are_warned[1:]), option


@pytest.mark.parametrize("words", READ.values(), ids=READ)
def test_an_option_that_is_read_is_no_warning(words: str, run: Run, tutorial: str, tmp_path: Path) -> None:
    (tmp_path / "seeded.yaml").write_text("embeddings: [[1, 2]]\nseed: 1\ndim: 2\nalign: bottom_right\n")
    ran = run(*words.split(), "--strict")
    assert (ran.returncode, ran.stderr) == (0, "")


STRICT = {
    "an option": (f"{PAIR} --seed 3 --align bottom_right", "--seed has no effect: nothing is drawn; --align has no "),
    "nothing attended": (f"{PAIR} --mask [[0,0],[1,1]]", "query_1"),
    "an overflow": ("compute --query [[1e200]] --key [[1e200]]", ""),
    "a file": (f"{PAIR} --mask [[0,0],[1,1]] -o old.csv", "query_1"),
    "an array": (f"{PAIR} --mask [[0,0],[1,1]] --select output -o old.npy", "query_1"),
    "an example": ("demo empty.yaml", "query_1"),
    "a part": ("demo parts.yaml", "masked: "),
    "a problem": ("generate t.yaml --seed 3", "--seed has no effect"),
    "a plan": ("compute t.yaml --plan --seed 3", "--seed has no effect"),
}


@pytest.mark.parametrize(("words", "message"), STRICT.values(), ids=STRICT)
def test_with_strict_a_warning_is_the_error(words: str, message: str, run: Run, tutorial: str, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("old")
    (tmp_path / "parts.yaml").write_text(
        "query: [[1]]\nkey: [[1]]\nparts:\n- {title: open}\n- {title: masked, mask: [[0]]}\n"
    )
    (tmp_path / "empty.yaml").write_text("query: [[1]]\nkey: [[1]]\nmask: [[0]]\n")
    warning, *_ = run(*words.split()).stderr.splitlines()
    assert warning.startswith("attn: warning: ")
    assert message.partition(";")[0] in warning
    (tmp_path / "old.csv").write_text("old")
    (tmp_path / "old.npy").unlink(missing_ok=True)
    ran = run(*words.split(), "--strict")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("attn: --strict: ")
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert (tmp_path / "old.csv").read_text() == "old"
    assert not (tmp_path / "old.npy").exists()


@pytest.mark.parametrize("words", ["list", "show cosine"])
def test_with_strict_a_broken_package_is_an_error(words: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("list", "show"):
        monkeypatch.setattr(f"attncli.cli.commands.{command}.broken_packages", lambda: ["mine can't be imported"])
    assert run(*words.split()).stderr == "attn: warning: mine can't be imported\n"
    ran = run(*words.split(), "--strict")
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", "attn: --strict: mine can't be imported\n")
