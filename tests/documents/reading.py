"""The documents as text, and their commands run as a reader would."""

import re
import shlex
import textwrap
from pathlib import Path

from docs.generation import console_blocks
from tests.cli.running import run_in_process

ROOT = console_blocks.ROOT
PACKAGE = ROOT / "attncli"
GENERATED = ("docs/api.md", "docs/families.md", "docs/reference.md")
DOCUMENTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
    if str(path.relative_to(ROOT)) not in GENERATED
}
README = DOCUMENTS["README.md"]


def indented_blocks(document: str) -> list[str]:
    """The blocks of code that are indented by four spaces, without the indent; those between fences are none."""
    text = console_blocks.FENCE.sub("", DOCUMENTS[document])
    blocks = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", text, re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


def printed(command: str, folder: Path) -> str:
    """What a command prints: `attn` is called in this process, what follows it (`| tail`, `&& cat`) by bash."""
    match = re.fullmatch(r"attn ([^;]*?)(?: (\||&&) ([^;]*))?", command, re.DOTALL)
    if match is None:
        return console_blocks.run(command, folder)
    words, pipe, rest = match.groups()
    ran = run_in_process(*shlex.split(words), folder=folder)
    if ran.stdout and ran.stderr:  # which of them comes first is seen where they are one stream
        return console_blocks.run(command, folder)
    following = console_blocks.run(rest, folder, input=ran.stdout if pipe == "|" else "") if rest else ""
    return (following if pipe == "|" else ran.stdout + following) + ran.stderr
