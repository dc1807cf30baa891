"""Every figure that is promised, beside a peer, in one table: `python tests/benchmarks`.

`… engine`, `… recurrences` or `… commands` has a part of it.
It wants the extra `peers`, and the package installed (not editable, or the start is not what users see).
OPENBLAS_CORETYPE is to be unset, or NumPy's products may be those for an older processor: the first line has its name.
"""

import os
import sys
from importlib import import_module

from pairs import HEADER

os.environ |= {"OPENBLAS_NUM_THREADS": "1"}  # one thread for each worker, as the command has it; before NumPy is loaded

import numpy  # noqa: F401 - its BLAS is printed
from threadpoolctl import threadpool_info

for pool in threadpool_info():
    if pool["user_api"] == "blas":
        print("NumPy's products:", pool["internal_api"], pool["version"], pool.get("architecture", ""))
for section in sys.argv[1:] or ("engine", "recurrences", "commands"):
    module = import_module(section)
    print(f"\n{module.__doc__}\n{HEADER}")
    for row in module.rows():
        print(row, flush=True)
