"""What NumPy's OpenBLAS says of the processor."""

import sys
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

from attncli.engine.openblas import core_name


@pytest.fixture(autouse=True)
def unknown() -> Iterator[None]:
    """A process that has not yet asked."""
    core_name.cache_clear()
    yield
    core_name.cache_clear()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows finds no functions of libraries that others have loaded")
def test_the_openblas_of_numpys_own_packages_names_the_processor_that_it_computes_for() -> None:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    assert core_name() != "" or blas != "scipy-openblas"


def test_it_is_the_name_that_threadpoolctl_reads() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    names = {library["architecture"] for library in threadpoolctl.threadpool_info() if "architecture" in library}
    assert core_name() in names or not names


def test_a_python_without_ctypes_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctypes", None)
    assert core_name() == ""


def test_a_numpy_whose_library_is_no_file_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("numpy._core._multiarray_umath"), "__file__", "/nowhere/in/an/archive.so")
    assert core_name() == ""
