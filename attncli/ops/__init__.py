"""The mathematics: functions on arrays, each with its record; importing it registers every built-in operator."""

# The order of `attn list`.
# isort: off
from attncli.ops import (  # noqa: F401 - imported to be registered
    scores,
    distances,
    normalizers,
    sparse_normalizers,
    contexts,
    recurrences,
    differences,
    rope,
    positions,
    position_biases,
    relative_keys,
    transformer_xl,
    disentangled,
    grid_positions,
    masks,
    mask_patterns,
    selection,
    norms,
    query_scales,
    gates,
    initializers,
)

# isort: on
from attncli.ops.registry import broken_packages, kinds, look_up, operators, taken_kinds

__all__ = ["broken_packages", "kinds", "look_up", "operators", "taken_kinds"]
