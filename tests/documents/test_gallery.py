"""The gallery has every demo and every sample, and its index leads to pages that are there."""

import re
from pathlib import Path

from attncli.io import examples
from docs.generation import gallery
from docs.generation.console_blocks import ROOT


def test_every_demo_and_every_sample_has_a_page_of_its_own() -> None:
    entries = list(gallery.entries())
    names = [entry.name for entry in entries]
    assert len(names) == len(set(names))
    assert set(examples.names()) <= set(names)
    problems = {entry.problem for entry in entries} | {f"samples/{name}.yaml" for name in examples.names()}
    samples = {str(path.relative_to(ROOT)) for path in (ROOT / "samples").rglob("*.yaml")}
    assert samples <= problems


def test_its_index_has_a_picture_and_a_link_to_each_page(tmp_path: Path) -> None:
    gallery.write(tmp_path, {"one_query", "worked_average"})
    index = (tmp_path / gallery.INDEX).read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', index)
    assert links == ["one_query.html", "worked_average.html"]
    pages = [(tmp_path / link).read_text(encoding="utf-8") for link in links]
    assert all(page.startswith("<!DOCTYPE html>") and 'href="index.html">← Gallery</a>' in page for page in pages)
    assert index.count("<svg") == 2
    assert not re.search(r"https?://", index)


def test_its_page_of_the_site_has_the_same_links() -> None:
    links = re.findall(r"\]\(gallery/([^)]+)\.html\)", gallery.markdown())
    assert links == [entry.name for entry in gallery.entries()]
