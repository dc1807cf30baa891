"""What NumPy's OpenBLAS says of itself, where NumPy multiplies matrices by that library."""

from functools import cache
from importlib import import_module
from itertools import product

# Builds add these to the names of functions, before and after: those of NumPy's own packages both.
PREFIXES, SUFFIXES = ("scipy_", ""), ("64_", "", "_64")


@cache
def core_name() -> str:
    """The kind of processor whose instructions it uses, such as "SkylakeX" or "Haswell".

    "" where NumPy has another library, or the system does not find functions of libraries that others have loaded.
    """
    try:
        import ctypes  # noqa: PLC0415 - NumPy has loaded it, but for a Python that lacks it

        numpy_library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
    except (ImportError, OSError):
        return ""
    for prefix, suffix in product(PREFIXES, SUFFIXES):
        ask = getattr(numpy_library, f"{prefix}openblas_get_corename{suffix}", None)
        if ask is not None:
            ask.restype = ctypes.c_char_p
            return str(ask().decode())
    return ""
