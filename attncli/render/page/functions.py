"""The functions of plans as the page knows them: the name of each, and the names of those that its scripts have."""

from functools import cache
from importlib import resources
from pathlib import PurePath

from attncli.plan.graph import Node

FOLDER = "functions"  # of the scripts: a file for each function, which bears its name
_OURS = "attncli."


def function_name(node: Node) -> str | None:
    """The name of a node's function; None of an input and of an inner quantity.

    That of another package's function has its module before it, so that it is none of the names of ours.
    """
    if node.function is None or node.is_input:
        return None
    module, name = str(node.function.__module__), node.function.__name__.rstrip("_")
    return name if module.startswith(_OURS) else f"{module}.{name}"


@cache
def page_functions() -> frozenset[str]:
    """The names of the functions that the page's scripts have."""
    folder = resources.files("attncli.render.page").joinpath("static", FOLDER)
    return frozenset(PurePath(file.name).stem for file in folder.iterdir()) if folder.is_dir() else frozenset()
