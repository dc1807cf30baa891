"""`attn compute --watch`: computed again when a file is saved, in this process, where edits stand for events."""

import io
import json
import os
import re
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

import numpy as np
import pytest

from attncli.cli import output
from attncli.cli import watch as watching
from tests.cli.running import Ran, Run

PROBLEM = "query: [[1, 0]]\nkey: [[1, 0], [0, 1]]\nvalue: [[{}], [0]]\nscore: dot\nnormalize: none\n"
Edit = Callable[[], object]
Watch = Callable[..., Ran]


def nothing() -> None:
    """An event of which nothing was saved."""


@pytest.fixture
def watch(run: Run, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Call `attn compute … --watch`; each of the edits is made while it waits, and Ctrl-C ends it after the last."""

    def compute(*words: str, edits: Iterable[Edit] = ()) -> Ran:
        remaining = iter(edits)

        def events(_folders: Iterable[Path]) -> Generator[None, None, None]:
            for edit in remaining:
                edit()
                yield
            raise KeyboardInterrupt

        monkeypatch.setattr(watching, "find_events", lambda _option: events)
        return run("compute", *words, "--watch")

    return compute


@pytest.fixture
def save(tmp_path: Path) -> Callable[[str, str | bytes], Edit]:
    """An edit that writes a file, later than it was written before, as clocks of file systems may be coarse."""

    def edit(name: str, content: str | bytes) -> Edit:
        def write() -> None:
            path = tmp_path / name
            time = path.stat().st_mtime_ns + 10**6 if path.exists() else None
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            if time is not None:
                os.utime(path, ns=(time, time))

        return write

    return edit


Save = Callable[[str, str | bytes], Edit]


def lines(text: str) -> list[str]:
    """The lines on standard error, without their times."""
    return [re.sub(r"^attn: (\d\d:\d\d:\d\d )?", "", line) for line in text.splitlines()]


def test_a_saved_file_is_computed_again_and_what_changed_is_marked(watch: Watch, save: Save) -> None:
    save("p.yaml", PROBLEM.format(1))()
    ran = watch("p.yaml", "--select", "weights,output", edits=[save("p.yaml", PROBLEM.format(3))])
    assert ran.returncode == 130
    first, second = ran.stdout.split("\n\ndot")
    assert "▲" not in first
    assert re.search(r"^query_1 +3▲$", second, re.MULTILINE)
    assert re.search(r"^query_1 +1 +0$", second, re.MULTILINE)
    assert lines(ran.stderr) == ["watching p.yaml; Ctrl-C ends it", "p.yaml saved, changed: output 1 of 1"]


def npy(*rows: list[float]) -> bytes:
    np.save(stream := io.BytesIO(), np.array(rows))
    return stream.getvalue()


def npz(**arrays: list[list[float]]) -> bytes:
    np.savez(stream := io.BytesIO(), **{name: np.array(rows) for name, rows in arrays.items()})
    return stream.getvalue()


NAMED = "query: [[1, 0]]\nkey: [[1, 0], [0, 1]]\nvalue: {}\nscore: dot\nnormalize: none\n"
SCORE = "score: {general: {w: w.csv}}\nquery: [[1, 0]]\nkey: [[1, 0], [0, 1]]\nnormalize: none\n"


@pytest.mark.parametrize(
    ("words", "files", "name", "content"),
    [
        (["p.yaml"], {"p.yaml": NAMED.format("v.csv"), "v.csv": "1\n0\n"}, "v.csv", "3\n0\n"),
        (["d/p.yaml"], {"d/p.yaml": NAMED.format("v.csv"), "d/v.csv": "1\n0\n"}, "d/v.csv", "3\n0\n"),
        (["p.yaml", "--value", "v.csv"], {"p.yaml": PROBLEM.format(1), "v.csv": "1\n0\n"}, "v.csv", "3\n0\n"),
        (["p.yaml"], {"p.yaml": NAMED.format("v.npy"), "v.npy": npy([1], [0])}, "v.npy", npy([3], [0])),
        (["p.yaml"], {"p.yaml": NAMED.format("a.npz#v"), "a.npz": npz(v=[[1], [0]])}, "a.npz", npz(v=[[3], [0]])),
        (["p.yaml"], {"p.yaml": SCORE, "w.csv": "1,0\n0,1\n"}, "w.csv", "3,0\n0,1\n"),
        (
            ["--query", "1 0", "--key", "1 0; 0 1", "--score", "general:w=w.csv"],
            {"w.csv": "1,0\n0,1\n"},
            "w.csv",
            "3,0\n0,1\n",
        ),
        (["a.npz"], {"a.npz": npz(query=[[1]], key=[[1]])}, "a.npz", npz(query=[[1]], key=[[3]])),
    ],
    ids=["csv", "in a folder", "option", "npy", "npz", "parameter", "parameter of an option", "problem of arrays"],
)
def test_every_file_that_is_read_is_watched(
    words: list[str], files: dict[str, str | bytes], name: str, content: str | bytes,
    watch: Watch, save: Save, tmp_path: Path,
) -> None:  # fmt: skip
    (tmp_path / "d").mkdir()
    for file, first in files.items():
        save(file, first)()
    ran = watch(*words, "--select", "output", edits=[save(name, content)])
    watching, saved = lines(ran.stderr)
    assert watching == f"watching {' and '.join(files)}; Ctrl-C ends it"
    assert saved.startswith(f"{name} saved, changed: output ")
    assert "▲" in ran.stdout


def test_a_file_is_watched_as_long_as_it_is_named(watch: Watch, save: Save) -> None:
    save("p.yaml", NAMED.format("a.csv"))()
    save("a.csv", "1\n0\n")()
    save("b.csv", "2\n0\n")()
    edits = [
        save("b.csv", "3\n0\n"),
        save("p.yaml", NAMED.format("b.csv")),
        save("a.csv", "5\n0\n"),
        save("b.csv", "4\n0\n"),
    ]
    _, *saved = lines(watch("p.yaml", "--select", "output", edits=edits).stderr)
    assert saved == ["p.yaml saved, changed: output 1 of 1", "b.csv saved, changed: output 1 of 1"]


@pytest.mark.parametrize("half", ["query: [[1, 0]\nkey", "", "query: [[1, 0]]\nkey: [[1"])
def test_a_half_saved_file_is_an_error_until_it_is_whole(half: str, watch: Watch, save: Save) -> None:
    save("p.yaml", PROBLEM.format(1))()
    edits = [save("p.yaml", half), nothing, nothing, save("p.yaml", PROBLEM.format(3))]
    ran = watch("p.yaml", "--json", edits=edits)
    _, error, saved = lines(ran.stderr)
    assert error.startswith("p.yaml")
    assert saved == "p.yaml saved, changed: output 1 of 1"
    assert [json.loads(line)["output"] for line in ran.stdout.splitlines()] == [[[1.0]], [[3.0]]]


def test_the_error_of_a_file_that_is_whole_at_once_is_not_shown(watch: Watch, save: Save) -> None:
    save("p.yaml", PROBLEM.format(1))()
    ran = watch("p.yaml", edits=[save("p.yaml", "query: ["), save("p.yaml", PROBLEM.format(1)), nothing])
    assert lines(ran.stderr)[1:] == ["p.yaml saved, no number changed"]


@pytest.mark.parametrize("broken", ["p.yaml", "v.csv"])
def test_a_file_that_disappears_is_an_error_until_it_is_back(
    broken: str, watch: Watch, save: Save, tmp_path: Path
) -> None:
    files = {"p.yaml": NAMED.format("v.csv"), "v.csv": "1\n0\n"}
    for name, content in files.items():
        save(name, content)()
    edits = [(tmp_path / broken).unlink, nothing, save(broken, files[broken])]
    _, error, saved = lines(watch("p.yaml", edits=edits).stderr)
    assert error == f"{broken}: there is no such file"
    assert saved == f"{broken} saved, no number changed"


def test_what_changed_is_marked_against_the_last_numbers_not_the_error(watch: Watch, save: Save) -> None:
    save("p.yaml", PROBLEM.format(3))()
    edits = [save("p.yaml", "query: ["), nothing, save("p.yaml", PROBLEM.format(1))]
    assert "1▼" in watch("p.yaml", "--explain", edits=edits).stdout


def test_a_mistake_that_was_there_from_the_start_can_be_mended(watch: Watch, save: Save) -> None:
    save("p.yaml", "quary: [[1, 0]]")()
    ran = watch("p.yaml", "--select", "output", edits=[nothing, save("p.yaml", PROBLEM.format(1))])
    error, watching, saved = lines(ran.stderr)
    assert error.startswith("p.yaml, line 1: unknown key 'quary'")
    assert (watching, saved) == ("watching p.yaml; Ctrl-C ends it", "p.yaml saved, computed")
    assert ran.stdout.startswith("dot")


def test_the_wrong_numbers_of_a_file_that_an_option_names_can_be_mended(watch: Watch, save: Save) -> None:
    save("v.csv", "1\n")()
    inline = ("--query", "1 0", "--key", "1 0; 0 1", "--value", "v.csv", "--select", "output", "--json")
    ran = watch(*inline, edits=[save("v.csv", "1\n1\n")])
    assert json.loads(ran.stdout)["output"] == [[1.0]]


def test_the_name_of_a_file_that_is_not_there_can_be_mended_in_the_problem(watch: Watch, save: Save) -> None:
    save("p.yaml", PROBLEM.format(1).replace("[[1], [0]]", "none.csv"))()
    ran = watch("p.yaml", "--select", "output", "--json", edits=[save("p.yaml", PROBLEM.format(1))])
    assert lines(ran.stderr)[0] == "none.csv: there is no such file"
    assert json.loads(ran.stdout)["output"] == [[1.0]]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["p.yaml", "--mask", "none.csv"], "attn: none.csv: there is no such file"),
        (["none.yaml", "--value", "v.csv"], "attn: none.yaml: there is no such file"),
        (["none.yaml"], "attn: none.yaml: there is no such file"),
        (["p.yaml", "--select", "wieghts"], "attn: --select: unknown result 'wieghts'"),
        (["p.yaml", "--heads", "x"], "attn: --heads: 'x' is not a whole number"),
        (["p.yaml", "--pager"], "attn: --pager and --watch contradict each other; leave out one of them"),
        (["p.yaml", "--plan"], "attn: --plan computes nothing, so --watch would have no effect; leave out one of them"),
        (["-"], "attn: standard input: is a stream, which can be read only once; name a file, or leave out --watch"),
        (["folder"], "attn: folder: is a folder; name a file in it"),
        (["p.yaml", "--mask", "pipe"], "attn: pipe: is a stream, which can be read only once; name a file"),
        (
            ["--query", "1", "--key", "1"],
            "attn: --watch: the problem is not in a file; name a file",
        ),
    ],
)
def test_what_no_save_can_mend_ends_the_command(
    words: list[str], error: str, watch: Watch, save: Save, tmp_path: Path
) -> None:
    save("p.yaml", PROBLEM.format(1))()
    save("v.csv", "1\n0\n")()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    ran = watch(*words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(error)


def test_without_watchfiles_it_is_said_how_to_install_it(run: Run, save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    save("p.yaml", PROBLEM.format(1))()
    monkeypatch.setattr(watching, "find_spec", lambda _name: None)
    ran = run("compute", "p.yaml", "--watch")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "attn: --watch: needs the package watchfiles; install it: pip install 'attncli[watch]'\n"


def test_each_result_in_json_is_one_line(watch: Watch, save: Save) -> None:
    save("p.yaml", PROBLEM.format(1))()
    ran = watch("p.yaml", "--json", "--explain", edits=[save("p.yaml", PROBLEM.format(value)) for value in (2, 3)])
    assert [json.loads(line)["output"] for line in ran.stdout.splitlines()] == [[[1.0]], [[2.0]], [[3.0]]]


@pytest.mark.parametrize(("name", "divider"), [("yaml", "---"), ("csv", ""), ("markdown", ""), ("latex", "")])
def test_between_two_results_in_another_format_there_is_a_line(
    name: str, divider: str, watch: Watch, run: Run, save: Save
) -> None:
    save("p.yaml", PROBLEM.format(1))()
    words = ("p.yaml", "--format", name, "--select", "weights")
    one = run("compute", *words).stdout
    both = watch(*words, edits=[save("p.yaml", PROBLEM.format(2))]).stdout
    assert both == f"{one}{divider}\n{run('compute', *words).stdout}"


def test_a_file_is_written_again_each_time(watch: Watch, save: Save, tmp_path: Path) -> None:
    save("p.yaml", PROBLEM.format(1))()
    written = []
    edits = [
        save("p.yaml", PROBLEM.format(2)),
        lambda: written.append((tmp_path / "x.csv").read_text()),
        save("p.yaml", "query: ["),
        nothing,
    ]
    ran = watch("p.yaml", "-o", "x.csv", "--select", "output", edits=edits)
    assert ran.stdout == ""
    assert lines(ran.stderr)[1] == "p.yaml saved, changed: output 1 of 1"
    assert written == [(tmp_path / "x.csv").read_text()] == [",e1\nquery_1,2.0\n"]


def test_other_shapes_are_said_and_nothing_is_marked(watch: Watch, save: Save) -> None:
    save("p.yaml", PROBLEM.format(1))()
    edits = [save("p.yaml", "query: [[1], [2]]\nkey: [[1]]\n")]
    ran = watch("p.yaml", edits=edits)
    shapes = "scores is 2 × 1 (was 1 × 2), weights is 2 × 1 (was 1 × 2), output is 2 × 1 (was 1 × 1)"
    assert lines(ran.stderr)[1] == f"p.yaml saved, changed: {shapes}"
    assert not re.search("[▲▼◆]", ran.stdout)


def test_more_heads_than_before_are_shown_although_one_of_them_is_new(watch: Watch, save: Save) -> None:
    text = "query: [[1, 2, 3, 4]]\nkey: [[1, 0, 1, 0]]\nheads: {}\n"
    save("p.yaml", text.format(4))()
    ran = watch(
        "p.yaml",
        "--head",
        "3",
        "--explain",
        edits=[save("p.yaml", text.format(2)), nothing, save("p.yaml", text.format(4))],
    )
    assert lines(ran.stderr)[1:] == [
        "--head: there is no head 3; expected 0 to 1, or all",
        "p.yaml saved, no number changed",
    ]


def test_with_set_the_numbers_before_are_those_without_it(watch: Watch, save: Save) -> None:
    save("p.yaml", PROBLEM.format(1))()
    words = ("p.yaml", "--set", "value[0,0]=5", "--select", "output", "--json")
    ran = watch(*words, edits=[save("p.yaml", PROBLEM.format(2))])
    results = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [(result["before"]["output"], result["output"]) for result in results] == [
        ([[1.0]], [[5.0]]),
        ([[2.0]], [[5.0]]),
    ]
    assert lines(ran.stderr)[1] == "p.yaml saved, no number changed"


def test_a_file_behind_a_link_is_watched_and_so_is_the_link(watch: Watch, save: Save, tmp_path: Path) -> None:
    save("a.yaml", PROBLEM.format(1))()
    save("b.yaml", PROBLEM.format(3))()
    (tmp_path / "p.yaml").symlink_to("a.yaml")

    def link_to_b() -> None:
        (tmp_path / "new").symlink_to("b.yaml")
        (tmp_path / "new").rename(tmp_path / "p.yaml")

    ran = watch("p.yaml", "--select", "output", "--json", edits=[save("a.yaml", PROBLEM.format(2)), link_to_b])
    assert [json.loads(line)["output"] for line in ran.stdout.splitlines()] == [[[1.0]], [[2.0]], [[3.0]]]


def test_a_link_to_itself_is_an_error_until_it_is_a_file(watch: Watch, save: Save, tmp_path: Path) -> None:
    save("p.yaml", PROBLEM.format(1))()

    def link_to_itself() -> None:
        (tmp_path / "p.yaml").unlink()
        (tmp_path / "p.yaml").symlink_to("p.yaml")

    ran = watch(
        "p.yaml", edits=[link_to_itself, nothing, (tmp_path / "p.yaml").unlink, save("p.yaml", PROBLEM.format(2))]
    )
    _, error, saved = lines(ran.stderr)
    assert error.startswith("p.yaml: can't be read (")
    assert saved == "p.yaml saved, changed: output 1 of 1"


def test_a_save_during_the_computation_counts(watch: Watch, save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    save("p.yaml", PROBLEM.format(1))()
    edits = iter([save("p.yaml", PROBLEM.format(2))])
    compute_view = output.compute_view

    def compute_while_saved(*arguments: object) -> object:
        next(edits, nothing)()
        return compute_view(*arguments)

    monkeypatch.setattr(output, "compute_view", compute_while_saved)
    ran = watch("p.yaml", "--json", edits=[nothing])
    assert [json.loads(line)["output"] for line in ran.stdout.splitlines()] == [[[1.0]], [[2.0]]]


def test_with_strict_a_warning_is_an_error_that_is_shown(watch: Watch, save: Save) -> None:
    text = "query: [[1]]\nkey: [[1]]\nmask: [[{}]]\n"
    save("p.yaml", text.format(1))()
    ran = watch("p.yaml", "--strict", edits=[save("p.yaml", text.format(0)), nothing])
    assert lines(ran.stderr)[1].startswith("--strict: ")
