"""What is released: the wheel and its files for other programs, the metadata, and one version in all of them."""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import attncli
from attncli.base.program import ENVIRONMENT, EXIT_STATUSES
from attncli.cli.commands import COMMANDS
from attncli.io import yaml
from attncli.io.paths import sample_files
from attncli.problem.spec import FIELDS
from docs.generation import completion_files, manual_page
from tests.cli.running import run_in_process
from tests.documents.reading import PACKAGE, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PICTURE = 'The weights of two heads: in the first, "it" looks at "cat"'
PAGE = re.sub(r"\\f.|\\&", "", manual_page.generate())
TYPED = {r"\-": "-", r"\(aq": "'", r"\(ti": "~", r"\(ha": "^", r"\(dq": '"', r"\(ga": "`", "\\\n": "", r"\e": "\\"}
SHOWN_PAGE = re.sub(r"\\-|\\\(..|\\\n|\\e", lambda found: TYPED[found[0]], PAGE)  # as a terminal shows it


def test_the_version_is_one_that_package_indexes_accept() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?(\.dev\d+)?", attncli.__version__)


def test_the_newest_section_of_the_change_log_is_that_of_the_version() -> None:
    newest = re.search(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest
    assert newest[1] in (attncli.__version__, "Unreleased")


def test_the_citation_is_of_the_version() -> None:
    citation, _ = yaml.read((ROOT / "CITATION.cff").read_text(encoding="utf-8"), "CITATION.cff")
    assert citation["version"] == attncli.__version__
    assert citation["license"] == PROJECT["license"]


WORKFLOWS = sorted(ROOT.glob(".github/**/*.yml"))
STEPS = re.findall(r"^([a-z_]+)\(\) \{", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE)


def steps_called(text: str) -> set[str]:
    """The steps of .ci/run that a workflow calls; one in place of a name is each of those that its matrix lists."""
    called = set(re.findall(r"\.ci/run (\w+)", text))
    for name in re.findall(r"\.ci/run \$\{\{ matrix\.(\w+) \}\}", text):
        called |= set(re.search(rf"{name}: \[(.*)\]", text)[1].split(", "))
    return called


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_can_be_read_and_calls_steps_that_there_are(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    content, _ = yaml.read(text, workflow.name)
    assert {"name", "on", "jobs"} <= set(content) or {"name", "inputs", "runs"} <= set(content)
    assert steps_called(text) <= set(STEPS)


def test_the_workflows_run_the_steps_of_a_whole_run() -> None:
    run = (ROOT / ".ci/run").read_text(encoding="utf-8")
    steps = set(re.findall(r"^([a-z_]+)\(\) \{", run[: run.index("steps=")], re.MULTILINE))
    whole = set(re.findall(r"\w+", run[run.index("all() {") : run.index("\n}", run.index("all() {"))])) & steps
    workflow = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
    assert steps_called(workflow) >= whole - {"all", "programs"}  # `peers` calls the latter


def run_step(step: str, folder: Path, programs: list[str], user: int) -> subprocess.CompletedProcess[str]:
    """A step of .ci/run where only these programs are on the path, for a user of that number."""
    for name in programs:
        (folder / name).symlink_to(shutil.which(name))
    (folder / "id").write_text(f"#!/bin/sh\necho {user}\n", encoding="utf-8")
    (folder / "id").chmod(0o755)
    command = ["bash", str(ROOT / ".ci/run"), step]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


def test_who_is_not_root_is_told_which_packages_are_missing(tmp_path: Path) -> None:
    programs = ["bash", "dirname", "grep", "mktemp", "rm", "sh", "env"]
    ran = run_step("programs", tmp_path, programs, 1000)
    assert ran.returncode == 1
    said = r"missing, and only root can install them: apt-get install jq texlive-latex-base .* fish\n"
    assert re.fullmatch(said, ran.stderr)


def test_who_is_not_root_needs_nothing_where_all_packages_are_there(tmp_path: Path) -> None:
    for name in ("jq", "pdflatex", "soffice", "chromium", "mandoc", "zsh", "fish"):
        (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    ran = run_step("programs", tmp_path, ["bash", "dirname", "grep", "mktemp", "rm", "sh", "env"], 1000)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_workflows_test_every_python_that_the_package_names() -> None:
    workflow = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert f"python: {json.dumps(versions)}" in workflow
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_the_action_passes_each_of_its_inputs_on() -> None:
    text = (ROOT / ".github/actions/check/action.yml").read_text(encoding="utf-8")
    action, _ = yaml.read(text, "action.yml")
    assert set(action["inputs"]) == set(re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", text))


def test_the_hook_of_pre_commit_checks_a_file(tmp_path: Path) -> None:
    hooks, _ = yaml.read((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"), "hooks")
    (hook,) = hooks
    (program, *words) = hook["entry"].split()
    assert program in PROJECT["scripts"]
    for name, expected, status in (("right", "[[1]]", 0), ("wrong", "[[2]]", 1), ("--quiet", "[[1]]", 0)):
        file = tmp_path / f"{name}.attn.yaml"
        file.write_text(f"query: [[1]]\nkey: [[1]]\nexpected: {{output: {expected}}}\n", encoding="utf-8")
        assert re.search(hook["files"], file.name)
        assert run_in_process(*words, file.name, folder=tmp_path).returncode == status


def test_the_extra_all_has_every_extra_of_a_user() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    others = {"all", "test", "lint", "dev", "peers", "docs", "models"}  # of which the last brings PyTorch
    assert set(re.findall(r"\w+", everything)) == {"attncli", *extras} - others


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_page_has_every_option_and_example_of_a_command(name: str) -> None:
    shown = run_in_process(name, "--help-all" if COMMANDS[name].has_problem else "--help", folder=ROOT).stdout
    options = set(re.findall(r"^  (--[a-z][\w-]*)", shown, re.MULTILINE))
    assert len(options) >= 1
    keys = {f"--{name.replace('_', '-')}" for name in FIELDS} if COMMANDS[name].has_problem else set()
    assert [option for option in options - keys if f"\n{option}" not in SHOWN_PAGE] == []
    assert f"\n.SS attn {name}\n{COMMANDS[name].summary}" in SHOWN_PAGE
    assert all(f"\n{example}\n" in SHOWN_PAGE for example in COMMANDS[name].examples)


def test_the_manual_page_has_every_key_exit_status_and_variable() -> None:
    names = [*(f"{name}: {field.example}" for name, field in FIELDS.items()), *map(str, EXIT_STATUSES), *ENVIRONMENT]
    assert [name for name in names if f"\n.TP\n{name}\n" not in SHOWN_PAGE] == []


def test_every_environment_variable_that_the_program_reads_is_described() -> None:
    sources = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    read = {name for text in sources for name in re.findall(r'environ\.get\("(\w+)"', text)}
    assert read <= set(ENVIRONMENT)
    for name in ENVIRONMENT:
        assert sum(f'"{name}"' in text for text in sources) >= 2, name  # the record, and where it is read


def test_the_date_of_the_manual_page_is_that_of_a_build_that_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert manual_page.generate().startswith(f'.TH ATTN 1 1970-01-02 "attn {attncli.__version__}"')


@pytest.mark.peer
def test_mandoc_and_its_style_checks_have_nothing_to_say_of_the_manual_page(tmp_path: Path) -> None:
    page = tmp_path / "attn.1"
    page.write_text(manual_page.generate(), encoding="utf-8")
    ran = subprocess.run(["mandoc", "-T", "lint", "-W", "all", page], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_completion_file_of_zsh_begins_with_the_command_that_it_completes() -> None:
    assert completion_files.generate("zsh").startswith("#compdef attn\n")


# What a shell is told to print what it offers for `attn comp`, where it finds the files in a folder `share`.
OFFERS = {
    "bash": "source {file}; COMP_WORDS=(attn comp); COMP_CWORD=1; _attn_completion attn; echo ${{COMPREPLY[@]}}",
    "fish": "source {file}; complete --do-complete 'attn comp'",
    "zsh": """
        zmodload zsh/zpty
        zpty shell zsh -f  # one with a terminal, which loads the file with its first completion
        zpty -w shell 'PROMPT=; fpath=({file:h} $fpath); autoload -Uz compinit; compinit -u -d {file:h}/dump; echo O''K'
        zpty -r shell read '*OK*'
        zpty -w -n shell $'attn comp\t'
        zpty -r shell read '*compute  --*'
        print -r -- "$read"
    """,
}


@pytest.mark.peer
@pytest.mark.parametrize("shell", OFFERS)
def test_a_shell_completes_commands_by_its_file(shell: str, tmp_path: Path) -> None:
    program, file = tmp_path / "bin/attn", tmp_path / "share" / completion_files.PATHS[shell]
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m attncli "$@"\n')
    program.chmod(0o755)
    file.parent.mkdir(parents=True)
    file.write_text(completion_files.generate(shell), encoding="utf-8")
    script = OFFERS[shell].replace("{file:h}", str(file.parent)).format(file=file)
    variables = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "TERM": "xterm"}
    ran = subprocess.run([shell, "-c", script], env=variables, capture_output=True, text=True, check=True, timeout=60)
    assert set(re.findall("comp[a-z]{3,}", ran.stdout)) == {"compare", "compute"}


@pytest.mark.deep
def test_the_wheel_has_the_package_and_the_files_for_other_programs_and_no_more(tmp_path: Path) -> None:
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", build, str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    wheel = zipfile.ZipFile(tmp_path / ran.stdout.split()[-1])
    folder = f"attncli-{attncli.__version__}"
    files = {path.removeprefix(f"{folder}.") for path in wheel.namelist()}
    paths = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    sources = {str(path.relative_to(ROOT)) for path in paths} | {f"attncli/samples/{name}" for name in sample_files()}
    for path in ("py.typed", "demos/tutorial.yaml", "page/static/page.html"):
        assert f"attncli/{path}" in sources
    shared = {f"data/data/share/{path}" for path in ("man/man1/attn.1", *completion_files.PATHS.values())}
    about = {f"dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    assert files == sources | shared | about
    metadata = email.message_from_bytes(wheel.read(f"{folder}.dist-info/METADATA"))
    assert metadata["Version"] == attncli.__version__
    readme = metadata.get_payload()
    assert f"![{PICTURE}]({PROJECT['urls']['Source']}/raw/main/" in readme
    assert re.findall(r"\]\((?!https://|#).*?\)", readme) == []
    assert re.findall("install .*attncli", readme)
    assert [line for line in readme.splitlines() if re.search(r"install '?\.", line)] == [
        "pip install '.[test]' && pytest"
    ]
    page = wheel.read(f"{folder}.data/data/share/man/man1/attn.1").decode()
    assert re.sub("(?<=ATTN 1 )\\S+", "", page) == re.sub("(?<=ATTN 1 )\\S+", "", manual_page.generate())
