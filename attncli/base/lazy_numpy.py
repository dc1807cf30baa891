"""NumPy, loaded at its first use, and the type of an array.

Operators' records hang on functions that compute with NumPy, and help and completion read those records;
they must not wait for an import they do not use.
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
            import numpy  # noqa: PLC0415 - here is the place that decides when NumPy is loaded

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _NumPy()

__all__ = ["Array", "np"]
