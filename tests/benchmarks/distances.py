"""How long scores of distances take, attending included, beside PyTorch's distances, with and without the rest."""

from collections.abc import Iterator

import numpy as np
from computing import arrays
from pairs import Row, compare

import attncli

NORMS = {"gaussian": 2, "euclidean": 2, "laplacian": 1}
COUNT, RUNS = 2048, 7


def rows() -> Iterator[Row]:
    """Vectors far from each other; an offset; each query among the keys; clusters, in which distances are small."""
    import torch

    from attncli.engine.threads import cores

    torch.set_num_threads(cores())
    for dtype in ("float32", "float64"):
        query, key, value = arrays(COUNT, dtype)
        cases = {score: (score, query, key) for score in NORMS}
        centres = np.repeat(8 * arrays(16, dtype)[0], COUNT // 16, axis=0)
        cases["gaussian, offset 1000"] = ("gaussian", query + 1000, key + 1000)
        cases["gaussian, keys = queries"] = ("gaussian", key, key)
        cases["gaussian, 16 clusters"] = ("gaussian", centres + query, centres + key)
        for title, (score, q, k) in cases.items():
            tensors = tuple(map(torch.from_numpy, (q, k, value)))

            def ours(given: tuple[np.ndarray, ...] = (q, k, value), score: str = score) -> None:
                attncli.attention(*given, score=score)

            def distances(given: tuple = tensors, p: int = NORMS[score]) -> "torch.Tensor":
                return torch.cdist(*given[:2], p=p)

            def peer(given: tuple = tensors, score: str = score) -> "torch.Tensor":
                scores = -distances(given, NORMS[score])
                return torch.softmax(-scores.square() / 2 if score == "gaussian" else scores, -1) @ given[2]

            yield compare(f"{title}, {dtype} / cdist, softmax, @ values", ours, peer, RUNS, "≤ 1")
            yield compare(f"  / cdist(p={NORMS[score]}) alone", ours, distances, RUNS, "")

            def scores(given: tuple[np.ndarray, ...] = (q, k, value), score: str = score) -> None:
                attncli.attention(*given, score=score, select="scores")

            yield compare(f"  scores alone / cdist(p={NORMS[score]})", scores, distances, RUNS, "")
