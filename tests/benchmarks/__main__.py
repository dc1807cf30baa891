"""Every figure that is promised, beside a peer, in one table: `python tests/benchmarks`, or `… starting files`.

It wants the extras `peers` and `fast`, and the package installed (not editable, or the start is not what users see).
"""

import os
import sys
from importlib import import_module

from pairs import HEADER

# One thread for each worker, as the command has it; before NumPy is loaded.
os.environ |= {"OPENBLAS_NUM_THREADS": "1"}

import numpy  # noqa: F401 - what multiplies for it is printed
from threadpoolctl import threadpool_info

SECTIONS = ("starting", "small", "computing", "distances", "rows", "shapes", "files", "tables", "stopping")

for blas in threadpool_info():
    print(f"NumPy multiplies by {blas['internal_api']} {blas['version']}, {blas.get('architecture', 'any processor')}")
for section in sys.argv[1:] or SECTIONS:
    module = import_module(section)
    print(f"\n{module.__doc__}\n{HEADER}")
    for row in module.rows():
        print(row, flush=True)
