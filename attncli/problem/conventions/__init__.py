"""Conventions: what each framework makes of the words of a problem; importing it registers them all."""

# The order of `attn list`.
# isort: off
from attncli.problem.conventions import (  # noqa: F401 - imported to be registered
    attn,
    torch_sdpa,
    torch_mha,
    onnx,
    flash,
    xformers,
    keras,
    keras_attention,
    jax,
    mlx,
)

# isort: on
from attncli.problem.conventions.records import CONVENTIONS, Convention, Reading, find_convention

__all__ = ["CONVENTIONS", "Convention", "Reading", "find_convention"]
