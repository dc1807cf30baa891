"""The use of a convention: what it has made of the words of one problem."""

from typing import Any

from attncli.base.dataclasses import dataclass


@dataclass(frozen=True)
class ConventionUse:
    """How the words of a problem were read: the convention's name and version, and what was read otherwise than usual.

    `changes` has a line for each word that was given and that the convention reads otherwise than attn does, `remarks`
    one for each that it does not have, which is read as attn reads it.
    """

    name: str
    version: str
    changes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"as {self.name} ({'; '.join(self.changes)})" if self.changes else f"as {self.name}"

    def as_object(self) -> dict[str, Any]:
        """Its fields as JSON has them."""
        return {
            "name": self.name,
            "version": self.version,
            "changes": list(self.changes),
            "remarks": list(self.remarks),
        }
