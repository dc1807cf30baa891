"""The mathematics: functions on arrays, each with its record."""

from attncli.ops import norms  # noqa: F401 - it registers the keys that take norms
from attncli.ops.registry import broken_packages, kinds, look_up, operators, taken_kinds

__all__ = ["broken_packages", "kinds", "look_up", "operators", "taken_kinds"]
