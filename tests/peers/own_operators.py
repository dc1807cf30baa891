"""Operators as somebody writes them who has read no documentation: a decorator above a plain function."""

from typing import Any

import numpy as np

import attncli


def register() -> None:
    """Register an operator of each kind."""

    @attncli.score
    def student(query: Any, key: Any, *, nu: float = 1.0) -> Any:
        """Student's t."""
        gap = query[..., :, None, :] - key[..., None, :, :]
        return -np.log1p((gap**2).sum(axis=-1) / nu) / np.sqrt(query.shape[-1])

    @attncli.normalizer
    def powers(scores: Any, *, power: float = 2.0) -> Any:
        """Powers of the sizes of the scores."""
        sizes = np.where(scores == -np.inf, 0, np.abs(scores) ** power)
        return sizes / (sizes.sum(axis=-1, keepdims=True) + 1)

    @attncli.context
    def smooth_largest(weights: Any, value: Any) -> Any:
        """A smooth maximum of the values."""
        return np.log(np.einsum("...nm,...me->...ne", weights, np.exp(value)) + 1)

    @attncli.position
    def ramp(x: Any, positions: Any, *, step: float = 0.1) -> Any:
        """A number that grows with the position."""
        return x + step * positions[..., None]

    @attncli.norm
    def clipped(x: Any, *, most: float = 2.0) -> Any:
        """Vectors of at most a length."""
        return x * np.minimum(1, most / np.linalg.norm(x, axis=-1, keepdims=True))

    @attncli.query_scale
    def rising(positions: Any) -> Any:
        """A factor that rises."""
        return 1 + np.sqrt(positions) / 4

    @attncli.gate
    def hard(x: Any, *, slope: float = 0.3) -> Any:
        """From 0 to 1 in a straight line."""
        return np.clip(slope * x + 0.5, 0, 1)

    @attncli.score
    def looped(query: Any, key: Any) -> Any:
        """The distance in a loop, which no record follows."""
        scores = np.empty((*query.shape[:-1], key.shape[-2]))
        for *at, n, m in np.ndindex(scores.shape):
            scores[(*at, n, m)] = -float(np.linalg.norm(query[(*at, n)] - key[(*at, m)]))
        return scores

    @attncli.mask
    def near(query_positions: Any, key_positions: Any, *, reach: float = 1.0) -> Any:
        """Keys that are not far away."""
        return np.abs(query_positions[..., :, None] - key_positions[..., None, :]) <= reach
