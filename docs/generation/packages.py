"""The tables of packages in docs/architecture.md: read, and written with the size that each has."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "architecture.md"
ROOT = PAGE.parents[1] / "attncli"
_NAME, _HUNDRED = re.compile(r"`(\w+)`"), 100


@dataclass(frozen=True)
class Package:
    """A package: the wings that it may import, its size as the table has it, and the lines that it may have."""

    name: str
    imports: tuple[str, ...]
    files: int
    lines: int
    budget: int

    def size(self) -> tuple[int, int]:
        """Its files of Python, and their lines."""
        found = [path.read_text(encoding="utf-8") for path in (ROOT / self.name).rglob("*.py")]
        return len(found), sum(text.count("\n") for text in found)


def packages(title: str) -> Mapping[str, Package]:
    """The packages of the table whose first column has this title, by their names, in its order."""
    found = dict[str, Package]()
    for cells in _rows(title):
        name = _NAME.findall(cells[0])[0]
        files, lines, budget = (int(cell.replace(",", "") or 0) for cell in cells[-3:])
        wings = tuple(_NAME.findall(cells[2])) if title == "wing" else ()
        found[name] = Package(name, wings, files, lines, budget)
    return found


def _rows(title: str) -> list[list[str]]:
    """The cells of each row of a table."""
    text = PAGE.read_text(encoding="utf-8")
    _, _, table = text.partition(f"| {title} |")
    body = table.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in body]


def generate() -> str:
    """The page, with the files and the lines of each package, these in hundreds."""
    text = PAGE.read_text(encoding="utf-8")
    for row in (*packages("core").values(), *packages("wing").values()):
        files, lines = row.size()
        lines = -(-lines // _HUNDRED) * _HUNDRED
        pattern = rf"(?m)^(\| `{row.name}` \|.*\|)[^|\n]*\|[^|\n]*(\|[^|\n]*\|)$"
        text = re.sub(pattern, rf"\1 {files} | {lines:,} \2", text)
    return text
