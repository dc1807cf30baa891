"""The commands of the documents print what is shown below them, and those that set up, test and check exist."""

import re
import shlex
import tomllib

import pytest

from attncli.cli.commands import COMMANDS
from attncli.io import examples
from docs.generation import console_blocks, site
from docs.generation.console_blocks import can_run, without_rounding
from tests.cli.running import run_in_process
from tests.documents.reading import DOCUMENTS, ROOT, assert_outputs_are_shown, indented_blocks

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WITH_COMMANDS = list(console_blocks.documents_with_outputs())
pytestmark = pytest.mark.usefixtures("restored_registry")  # commands of guides register operators


# Large arrays, searches of hundreds of slips, sweeps, pages and models: those of README.md alone are in the quick set.
EXPENSIVE = re.compile(
    r"\blarge|case\.npz|--slips|report\.xml|some\.npy|seed=1\.\.100(?! --vary)|\.html\b|attn capture"
)
IN_PROCESSES = ["README.md"]
WITH_EXPENSIVE = [
    name
    for name in WITH_COMMANDS
    if name not in IN_PROCESSES
    and any(EXPENSIVE.search(command.text) for command in console_blocks.commands(DOCUMENTS[name]))
]


@pytest.mark.parametrize("document", WITH_COMMANDS)
def test_a_document_shows_what_its_commands_print(document: str) -> None:
    assert_outputs_are_shown(document, lambda command: document == "README.md" or not EXPENSIVE.search(command))


@pytest.mark.deep
@pytest.mark.parametrize("document", WITH_EXPENSIVE)
def test_a_document_shows_what_its_expensive_commands_print(document: str) -> None:
    assert_outputs_are_shown(document, lambda command: True)


@pytest.mark.deep
@pytest.mark.parametrize("document", IN_PROCESSES)
def test_a_document_shows_what_its_commands_print_in_processes(document: str) -> None:
    text = DOCUMENTS[document]
    same = without_rounding(console_blocks.with_outputs(text)) == without_rounding(text)
    assert same, f"python docs/generate.py --outputs {document} writes it anew"


def test_every_command_is_in_a_guide() -> None:
    commands = {command.text.split()[1] for text in DOCUMENTS.values() for command in console_blocks.commands(text)}
    assert set(COMMANDS) <= commands


def test_every_attn_command_in_a_sentence_can_be_called() -> None:
    """In a sentence `attn compute` names a command; with arguments it is called, `p.yaml` a problem."""
    texts = [console_blocks.FENCE.sub("", text) for text in DOCUMENTS.values()]
    spans = [span for text in texts for span in re.findall(r"`attn(\s[^`]+)`", text)]
    with console_blocks.new_folder() as folder:
        (folder / "p.yaml").write_text(examples.text("tutorial"), encoding="utf-8")
        for span in filter(can_run, dict.fromkeys(spans)):
            command, *arguments = shlex.split(span)
            if command.startswith("--"):
                assert command in run_in_process("--help", folder=folder).stdout
            elif not arguments and command != "p.yaml" and " " not in command:
                assert command in COMMANDS
            else:
                name = "tutorial" if command == "demo" else "softmax"
                checkpoints = dict.fromkeys(("CHECKPOINT", "FOLDER"), "samples/tiny_model")
                meanings = {"NAME": name, "FILE": "p.yaml", "WORD": "head", "COMMAND": "compute", **checkpoints}
                words = [meanings.get(word, word) for word in arguments]
                ran = run_in_process(command, *words, folder=folder)
                assert (ran.returncode, ran.stderr) == (0, ""), span


def shell_commands() -> list[str]:
    """The commands of README.md and CONTRIBUTING.md that set up, test and check, without their comments."""
    blocks = [*console_blocks.blocks(DOCUMENTS["README.md"], "sh"), *indented_blocks("CONTRIBUTING.md")]
    lines = [re.sub(r"\s#.*", "", line) for block in blocks for line in block.splitlines()]
    spans = re.findall(r"`((?:pip|pytest|python|bash) [^`]+)`", "".join(DOCUMENTS.values()))
    return [command for line in (*lines, *spans) for command in line.split(" && ")]


@pytest.mark.parametrize("command", sorted({command.strip() for command in shell_commands()}))
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
        case ["python", "-m", module, *_]:
            packages = [package for extra in project["optional-dependencies"].values() for package in extra]
            is_in_an_extra = any(re.match(rf"{module}\W", package) for package in packages)
            folder = ROOT / module.replace(".", "/")
            files = (folder.with_suffix(".py"), folder / "__main__.py")
            assert is_in_an_extra or any(file.is_file() for file in files)
        case ["python" | "bash", path, *_]:
            assert (ROOT / path / "__main__.py").exists() or (ROOT / path).is_file()
        case ["ruff" | "mypy" as tool, *_]:
            assert any(package.startswith(tool) for package in project["optional-dependencies"]["lint"])
        case ["mkdocs", "build", "--strict", "-f", configuration]:
            assert configuration == str((site.FOLDER / site.CONFIGURATION.name).relative_to(ROOT))
        case ["pre-commit", "install"]:
            entries = re.findall(r"entry: (\w+)", (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
            assert set(entries) == {"ruff", "mypy"}
        case ["attn", name]:
            assert name in COMMANDS
        case words:
            assert words in (["python3", "-m", "venv", ".venv"], [".", ".venv/bin/activate"])
