"""Import on use: an object named in a table as `module:name` is imported when it is needed."""

from importlib import import_module
from typing import Any


def import_object(reference: str) -> Any:
    """The object that `package.module:name` refers to; raises what importing the module raises.

    >>> import_object("math:floor")(2.5)
    2
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
