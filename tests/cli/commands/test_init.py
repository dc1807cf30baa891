"""`attn init`: a file that runs as it is, and with any of its keys in force."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import attncli
from attncli.engine.run import run as compute
from attncli.io.problem_text import problem_template
from attncli.problem.spec import FIELDS
from tests.cli.running import Run
from tests.documents.reading import ROOT
from tests.problems import write_file

TEMPLATE, SHORT = problem_template(every_key=True), problem_template(every_key=False)
OPTIONAL = re.findall(r"^#(\w+):", TEMPLATE, re.MULTILINE)
# Keys that go together, and what the lines of others become beside them: None where they are not in force.
TOGETHER: Mapping[tuple[str, ...], Mapping[str, str | None]] = {
    ("key", "value"): {},
    ("past_key", "past_value"): {},
    ("query", "key", "layout"): {
        "embeddings": None,
        "tokens": None,
        "query": "[[[1, 0], [0, 1]]]",
        "key": "[[[1, 0], [0, 1]], [[1, 1], [2, 0]]]",
        "layout": "nhd",
    },
    ("cu_seqlens", "cu_seqlens_k"): {},
    ("query", "key", "page_table", "page_size"): {
        "embeddings": None,
        "tokens": None,
        "query": "[[[[1, 0], [0, 1]]]]",
        "key": "[[[[1, 0]], [[0, 1]]]]",
    },
    ("sentence", "vocabulary", "tokenizer"): {"embeddings": None, "tokens": None},
    ("residual", "residual_norm"): {"embeddings": None},
    (
        "token_table",
        "token_positions",
        "token_scale",
        "token_types",
        "token_type_ids",
        "token_norm",
        "residual_norm",
    ): {"embeddings": None, "tokens": "[2, 0, 1]"},
    ("w_q_latent", "b_q_latent", "q_latent_norm"): {},
    ("w_kv_latent", "b_kv_latent", "kv_latent_norm"): {},
    ("w_k", "w_k_rope", "b_k_rope"): dict.fromkeys(("w_k", "w_k_rope"), "[[1, 0], [0, 1], [0, 0], [0, 0]]"),
    ("w_kv", "w_kv_latent_rope", "b_kv_latent_rope"): {
        "w_kv": "[[1, 0, 1, 0], [0, 1, 0, 1]]",
        "w_kv_latent_rope": "[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]",
    },
    ("heads", "difference", "head_pairs"): {},
    ("w_q_index", "w_k_index", "w_h_index", "k_index_norm", "index_rope", "position", "mask"): {
        "position": "rope",
        "mask": "top:keys=2",
    },
    ("w_q_index", "w_k_index", "w_h_index", "past_key", "past_value", "past_index_key", "mask"): {"mask": "top:keys=2"},
    ("index_scores", "mask"): {"mask": "top:keys=2"},
    ("position", "position_norm"): {"position": "transformer_xl"},
    ("recurrence", "decay", "beta", "past_state"): {
        "context": None,
        "recurrence": "gated_delta",
        "past_state": "[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]",
    },
}
# Which need none themselves.
NEEDED = ("heads", "query", "key", "cu_seqlens", "w_q_latent", "w_kv_latent", "w_k", "w_kv", "position", "mask")


def uncommented(text: str, *names: str) -> str:
    """The text with the lines of these keys in force."""
    return re.sub(rf"^##?({'|'.join(names)}):", r"\1:", text, flags=re.MULTILINE)


def check_runs(text: str, folder: Path) -> None:
    spec = attncli.load(write_file(folder, text)).spec
    assert compute(spec, ("output",)).trace["output"].value.shape[-1]


def test_it_has_every_key_once_with_its_meaning() -> None:
    whole_lines = re.sub(r"\n {2,}# ", " ", TEMPLATE)
    lines = {name: line for line, name in re.findall(r"^(#{0,2}(\w+): .*)$", whole_lines, re.MULTILINE)}
    assert lines.keys() == FIELDS.keys()
    assert [name for name, field in FIELDS.items() if field.help not in lines[name]] == []
    assert len(re.findall(r"^#{0,2}\w+:", TEMPLATE, re.MULTILINE)) == len(FIELDS)
    assert max(len(line) for text in (TEMPLATE, SHORT) for line in text.splitlines()) <= 80


def test_the_short_one_has_a_dozen_keys() -> None:
    assert 10 <= len(re.findall(r"^#?\w+:", SHORT, re.MULTILINE)) <= 14
    assert len(SHORT.splitlines()) <= 20


@pytest.mark.parametrize("text", [TEMPLATE, SHORT], ids=["every key", "short"])
def test_it_runs_as_it_is(text: str, tmp_path: Path) -> None:
    check_runs(text, tmp_path)


@pytest.mark.parametrize(
    ("whole", "name"),
    [
        *((TEMPLATE, name) for name in OPTIONAL),
        *((SHORT, name) for name in re.findall(r"^#(\w+):", SHORT, re.MULTILINE)),
    ],
)
def test_it_runs_with_any_line_uncommented(whole: str, name: str, tmp_path: Path) -> None:
    text = uncommented(whole, name)
    assert text != whole
    check_runs(text, tmp_path)


def test_every_key_that_needs_another_is_tried_with_it() -> None:
    needy = {name for name, field in FIELDS.items() if field.template == "together"}
    assert {name for names in TOGETHER for name in names} == {*needy, *NEEDED}


@pytest.mark.parametrize("names", TOGETHER, ids=" and ".join)
def test_keys_that_need_each_other_run_together(names: tuple[str, ...], tmp_path: Path) -> None:
    text = uncommented(TEMPLATE, *names)
    for name, value in TOGETHER[names].items():
        line = f"#{name}:" if value is None else f"{name}: {value}"
        text, count = re.subn(f"^{name}:.*$", line, text, flags=re.MULTILINE)
        assert count == 1
    check_runs(text, tmp_path)


@pytest.mark.parametrize(
    ("words", "file"), [((), "problem.yaml"), (("mine.yaml",), "mine.yaml"), (("mine",), "mine.yaml")]
)
def test_it_is_written_to_a_new_file_and_says_what_to_do_next(words: tuple[str, ...], file: str, run: Run) -> None:
    ran = run("init", *words)
    assert (ran.returncode, ran.stdout) == (0, f"Wrote {file}. Next: attn compute {file} --explain\n")
    assert run("compute", file, "--explain").returncode == 0
    again = run("init", file)
    assert (again.returncode, again.stderr) == (2, f"attn: {file}: already exists; choose another name, or --force\n")


def test_it_is_printed_where_no_file_is_named(run: Run) -> None:
    assert run("init", "-").stdout == SHORT
    assert run("init", "-", "--all").stdout == TEMPLATE


@pytest.mark.parametrize("words", [("init", "p.json"), ("demo", "luong", "--save", "p.json")], ids=" ".join)
def test_yaml_is_not_written_to_a_file_that_another_format_would_be_read_from(
    words: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    ran = run(*words)
    message = "attn: p.json: the suffix does not name a YAML file; name a .yaml or .yml file\n"
    assert (ran.returncode, ran.stderr, (tmp_path / "p.json").exists()) == (2, message, False)


def test_the_samples_are_those_of_the_checkout_and_compute(run: Run, tmp_path: Path) -> None:
    ran = run("init", "--samples")
    assert ran.stdout == "Wrote samples. Next: attn compute samples/tutorial.yaml\n"
    for name in ("tutorial.yaml", "published/illustrated.yaml", "tiny_model/model.safetensors"):
        assert (tmp_path / "samples" / name).read_bytes() == (ROOT / "samples" / name).read_bytes()
    assert run("compute", "samples/tutorial.yaml").returncode == 0
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".png", ".svg")]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--samples", "p"], "p/lesson.yaml: already exists; choose another name, or --force"),
        (["--samples", "-"], "FILE: the samples are a folder; name one, or none for samples"),
        (["--samples", "--all"], "--all: can't be given with --samples; leave out one of them"),
    ],
)
def test_a_folder_of_samples_that_can_not_be_written(words: list[str], error: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "lesson.yaml").write_text("query: [[1]]")
    ran = run("init", *words)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"attn: {error}\n")
    assert [path.name for path in tmp_path.rglob("*.yaml")] == ["lesson.yaml"]


def test_samples_are_written_again_and_other_files_stay(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "samples" / "worked"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("query: [[1]]")
    assert [run("init", "--samples").returncode for _ in range(2)] == [0, 0]
    assert (folder / "mine.yaml").read_text() == "query: [[1]]"
    (folder / "average.yaml").write_text("query: [[1]]")
    assert [run("init", "--samples", *more).returncode for more in ([], ["--force"])] == [2, 0]
    assert (folder / "average.yaml").read_bytes() == (ROOT / "samples" / "worked" / "average.yaml").read_bytes()
