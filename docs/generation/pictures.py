"""The pictures in samples/: each is what a command of a document writes there, and one is a photograph of the page."""

import io
import re
import shutil

from . import console_blocks

PAGE = "samples/page.html"
PHOTOGRAPH = "samples/page.png"
_OUTPUT = re.compile(r" -o (samples/\S+)$")
_PLACE = "#step=weights&cell=4,1"  # how much `it` attends to `cat`
_SIZE = {"width": 1360, "height": 880}
_COLORS = 256  # of the photograph, which is half as large then as with all of them


def commands() -> dict[str, str]:
    """The command of the documents that writes each file of samples/, by the path of the file."""
    documents = console_blocks.documents_with_outputs().values()
    texts = [command.text for document in documents for command in console_blocks.commands(document)]
    return {path: text for text in texts if (path := file_written(text))}


def file_written(command: str) -> str | None:
    """The file of samples/ that a command writes; None where it writes none."""
    match = _OUTPUT.search(command)
    return match and match[1]


def write() -> None:
    """Write each picture anew; the page, which is not kept, is written to be photographed."""
    for command in commands().values():
        console_blocks.run(command, console_blocks.ROOT)
    page = console_blocks.ROOT / PAGE
    (console_blocks.ROOT / PHOTOGRAPH).write_bytes(_photograph(page.as_uri()))
    page.unlink()


def _photograph(address: str) -> bytes:
    """The page in Chromium as PNG, where it shows a cell, and in the sentence what a word looks at."""
    from PIL import Image  # Matplotlib brings it  # noqa: PLC0415 - nothing else of the documents needs a browser
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - the same

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=_SIZE, device_scale_factor=1.5, color_scheme="light")
        page.goto(address + _PLACE)
        page.get_by_role("button", name="it", exact=True).first.click()
        page.mouse.move(0, 0)
        photograph = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    small = io.BytesIO()
    photograph.convert("RGB").quantize(_COLORS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()
