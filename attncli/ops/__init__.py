"""The mathematics: functions on arrays, each with its record; importing this package registers every built-in operator."""

# isort: off - the order of `attn list`
from attncli.ops import (  # noqa: F401 - imported to be registered
    scores,
    normalizers,
    sparse_normalizers,
    contexts,
    positions,
    position_biases,
    masks,
    norms,
    initializers,
)
from attncli.ops.registry import entries, kinds, look_up

__all__ = ["entries", "kinds", "look_up"]
