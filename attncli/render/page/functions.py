"""The functions of plans as the page knows them: the name of each, and the names of those that its scripts have."""

from collections.abc import Sequence
from functools import cache

from attncli.plan.graph import Node
from attncli.render.page.static_files import static_folder

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
def page_functions() -> Sequence[str]:
    """The names of the functions that the page's scripts have: each has a script of its own."""
    folder = static_folder().joinpath(FOLDER)
    return sorted(file.name.removesuffix(".js") for file in folder.iterdir() if file.name.endswith(".js"))
