"""`attn demo`: worked examples, each a plain file with the published numbers beside it."""

from typing import Annotated

import typer


def demo(
    name: Annotated[str, typer.Argument(help="Which worked example.")] = "tutorial",
) -> None:
    """Walk through a worked example and compare it with its published numbers."""
