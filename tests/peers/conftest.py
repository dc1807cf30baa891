"""Every test of this folder is of a peer; fixtures of the page's tests: one Chromium, and pages of problems in it."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.engine.run import run
from attncli.page import render
from attncli.problem.spec import ProblemSpec
from attncli.render.view import View
from tests.problems import problem

Source = ProblemSpec | Mapping[str, Any] | Path
PageOf = Callable[..., Any]  # page_of(source, context={…}, **view) -> a Page of Playwright


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder as those of peers, but for what runs before a release alone."""
    for item in items:
        if Path(__file__).parent in item.path.parents and not item.get_closest_marker("long"):
            item.add_marker("peer")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def spec_of(source: Source) -> ProblemSpec:
    """The data of a problem: that of a file, or with these keys."""
    if isinstance(source, ProblemSpec):
        return source
    return attncli.load(str(source)).spec if isinstance(source, Path) else problem(**source)


def write_page(source: Source, path: Path, **view: Any) -> Path:
    """Write the page of a problem to a file."""
    result = run(spec_of(source), every_step=True)
    path.write_text("".join(render(View(result, **view))), encoding="utf-8")
    return path


@pytest.fixture
def page_of(browser: Any, tmp_path: Path) -> Iterator[PageOf]:
    """Opens the page of a problem, a mapping of its keys or a file; `context` has options of Playwright's context.

    At the end of the test no page may have an error, nor have asked for anything but its own file.
    """
    contexts, faults = list[Any](), list[str]()

    def open_page(source: Source, context: Mapping[str, Any] | None = None, **view: Any) -> Any:
        path = write_page(source, tmp_path / f"page{len(contexts)}.html", **view)
        contexts.append(browser.new_context(**(context or {})))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: faults.append(request.url) if _is_foreign(request.url, path) else None)
        page.goto(path.as_uri())
        return page

    yield open_page
    for opened in contexts:
        opened.close()
    assert not faults


def _is_foreign(url: str, path: Path) -> bool:
    """Whether a request is for something else than the page, or than what is written in it."""
    return not url.startswith((path.as_uri(), "data:", "blob:"))
