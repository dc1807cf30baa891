"""The files of the page's markup, style and scripts."""

from importlib import resources
from importlib.resources.abc import Traversable


def static_folder() -> Traversable:
    """The folder that they are in."""
    return resources.files("attncli.render.page").joinpath("static")


def static_file(path: str) -> str:
    """The text of one of them, by its path in their folder."""
    return static_folder().joinpath(*path.split("/")).read_text(encoding="utf-8")
