"""The exponentials of tiles: powers of 2 where NumPy computes these by vector instructions, elsewhere powers of e."""

import math
import sys
from functools import cache

from attncli.base.lazy_numpy import np

LOG2_E = math.log2(math.e)  # exp(x) = exp2(x · LOG2_E)


@cache
def has_fast_exp2() -> bool:
    """Whether NumPy raises 2 to powers of float32 by vector instructions, which takes half the time of powers of e.

    It does so on Linux with AVX-512; elsewhere it computes one number after another. Powers that have no normal number
    as their result, such as those of −∞, take ten to a hundred times as long as others. On AMD's Zen 5 all take three
    times as long in a quarter of all processes, those that have NumPy's library at certain addresses: powers of e would
    be faster there, but have other last digits, and every process is to give the same ones.
    """
    functions = np.lib.introspect.opt_func_info(func_name="^exp2$", signature="float32").get("exp2", {})
    return sys.platform == "linux" and any(
        loop["current"] and not loop["current"].startswith("baseline") for loop in functions.values()
    )
