"""The mathematics: functions on arrays, each with its record, and the look-ups of the catalogue they fill."""

from attncli.ops import scores, normalizers, sparse, contexts, positions, biases, masks, norms, generators  # noqa: F401, I001 - the order of `attn list`
from attncli.catalogue import entries, kinds, look_up

__all__ = ["entries", "kinds", "look_up"]
