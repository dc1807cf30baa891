"""Each convention that is marked as run gives what its framework gives, when both get the same words."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from attncli import Problem, attention
from attncli.problem.conventions import CONVENTIONS
from tests.arrays import booleans, normal
from tests.peers.frameworks import FRAMEWORKS, Words

pytestmark = pytest.mark.peer

# One query may attend to nothing where true attends, another one where true hides.
MASK = np.vstack([booleans(3, 7), np.ones((1, 7), bool), np.zeros((1, 7), bool)])
KEY_MASK = np.array([[True, True, False, True, False, True, True], [False, True, True, False, True, False, False]])
CACHE = {"past_key": normal(2, 6, 2, 3, seed=2), "past_value": normal(2, 6, 2, 3, seed=3)}


@dataclass(frozen=True)
class Case:
    """Words besides the arrays, the lengths, and how many key heads there are."""

    words: Words = field(default_factory=dict)
    n: int = 5
    m: int = 7


CASES = {
    "the arrays alone": Case(),
    "mask": Case({"mask": MASK}),
    "key_mask": Case({"key_mask": KEY_MASK}),
    "bias": Case({"bias": normal(5, 7)}),
    "bias that hides": Case({"bias": np.where(booleans(5, 7), normal(5, 7), -np.inf)}),
    "causal, fewer queries than keys": Case({"causal": True}),
    "causal, more queries than keys": Case({"causal": True}, n=7, m=5),
    "causal and mask": Case({"causal": True, "mask": MASK}),
    "causal and bias": Case({"causal": True, "bias": normal(5, 7)}),
    "cache": Case(CACHE),
    "cache and causal": Case({"causal": True, **CACHE}, n=2),
    "window": Case({"window": (2, 2)}),
    "window, more queries than keys": Case({"window": (2, 2)}, n=7, m=3),
    "window to the left": Case({"window": (3, 1)}),
    "window without a limit on one side": Case({"window": (-1, 1)}),
    "window and causal": Case({"window": (2, 2), "causal": True}),
    "scale": Case({"scale": 0.5}),
    "softcap": Case({"softcap": 0.5}),
    "softcap and mask": Case({"softcap": 0.5, "mask": MASK}),
    "kv_heads": Case({"kv_heads": 2}),
    "key_lengths": Case({"key_lengths": np.array([2, 7], np.int32)}),
    "key_lengths and causal": Case({"key_lengths": np.array([2, 7], np.int32), "causal": True}),
    "key_lengths and window": Case({"key_lengths": np.array([2, 7], np.int32), "window": (1, 1)}),
    "sink": Case({"sink": normal(6)}),
}
