"""The functions of plans as the page knows them: the name of each, and the names of those that its scripts have."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from attncli.plan.graph import Node
from attncli.render.page.static_files import static_folder

FOLDER = "functions"  # of the scripts: a file for each function, which bears its name
_OURS = "attncli."


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function of a plan.

    That of another package's function has its module before it, so that it is none of the names of ours.

    >>> from attncli.ops.normalizers import sum_
    >>> function_name(sum_), function_name(len)
    ('sum', 'builtins.len')
    """
    module, name = str(function.__module__), function.__name__.rstrip("_")
    return name if module.startswith(_OURS) else f"{module}.{name}"


def computing_function(node: Node) -> str | None:
    """The name of the function that computes a node from others; None of an input and of an inner quantity."""
    return None if node.function is None or node.is_input else function_name(node.function)


@cache
def page_functions() -> Sequence[str]:
    """The names of the functions that the page's scripts have: each has a script of its own."""
    folder = static_folder().joinpath(FOLDER)
    return sorted(file.name.removesuffix(".js") for file in folder.iterdir() if file.name.endswith(".js"))
