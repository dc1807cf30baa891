"""The commands of the documents print what is shown below them, and those that set up, test and check exist."""

import re
import shlex
import shutil
import tomllib

import pytest

from attncli.cli.command_table import COMMANDS
from attncli.io import examples
from docs.generation import console_blocks
from docs.generation.console_blocks import can_run, commands_of_block, without_rounding
from docs.generation.python_sessions import PythonSession
from tests.cli.running import run_in_process
from tests.documents.reading import DOCUMENTS, ROOT, indented_blocks, printed

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WITH_COMMANDS = list(console_blocks.documents_with_outputs())


@pytest.mark.deep
@pytest.mark.parametrize("document", WITH_COMMANDS)
def test_every_command_of_a_document_prints_what_it_shows(document: str) -> None:
    text = DOCUMENTS[document]
    if "| jq " in text and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    same = without_rounding(console_blocks.with_outputs(text)) == without_rounding(text)
    assert same, f"python docs/generate.py --outputs {document} writes it anew"


@pytest.mark.parametrize("document", WITH_COMMANDS)
def test_every_small_command_of_a_document_prints_in_this_process_what_it_shows(document: str) -> None:
    text = DOCUMENTS[document]
    if "| jq " in text and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    with console_blocks.new_folder() as folder:
        session = PythonSession(folder)
        for language, block in console_blocks.FENCE.findall(text):
            if language == "pycon":
                assert session.with_outputs(block) == block
            for command in commands_of_block(block) if language == "console" else ():
                if "large" not in command.text and can_run(command.text):
                    shown = without_rounding(printed(command.text, folder))
                    assert shown == without_rounding(command.output), command.text


def test_every_command_is_in_a_guide() -> None:
    commands = {command.text.split()[1] for text in DOCUMENTS.values() for command in console_blocks.commands(text)}
    assert set(COMMANDS) <= commands


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_attn_command_in_a_sentence_can_be_called(document: str) -> None:
    """In a sentence `attn compute` names a command; with arguments it is called, `p.yaml` a problem."""
    spans = re.findall(r"`attn(\s[^`]+)`", console_blocks.FENCE.sub("", DOCUMENTS[document]))
    with console_blocks.new_folder() as folder:
        (folder / "p.yaml").write_text(examples.text("tutorial"), encoding="utf-8")
        for span in filter(can_run, spans):
            command, *arguments = shlex.split(span)
            if command.startswith("--"):
                assert command in run_in_process("--help", folder=folder).stdout
            elif not arguments and command != "p.yaml":
                assert command in COMMANDS
            else:
                name = "tutorial" if command == "demo" else "softmax"
                checkpoints = dict.fromkeys(("CHECKPOINT", "FOLDER"), "samples/tiny_model")
                meanings = {"NAME": name, "FILE": "p.yaml", "WORD": "head", **checkpoints}
                words = [meanings.get(word, word) for word in arguments]
                ran = run_in_process(command, *words, folder=folder)
                assert (ran.returncode, ran.stderr) == (0, ""), span


def shell_commands() -> list[str]:
    """The commands of README.md and CONTRIBUTING.md that set up, test and check, without their comments."""
    blocks = [*console_blocks.blocks(DOCUMENTS["README.md"], "sh"), *indented_blocks("CONTRIBUTING.md")]
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
        case ["python", "-m", module, *_]:
            packages = [package for extra in project["optional-dependencies"].values() for package in extra]
            is_in_an_extra = any(re.match(rf"{module}\W", package) for package in packages)
            assert is_in_an_extra or (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()
        case ["python" | "bash", path, *_]:
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
