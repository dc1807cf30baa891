"""One small problem from Python, which is checked, computed and kept step by step, beside PyTorch's kernel."""

from collections.abc import Iterator

import numpy as np
from pairs import Row, compare

import attncli

AIMS = {(4, 8): "≤ 6", (128, 64): "≤ 3"}


def rows() -> Iterator[Row]:
    """One head, with one thread each: the arrays anew, and a problem that was made before."""
    import torch

    torch.set_num_threads(1)
    attend = torch.nn.functional.scaled_dot_product_attention
    for (count, features), aim in AIMS.items():
        random = np.random.default_rng(0)
        query, key, value = (random.standard_normal((count, features), np.float32) for _ in range(3))
        tensors = [torch.from_numpy(x)[None, None] for x in (query, key, value)]
        problem = attncli.Problem(query=query, key=key, value=value)
        title = f"{count} × {features}, float32 / scaled_dot_product_attention"
        yield compare(
            f"attention, {title}",
            lambda arrays=(query, key, value): attncli.attention(*arrays).output,
            lambda tensors=tensors: attend(*tensors),
            9,
            aim,
        )
        yield compare(
            f"Problem.compute, {title}",
            lambda problem=problem: problem.compute("output").output,
            lambda tensors=tensors: attend(*tensors),
            9,
            aim,
        )
