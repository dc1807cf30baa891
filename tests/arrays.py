"""Random arrays for tests: the same shape and seed give the same array."""

import numpy as np


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Normally distributed numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def booleans(*shape: int) -> np.ndarray:
    """True in about seven of ten cells."""
    return np.random.default_rng([0, *shape]).random(shape) < 0.7


def bias(*shape: int) -> np.ndarray:
    """Normally distributed numbers, −∞ in about three of ten cells."""
    return np.where(booleans(*shape), normal(*shape), -np.inf)
