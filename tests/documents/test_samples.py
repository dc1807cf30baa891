"""The samples compute, and pictures stand beside their commands."""

import re
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.io import examples
from docs.generation import console_blocks, pictures
from tests.cli.running import run_in_process
from tests.documents.reading import DOCUMENTS, ROOT

SAMPLES = sorted((ROOT / "samples").rglob("*.yaml"))


def test_every_picture_of_a_document_is_made_by_a_command_that_stands_in_it() -> None:
    shown = {
        document: {f"samples/{name}" for name in re.findall(r"!\[[^]]*\]\((?:\.\./)?samples/([\w.]+)\)", text)}
        for document, text in DOCUMENTS.items()
    }
    assert shown["README.md"] >= {pictures.PHOTOGRAPH}
    for document, paths in shown.items():
        made = set(map(pictures.file_written, map(attrgetter("text"), console_blocks.commands(DOCUMENTS[document]))))
        photographs = {pictures.PHOTOGRAPH} if pictures.PAGE in made else set()
        assert paths <= made | photographs, document


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_sample_computes(sample: Path) -> None:
    ran = run_in_process("compute", str(sample), "--json", folder=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith('{\n  "format": "attn.result/1"')


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.stem in examples.names()], ids=lambda path: path.name)
def test_a_sample_with_the_name_of_a_demo_is_that_demo(sample: Path) -> None:
    assert sample.read_text(encoding="utf-8") == examples.text(sample.stem)


@pytest.mark.parametrize("sample", ["tutorial", "tutorial_csv", "tutorial_seed"])
def test_the_tutorial_is_the_same_from_numbers_from_tables_and_from_the_seed(sample: str) -> None:
    table = run_in_process(
        "compute", f"samples/{sample}.yaml", *["--select", "output", "-f", "csv"], folder=ROOT
    ).stdout
    rows = [[round(float(cell), 8) for cell in line.split(",")[1:]] for line in table.splitlines()[1:]]
    assert rows == [
        [0.98522025, 1.74174051, 0.75652026],
        [0.90965265, 1.40965265, 0.5],
        [0.99851226, 1.75849334, 0.75998108],
        [0.99560386, 1.90407309, 0.90846923],
    ]


def test_the_cars_are_kernel_regression() -> None:
    speed, distance = np.loadtxt(ROOT / "samples/cars.csv", delimiter=",", skiprows=1).T
    weights = np.exp(-((np.arange(4, 26)[:, None] - speed) ** 2) / 8)
    expected = weights @ distance / weights.sum(axis=1)
    assert len(speed) == 50
    assert np.allclose(attncli.load(str(ROOT / "samples/cars.yaml")).compute().output[:, 0], expected)
