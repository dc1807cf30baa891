"""Readings that several conventions have."""

from attncli.base.lazy_numpy import Array, np
from attncli.problem.conventions.records import Reading
from attncli.problem.spec import FIELDS


def inverted(mask: Array) -> Array:
    """True where a mask is false.

    >>> inverted(np.array([True, False]))
    array([False,  True])
    """
    return np.logical_not(mask)


def row_of_infinities(bias: Array) -> str:
    """That every number of a row of a bias is −∞, where there is such a row; "" otherwise.

    >>> row_of_infinities(np.array([[0, -np.inf]]))
    ''
    """
    has_row = bool(np.isneginf(bias).all(axis=-1).any())
    return "gives NaN for a row of −∞ in bias: read as a row without keys" if has_row else ""


ATTENDS = Reading("1 or true attends")
HIDES = Reading("1 or true hides", change=inverted)
REAL_KEYS = Reading("1 is a real key")
PADDING = Reading("1 is padding", change=inverted)
ADDED = Reading("added to the scores")
ADDED_BUT_NO_ROW = Reading("added to the scores; a row of −∞ is NaN", limit=row_of_infinities)
SCALE = Reading("in place of 1/√d")
TOP_LEFT = Reading("top left, query i attends to keys 0 … i")
BOTTOM_RIGHT = Reading("bottom right, the last query stands at the last real key", keys={"align": "bottom_right"})
BESIDE_ITS_OWN = "so many keys on either side of its own"
GROUPED = Reading("query head h reads key head h // (heads / kv_heads)")
AS_MASK = Reading("as a mask [b 1 1 m], 1 is a real key")
NO_OFFSET = Reading(
    "put before the keys by the caller; masks count from the first of them",
    keys={"align": "first_key"},
    beside=("causal", "window"),
    not_beside=("position",),
)
WEIGHTS = tuple(name for name, field in FIELDS.items() if field.is_weight)
LAYER_WEIGHTS = ("w_q", "w_k", "w_v", "w_o")  # those that the layers of frameworks have
OUT_IN = Reading("stored out_in, x @ W.T", keys={"weight_layout": "out_in"})
