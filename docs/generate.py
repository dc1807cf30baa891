"""Writes what of the documents is generated, and with an option what the commands in them print or draw.

`python docs/generate.py` writes the keywords of problems in attncli/api/arguments.py from the keys of a problem,
docs/api.md from the docstrings, docs/reference.md from the records, docs/families.md from the files in
attncli/models/families, docs/bugs.md from attncli/analysis/bugs.yaml and its tests, the steps that `attn show` explains
from plans, those samples anew that are worked examples, and samples/tiny_model. `--outputs` runs each command and each
Python session of the README and of docs/*.md, as the tests do, and puts what is printed now in place of what stands
there; `--outputs docs/learner.md` does so in that document alone. `--pictures` runs those that write a picture to
samples/, and photographs the page: it needs Matplotlib, Playwright and Chromium. `--gallery` writes every demo and
sample as a page to docs/gallery, or to a folder that is named, and an index of them; they are not kept. Read the
difference before you commit it, and look at the pictures.
"""

import sys
from pathlib import Path

from generation import (
    api_keys,
    api_page,
    bugs_page,
    console_blocks,
    families_page,
    gallery,
    pictures,
    reference_page,
    steps,
    tiny_model,
)

from attncli.io import examples


def main(arguments: list[str]) -> None:
    """Write the pages and samples, and with options the output of commands, pictures or the gallery."""
    sys.path.append(str(console_blocks.ROOT))  # for the kernels with the bugs, which are tests
    for page in (api_keys, steps, api_page, reference_page, families_page, bugs_page):
        page.PAGE.write_text(page.generate(), encoding="utf-8")
    for sample in (console_blocks.ROOT / "samples").glob("*.yaml"):
        if sample.stem in examples.names():
            sample.write_text(examples.text(sample.stem), encoding="utf-8")
    tiny_model.write()
    if arguments[:1] == ["--outputs"]:
        documents = console_blocks.documents_with_outputs()
        for path in arguments[1:] or documents:
            (console_blocks.ROOT / path).write_text(console_blocks.with_outputs(documents[path]), encoding="utf-8")
    if arguments == ["--pictures"]:
        pictures.write()
    if arguments[:1] == ["--gallery"]:
        gallery.write(*map(Path, arguments[1:2]))


if __name__ == "__main__":
    main(sys.argv[1:])
