"""The documents hold: commands print what is shown, samples run, and files, options and names exist."""

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
import zipfile
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.cli.command_table import COMMANDS
from attncli.io import examples
from attncli.io.readers import yaml
from attncli.ops.registry import ENTRY_POINTS
from attncli.plan.builder import PlanBuilder
from attncli.problem.spec import FIELDS
from docs.generation import api_page, console_blocks
from tests.arrays import normal
from tests.cli.running import run_in_process

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "attncli"
DOCUMENTS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md")
}
README = DOCUMENTS["README.md"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SAMPLES = sorted((ROOT / "samples").glob("*.yaml"))


def fenced_blocks(language: str) -> list[str]:
    """The blocks of the README between fences with that word."""
    return console_blocks.blocks(README, language)


def indented_blocks(document: str) -> list[str]:
    """The blocks of code that are indented by four spaces, without the indent."""
    blocks = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", DOCUMENTS[document], re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


def attn(command: str, folder: Path) -> str:
    """What a command prints, `attn` called in this process, and what follows it (`| tail`, `&& cat`) by a shell."""
    words, pipe, rest = re.fullmatch(r"(.*?)(?: (\||&&) (.*))?", command.removeprefix("attn "), re.DOTALL).groups()
    ran = run_in_process(*shlex.split(words), folder=folder)
    piped = console_blocks.run(rest, folder, input=ran.stdout if pipe == "|" else "") if rest else ""
    return (piped if pipe == "|" else ran.stdout + piped) + ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("document", console_blocks.documents_with_commands())
def test_every_command_of_a_document_prints_what_it_shows(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    if "| jq " in text and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    assert console_blocks.with_outputs(text) == text, f"python docs/generate.py --outputs {document} writes it anew"


@pytest.mark.parametrize("document", console_blocks.documents_with_commands())
def test_every_small_command_of_a_document_prints_what_it_shows_in_process(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    if "| jq " in text and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    with console_blocks.new_folder() as folder:
        for command in console_blocks.commands(text):
            if command.text.startswith("attn ") and "large" not in command.text:
                assert attn(command.text, folder) == command.output, command.text


def test_every_command_is_in_the_readme() -> None:
    for name in COMMANDS:
        assert f"$ attn {name} " in README


def test_the_picture_shows_what_the_command_prints() -> None:
    picture = unescape(re.sub(r"<[^>]+>", " ", (ROOT / "samples/weights.svg").read_text(encoding="utf-8")))
    printed = attn("compute samples/tutorial.yaml --select weights,output", ROOT)
    numbers = re.findall(r"\d\.\d{4}", printed)
    assert len(numbers) == 28
    assert sorted(numbers) == sorted(re.findall(r"\d\.\d{4}", picture))


def test_the_api_page_is_generated_from_the_docstrings() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert page == api_page.generate(), "python docs/generate.py writes it anew"


def test_the_architecture_names_every_package() -> None:
    packages = [path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()]
    assert all(f"| `{package}` |" in DOCUMENTS["docs/architecture.md"] for package in packages)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_and_folder_that_a_document_names_exists(document: str) -> None:
    for path in re.findall(r"`([\w.]+/[\w./]*)`", DOCUMENTS[document]):
        assert (PACKAGE / path).exists() or (ROOT / path).exists(), path
    for path in re.findall(r"\]\(([\w./]+)\)", DOCUMENTS[document]):
        assert (ROOT / document).parent.joinpath(path).exists(), path


def test_every_name_of_the_architecture_is_in_its_file() -> None:
    places = re.findall(r"`(\w+)`,?\s(?:of|in)\s`([\w/]+\.py)`", DOCUMENTS["docs/architecture.md"])
    assert len(places) >= 2
    for name, path in places:
        assert re.search(rf"\b{name}\b", (PACKAGE / path).read_text(encoding="utf-8")), name
    for name in re.findall(r"`builder\.(\w+)\(", DOCUMENTS["docs/architecture.md"]):
        assert callable(getattr(PlanBuilder, name))


def test_the_entry_point_of_the_architecture_is_that_of_operators() -> None:
    (example,) = [block for block in indented_blocks("docs/architecture.md") if "entry-points" in block]
    assert list(tomllib.loads(example)["project"]["entry-points"]) == [ENTRY_POINTS]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_attn_command_in_a_sentence_can_be_called(document: str, tmp_path: Path) -> None:
    """In a sentence `attn compute` names a command; with arguments it is called, `p.yaml` a problem."""
    spans = re.findall(r"`attn(\s[^`]+)`", console_blocks.FENCE.sub("", DOCUMENTS[document]))
    (tmp_path / "p.yaml").write_text(examples.text("tutorial"), encoding="utf-8")
    for span in spans:
        command, *arguments = shlex.split(span)
        if command.startswith("--"):
            assert command in run_in_process("--help", folder=tmp_path).stdout
        elif not arguments:
            assert command in COMMANDS
        else:
            words = [{"NAME": "softmax", "FILE": "p.yaml"}.get(word, word) for word in arguments]
            ran = run_in_process(command, *words, folder=tmp_path)
            assert (ran.returncode, ran.stderr) == (0, ""), span


def shell_commands() -> list[str]:
    """The commands of README.md and CONTRIBUTING.md that set up, test and check, without their comments."""
    blocks = [*fenced_blocks(""), *indented_blocks("CONTRIBUTING.md")]
    lines = [re.sub(r"\s#.*", "", line) for block in blocks for line in block.splitlines()]
    spans = re.findall(r"`((?:pip|pytest|python|bash) [^`]+)`", "".join(DOCUMENTS.values()))
    return [command for line in (*lines, *spans) for command in line.split(" && ")]


@pytest.mark.parametrize("command", sorted(set(shell_commands())))
def test_every_file_extra_and_marker_of_a_command_exists(command: str) -> None:
    project = PROJECT["project"]
    match shlex.split(command):
        case ["pip", "install", *_, source]:
            extras = re.fullmatch(r"\.(?:\[([\w,]+)\])?", source)
            assert extras
            assert set(filter(None, (extras[1] or "").split(","))) <= set(project["optional-dependencies"])
        case ["pytest", *options]:
            assert options == [] or options[0] == "-m"
            markers = [marker.partition(":")[0] for marker in PROJECT["tool"]["pytest"]["ini_options"]["markers"]]
            assert set(re.findall(r"\w+", " ".join(options[1:]))) - {"not", "and", "or"} <= set(markers)
        case ["python" | "bash", path]:
            assert (ROOT / path / "__main__.py").exists() or (ROOT / path).is_file()
        case ["ruff" | "mypy" as tool, *_]:
            assert any(package.startswith(tool) for package in project["optional-dependencies"]["lint"])
        case ["pre-commit", "install"]:
            entries = re.findall(r"entry: (\w+)", (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
            assert set(entries) == {"ruff", "mypy"}
        case ["attn", name]:
            assert name in COMMANDS
        case words:
            assert words in (["python3", "-m", "venv", ".venv"], [".", ".venv/bin/activate"])


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = fenced_blocks("python")
    (tmp_path / "mine.yaml").write_text(examples.text("tutorial"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    lines = [line for line in code.splitlines() if "tcp://host" not in line]
    assert len(lines) == len(code.splitlines()) - 1, "one line needs a cluster"
    names: dict[str, Any] = {"query": normal(3, 8 * 5), "key": normal(7, 2 * 5), "value": normal(7, 2 * 5)}
    exec("\n".join(lines), names)
    assert isinstance(names["result"], attncli.Result)


def test_the_yaml_of_the_readme_has_keys_of_problems() -> None:
    for block in fenced_blocks("yaml"):
        assert set(yaml.read(block, "README.md")[0]) <= set(FIELDS)


@pytest.mark.slow
def test_the_wheel_has_the_package_its_examples_and_the_mark_that_it_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", build, str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    files = set(zipfile.ZipFile(tmp_path / ran.stdout.split()[-1]).namelist())
    sources = {str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*") if path.suffix in (".py", ".yaml", ".typed")}
    assert "attncli/py.typed" in sources
    assert "attncli/demos/tutorial.yaml" in sources
    assert {file for file in files if ".dist-info/" not in file} == sources


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_sample_computes(sample: Path) -> None:
    ran = run_in_process("compute", str(sample), "--json", folder=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith('{\n  "format": "attn.result/1"')


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.stem in examples.names()], ids=lambda path: path.name)
def test_a_sample_with_the_name_of_a_demo_is_that_demo(sample: Path) -> None:
    assert sample.read_text(encoding="utf-8") == examples.text(sample.stem)


@pytest.mark.parametrize("sample", ["tutorial", "tutorial_csv", "tutorial_seed"])
def test_the_tutorial_is_the_same_from_numbers_from_tables_and_from_the_seed(sample: str) -> None:
    printed = attn(f"compute samples/{sample}.yaml --select output -f csv", ROOT)
    rows = [[round(float(cell), 8) for cell in line.split(",")[1:]] for line in printed.splitlines()[1:]]
    assert rows == [
        [0.98522025, 1.74174051, 0.75652026],
        [0.90965265, 1.40965265, 0.5],
        [0.99851226, 1.75849334, 0.75998108],
        [0.99560386, 1.90407309, 0.90846923],
    ]
