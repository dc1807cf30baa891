"""Arrays that a file has in another form than numbers of NumPy: decoded whole, or some of their rows alone."""

from collections.abc import Callable, Sequence

from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array
from attncli.problem.origins import ArrayOrigin


@dataclass(frozen=True)
class EncodedArray:
    """An array that is mapped from its file, and the function that makes numbers of it, or of some of its rows.

    `dtype` is the floating type of the numbers by `base.dtypes`' names, None for integers; `origin` is where it is.
    """

    stored: Array
    decode: Callable[[Array], Array]
    dtype: str | None = None
    origin: ArrayOrigin | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        shape: tuple[int, ...] = self.stored.shape
        return shape

    def rows(self, at: Sequence[int]) -> Array:
        """The numbers of some rows."""
        return self.decode(self.stored[list(at)])
