"""Writes what of the documents is generated, or with `--outputs` also what the commands in them print.

`python docs/generate.py` writes docs/api.md from the docstrings, docs/reference.md from the records, and those samples
anew that are worked examples. `--outputs` runs each command and each Python session of the README and of docs/*.md, as
the tests do, and puts what is printed now in place of what stands there; `--outputs docs/learner.md` does so in that
document alone. It also draws the README's picture. Read the difference before you commit it.
"""

import sys

from generation import api_page, console_blocks, picture, reference_page

from attncli.io import examples


def main(arguments: list[str]) -> None:
    """Write the pages and samples, and with `--outputs` the output of commands."""
    for page in (api_page, reference_page):
        page.PAGE.write_text(page.generate(), encoding="utf-8")
    for sample in (console_blocks.ROOT / "samples").glob("*.yaml"):
        if sample.stem in examples.names():
            sample.write_text(examples.text(sample.stem), encoding="utf-8")
    if arguments[:1] == ["--outputs"]:
        documents = console_blocks.documents_with_outputs()
        for path in arguments[1:] or documents:
            (console_blocks.ROOT / path).write_text(console_blocks.with_outputs(documents[path]), encoding="utf-8")
        picture.PICTURE.write_text(picture.draw(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
