"""Where the values of a layer are from, as the comments of its file say it: names in config.json, or a default."""

from collections.abc import Iterable, Mapping

from attncli.base.dataclasses import dataclass
from attncli.io.checkpoint.folder import CONFIG

OF_THE_MODEL = "the model's code"  # of a value that every model of the family has


@dataclass(frozen=True)
class Origins:
    """The names in config.json of what rows read under names of their own, and those that config.json leaves out."""

    names: Mapping[str, tuple[str, ...]]
    left_out: frozenset[str]

    def names_of(self, read: Iterable[str]) -> tuple[str, ...]:
        """The names in config.json of these names, each of them once."""
        return tuple(dict.fromkeys(found for name in read for found in self.names.get(name, (name,))))

    def comment(self, read: Iterable[str], note: str = "") -> str:
        """Where a value is from that was made of these names, and what else there is to say.

        >>> origins = Origins({"head_count": ("n_head",), "layer": ()}, frozenset({"eps"}))
        >>> origins.comment(["head_count", "layer", "eps"], "query heads")
        'config.json: n_head; default of eps, not in config.json; query heads'
        """
        found = self.names_of(read)
        defaults = [name for name in found if name.partition(".")[0] in self.left_out]
        given = [name for name in found if name not in defaults]
        texts = (
            f"{CONFIG}: {', '.join(given)}" if given else "",
            f"default of {', '.join(defaults)}, not in {CONFIG}" if defaults else "",
            note,
        )
        return "; ".join(filter(None, texts)) or OF_THE_MODEL
