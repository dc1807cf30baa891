"""The source of the site: the documents, the pages that are generated, and the gallery, for MkDocs.

In the repository a document names the command that prints what a generated page has, `attn list bugs`; on the site
that is a link to the page, and `attn demo NAME` one to a page of the gallery.
"""

import posixpath
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from attncli.cli.commands import COMMANDS
from attncli.ops import kinds
from attncli.ops.registry import plural_of

from . import api_page, bugs_page, families_page, gallery, reference_page
from .console_blocks import FENCE, ROOT, commands_of_block
from .markdown import as_released, title_of

CONFIGURATION = ROOT / "docs" / "mkdocs.yml"
ASSETS = ROOT / "docs" / "site"
LLMS = ROOT / "docs" / "llms.txt"
FOLDER = ROOT / "build" / "docs"
PAGES = "pages"  # below the folder, as the configuration has it
HOME = "index.md"
CONTRIBUTING = "CONTRIBUTING.md"  # for who has a checkout
REFERENCE, API = f"{reference_page.FOLDER}/", f"{api_page.FOLDER}/"
GALLERY = f"{gallery.FOLDER.name}/"
FOUND_LATER = "---\nsearch:\n  boost: 0.5\n---\n\n"  # of modules, which a reader of guides does not look for first
GUIDES: Mapping[str, str] = {
    "README.md": HOME,
    **{f"{name}.md": f"{name.lower()}.md" for name in ("CONTRIBUTING", "CHANGELOG")},
    **{f"docs/{path.name}": path.name for path in sorted((ROOT / "docs").glob("*.md"))},
}
GENERATED: Mapping[str, Callable[[], Mapping[str, str]]] = {
    REFERENCE: reference_page.pages,
    API: lambda: {name: text if name == HOME else f"{FOUND_LATER}{text}" for name, text in api_page.pages().items()},
    "": lambda: {
        families_page.PAGE: families_page.generate(),
        bugs_page.PAGE: bugs_page.generate(),
        gallery.PAGE: gallery.markdown(),
    },
}
_LINK = re.compile(r"(?<=\]\()([\w./-]+)(?=[)#])")  # to a file
_FILE_NAME = re.compile(r"\[[\w/-]+\.md\]\(([\w./-]+)")  # as the text of a link, for which the site has the title
_SPAN = re.compile(r"(?<!\[)`((?:attn |man |help\()[^`\n]+)`")  # a command in a sentence that is not a link already
_CODE = re.compile(r"`[^`\n]+`")
_CONSOLE = "console"


def write(folder: Path = FOLDER) -> None:
    """Write the pages to a folder, with the configuration for MkDocs beside them."""
    configuration = folder / CONFIGURATION.name
    target = folder / PAGES
    if configuration.exists():  # the folder is one of ours
        shutil.rmtree(target, ignore_errors=True)
    written = pages()
    for name, text in written.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name in files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target / name)
    shutil.copytree(ASSETS, target, dirs_exist_ok=True)
    for name, text in texts().items():
        (target / name).write_text(text, encoding="utf-8")
    gallery.write_pages(target / GALLERY, back=f"../{Path(gallery.PAGE).with_suffix('.html')}")
    configuration.write_text(configuration_text(list(written)), encoding="utf-8")


def pages() -> dict[str, str]:
    """Every page as Markdown by its path: guides and generated pages, with links as the site has them."""
    found = {target: _guide(source) for source, target in GUIDES.items()}
    for place, generate in GENERATED.items():
        found |= {place + name: text for name, text in generate().items()}
    return {name: _for_markdown(text, name) for name, text in found.items()}


def files() -> set[str]:
    """The files of samples/ that guides show."""
    return {path for source in GUIDES for path in _linked_files(source) if path not in GUIDES}


