"""The documents as text, and their commands run as a reader would."""

import io
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable
from contextlib import chdir
from html import unescape
from pathlib import Path
from unittest.mock import patch

import attncli.cli
from docs.generation import console_blocks, pictures
from docs.generation.python_sessions import PythonSession

ROOT = console_blocks.ROOT
PACKAGE = ROOT / "attncli"
DOCUMENTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
}
README = DOCUMENTS["README.md"]
PART = re.compile(r"""((?:'[^']*'|"[^"]*"|[^'";&|])+)(&&|;|\||$)""")  # of a line of bash, and what follows it
LOOP = re.compile(r"for (\w+) in ([\w ]+); do (.*); done")
STYLE_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS")


def indented_blocks(document: str) -> list[str]:
    """The blocks of code that are indented by four spaces, without the indent; those between fences are none."""
    text = console_blocks.FENCE.sub("", DOCUMENTS[document])
    blocks = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", text, re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


def assert_outputs_are_shown(document: str, is_chosen: Callable[[str], bool]) -> None:
    """Run the sessions of a document and those of its commands that are chosen, one after the other in a folder.

    Each prints what is shown below it, and a picture that it writes to samples/ has the words of that in samples/.
    """
    text, writes = DOCUMENTS[document], f"python docs/generate.py --outputs {document} writes it anew"
    with console_blocks.new_folder() as folder:
        session = PythonSession(folder)
        for language, block in console_blocks.FENCE.findall(text):
            if language == "pycon":
                assert session.with_outputs(block) == block, writes
            for command in console_blocks.commands_of_block(block) if language == "console" else ():
                if is_chosen(command.text) and can_run(command.text):
                    shown = console_blocks.without_rounding(printed(command.text, folder))
                    assert shown == console_blocks.without_rounding(command.output), f"{command.text}\n{writes}"
                    path = pictures.file_written(command.text) or ""
                    if path.endswith(".svg"):
                        assert words_of(folder / path) == words_of(ROOT / path), f"{path}: docs/generate.py --pictures"


def can_run(command: str) -> bool:
    """Whether all that a command needs is installed."""
    return console_blocks.can_run(command) and ("| jq " not in command or shutil.which("jq") is not None)


def words_of(picture: Path) -> list[str]:
    """The text of a picture, which is the same everywhere; where it is drawn differs in the last digits."""
    text = picture.read_text(encoding="utf-8")
    return unescape(re.sub(r"<style.*?</style>|<metadata>.*?</metadata>|<[^>]+>", " ", text, flags=re.DOTALL)).split()


def printed(line: str, folder: Path) -> str:
    """What a line of bash prints: `attn` is called in this process, other programs by bash."""
    if loop := LOOP.fullmatch(line):
        name, words, body = loop.groups()
        return "".join(printed(body.replace(f"${name}", word), folder) for word in words.split())
    shown, piped, status = "", "", 0
    for part, joint in PART.findall(line):
        command = part.replace("$?", str(status)).strip()
        if command.startswith("attn "):
            status, output, errors = call(shlex.split(command)[1:], folder, piped, is_piped=joint == "|")
        else:
            output, errors = console_blocks.run(command, folder, input=piped), ""
        piped = output if joint == "|" else ""
        shown += errors if joint == "|" else output
    return shown


def call(words: list[str], folder: Path, input: str, *, is_piped: bool) -> tuple[int, str, str]:
    """The status of `attn` with these words, its output, and its errors: in one stream where no other program reads."""
    output = io.BytesIO()
    errors = io.BytesIO() if is_piped else output
    stdin = io.TextIOWrapper(io.BytesIO(input.encode()), encoding="utf-8")
    stdout = io.TextIOWrapper(output, encoding="utf-8")
    stderr = io.TextIOWrapper(errors, encoding="utf-8", line_buffering=True)
    variables = {name: value for name, value in os.environ.items() if name not in STYLE_VARIABLES}
    with (
        patch.dict(os.environ, variables, clear=True),
        chdir(folder),
        patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr, argv=["attn", *words]),
    ):
        status = attncli.cli.run()
    stdout.detach()  # and flushed; the bytes stay open
    stderr.detach()
    return status, output.getvalue().decode(), errors.getvalue().decode() if is_piped else ""
