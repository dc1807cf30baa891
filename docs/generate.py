"""Writes what of the documents is generated, and with an option the site, or what commands print or draw.

`python docs/generate.py` writes the keywords of problems in attncli/api/arguments.py from the keys of a problem, the
steps that `attn show` explains from plans, the sizes of packages in docs/architecture.md, those samples anew that are
worked examples, and samples/tiny_model.
`--site` writes the pages of the site and their configuration to build/docs, or to a folder that is named: the
documents, the reference from the records, the API from the docstrings, the families from the files in
attncli/models/families, the bugs from attncli/checks/bugs.yaml and its tests, and the gallery. `--outputs` runs each
command and each Python session of the README and of docs/*.md, as the tests do, and puts what is printed now in place
of what stands there; `--outputs docs/learner.md` does so in that document alone. `--pictures` runs those that write a
picture to samples/, and photographs the page: it needs Matplotlib, Playwright and Chromium. `--gallery` writes every
demo and sample as a page to docs/gallery, or to a folder that is named, and an index of them. The site and the gallery
are not kept. Read the difference before you commit it, and look at the pictures.
"""

import sys
from pathlib import Path

from generation import (
    api_keys,
    console_blocks,
    gallery,
    packages,
    pictures,
    site,
    steps,
    tiny_model,
)

from attncli.io import examples


def main(arguments: list[str]) -> None:
    """Write what is generated, or with options the site, the output of commands, pictures or the gallery."""
    sys.path.append(str(console_blocks.ROOT))  # for the kernels with the bugs, which are tests
    if arguments[:1] == ["--site"]:
        site.write(*map(Path, arguments[1:2]))
        return
    for page in (api_keys, packages, steps):
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
