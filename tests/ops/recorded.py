"""The lines that are read off a function, for tests of one call of it without a plan."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.recording.arrays import NotRecordedError
from attncli.ops.recording.derivatives import GRAD, recording_of
from attncli.ops.recording.lines import Known, recorded_lines


def lines_of(function: Any, write: ArithmeticWriter, given: Mapping[str, Any], index: Any = ()) -> list[str]:
    """The lines of the numbers at an index of the result, which are those of a cell or of a vector.

    Numbers among the arguments are recorded too. A gradient that is 0 throughout has no lines.
    """
    arrays = {name: x for name, x in given.items() if isinstance(x, np.ndarray)}
    options = {name: x for name, x in given.items() if name not in arrays}
    try:
        made = recording_of(function, arrays, options, [name for name, x in options.items() if isinstance(x, float)])
    except NotRecordedError:
        made = recording_of(function, arrays, options)
    if made is None:
        return []
    assert GRAD in made.arguments or GRAD not in given
    value = np.asarray(made.result.value)
    flats = np.atleast_1d(np.arange(value.size).reshape(value.shape)[index])
    own = value.ravel()[flats]
    return recorded_lines(write, made.result, flats, own if len(flats) > 1 else own[0], known=Known(names=made.names))
