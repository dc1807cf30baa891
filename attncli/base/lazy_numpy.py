"""NumPy, loaded at its first use, and the type of an array.

Help and completion read the records of operators, whose functions compute with NumPy; they start faster without it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:

    class Array:
        """An array of NumPy, `numpy.ndarray`; help shows this name where NumPy is not loaded yet."""

    class _NumPy:
        """The module `numpy`: an attribute is looked up once and then kept."""

        def __getattr__(self, name: str) -> Any:
            import numpy  # noqa: PLC0415 - NumPy is loaded here, at its first use

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _NumPy()

__all__ = ["Array", "np"]