def configuration_text(names: list[str]) -> str:
    """The configuration of MkDocs, in which the generated pages of the reference and the API are listed."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    for place in (REFERENCE, API):
        lines = "".join(f"\n      - {name}" for name in names if name.startswith(place))
        text, count = re.subn(rf"(?m)^(  - \w+:) {place.rstrip('/')}\b.*$", rf"\1{lines}", text)
        if count != 1:
            raise ValueError(f"{CONFIGURATION.name} has no line for the pages in {place}")
    return text


def link_of_command(command: str) -> str | None:
    """The page, with its heading, that has what a command prints; None where the site has none.

    >>> link_of_command("attn list bugs"), link_of_command("attn help check"), link_of_command("attn compute p.yaml")
    ('bugs.md', 'reference/commands.md#attn-check', None)
    """
    return links_of_commands().get(command) or _gallery_links().get(command)


@cache
def links_of_commands() -> Mapping[str, str]:
    """The pages that commands lead to: lists, help, schemas, and the docstrings that Python shows."""
    lists = {
        "": "operators.md",
        **{f" {plural_of(kind)}": f"operators.md#{plural_of(kind)}" for kind in kinds()},
        " keys": "keys.md",
        " slips": "slips.md",
        " conventions": "conventions.md",
        " vocabulary": "words.md",
    }
    return {
        "help(attncli)": f"{API}{HOME}",
        "man attn": f"{REFERENCE}commands.md",
        "attn list models": families_page.PAGE,
        "attn list bugs": bugs_page.PAGE,
        "attn schema check": f"{REFERENCE}json.md#json-of-a-check",
        "attn schema compare": f"{REFERENCE}json.md#json-of-a-comparison",
        "attn help": f"{REFERENCE}{HOME}",
        **{f"attn list{kind}": REFERENCE + page for kind, page in lists.items()},
        **{f"attn help {name}": f"{REFERENCE}commands.md#attn-{name}" for name in COMMANDS},
        **{f"attn {name} --help": f"{REFERENCE}commands.md#attn-{name}" for name in COMMANDS},
    }


@cache
def _gallery_links() -> Mapping[str, str]:
    """The pages of the gallery by the beginning of the command that shows the same: `attn demo luong`."""
    links = {}
    for entry in gallery.entries():
        page = f"{GALLERY}{entry.name}.html"
        links[f"attn {' '.join(entry.words)}"] = page
        if entry.words[0] == "demo":
            links[f"attn compute samples/{entry.name}.yaml"] = page
    return links


def _guide(source: str) -> str:
    """A document of the repository with the links between pages as the site has them."""
    name = GUIDES[source]
    text = (ROOT / source).read_text(encoding="utf-8")
    text = text if source == CONTRIBUTING else as_released(text)

    def path_of(linked: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(source), linked))

    def link(match: re.Match[str]) -> str:
        return _relative(GUIDES.get(path_of(match[1]), path_of(match[1])), name)

    def title(match: re.Match[str]) -> str:
        return f"[*{title_of((ROOT / path_of(match[1])).read_text(encoding='utf-8'))}*]({match[1]}"

    return _with_gallery(_outside_code(text, lambda part: _LINK.sub(link, _FILE_NAME.sub(title, part))), name)


def texts() -> dict[str, str]:
    """What programs read: llms.txt, and the guides that it links to as they are written, in Markdown."""

    def text_of(source: str) -> str:
        return str(Path(GUIDES[source]).with_suffix(".txt"))

    def link(match: re.Match[str]) -> str:
        return text_of(posixpath.normpath(posixpath.join("docs", match[1])))

    guides = {text_of(source): as_released((ROOT / source).read_text(encoding="utf-8")) for source in GUIDES}
    return {**guides, LLMS.name: _LINK.sub(link, LLMS.read_text(encoding="utf-8"))}


def _linked_files(source: str) -> Iterator[str]:
    """The files that a document links to, from the root of the repository."""
    text = FENCE.sub("", (ROOT / source).read_text(encoding="utf-8"))
    for path in _LINK.findall(text):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(source), path))


def _with_gallery(text: str, name: str) -> str:
    """A guide with a link to a page of the gallery below the first block of commands that reads its problem."""
    shown: set[str] = set()

    def block(match: re.Match[str]) -> str:
        commands = commands_of_block(match[2]) if match[1] == _CONSOLE else []
        typed = [" ".join(command.text.split()[:3]) for command in commands]
        found = dict.fromkeys(page for words in typed if (page := _gallery_links().get(words)) not in {None, *shown})
        shown.update(filter(None, found))
        links = ", ".join(f"[{_titles()[page]}]({_relative(page, name)})" for page in found if page)
        return f"{match[0]}\n\nOn a page: {links}." if links else match[0]

    return FENCE.sub(block, text)


@cache
def _titles() -> Mapping[str, str]:
    """The titles of the pages of the gallery, by their paths."""
    return {f"{GALLERY}{entry.name}.html": entry.title for entry in gallery.entries()}


def _for_markdown(text: str, name: str) -> str:
    """A page as Python-Markdown reads it, in which a command that prints what another page has is a link to it."""

    def link(match: re.Match[str]) -> str:
        target = link_of_command(match[1])
        path = (target or "").partition("#")[0]
        return match[0] if target is None or path == name else f"[{match[0]}]({_relative(target, name)})"

    def changed(line: str) -> str:
        if line.startswith("|"):  # in code Python-Markdown takes the backslash as it is
            line = _CODE.sub(lambda match: match[0].replace("\\|", "|"), line)
        return line if line.startswith("#") else _SPAN.sub(link, line)

    return _outside_code(text, lambda part: "\n".join(map(changed, part.split("\n"))))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """A text changed where it is not a block between fences."""
    changed, end = [], 0
    for match in FENCE.finditer(text):
        changed += [change(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*changed, change(text[end:])])


def _relative(target: str, page: str) -> str:
    """The path of a target as a page links to it."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")
