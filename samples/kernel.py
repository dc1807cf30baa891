"""A kernel to check: attention in tiles of 16 keys. Writes what it reads and what it returns to case.npz."""

import numpy as np

TILE = 16


def kernel(query, key, value):
    """Queries [b h n d] see the keys [b h m d] up to their own position, the last query the last key."""
    n, m = query.shape[-2], key.shape[-2]
    position = np.arange(n)
    running_max = np.full((*query.shape[:-1], 1), -np.inf, query.dtype)
    total, output = np.zeros_like(running_max), np.zeros((*query.shape[:-1], value.shape[-1]), query.dtype)
    for start in range(0, m, TILE):
        tile = slice(start, start + TILE)
        scores = query @ key[..., tile, :].swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))
        scores = np.where(np.arange(m)[tile] <= position[:, None], scores, -np.inf)
        largest = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
        exponentials, kept = np.exp(scores - largest), np.exp(running_max - largest)
        total = total * kept + exponentials.sum(axis=-1, keepdims=True)
        output = output * kept + exponentials @ value[..., tile, :]
        running_max = largest
    return output / total


if __name__ == "__main__":
    random = np.random.default_rng(0)
    query = random.standard_normal((1, 4, 24, 32), np.float32)
    key, value = (random.standard_normal((1, 4, 40, 32), np.float32) for _ in range(2))
    np.savez("case.npz", query=query, key=key, value=value, output=kernel(query, key, value))
