"""Weights that are stored the other way, and errors that name arrays as they were given."""

from typing import Any

import numpy as np
import pytest

from attncli import AttnError, Problem

N, X, D = 2, 3, 5
IN_OUT, OUT_IN = np.ones((X, D)), np.ones((D, X))
ONE = {"embeddings": np.ones((N, X))}
ALL_OUT_IN = {"w_q": OUT_IN, "w_k": OUT_IN, "w_v": OUT_IN}

CASES = {
    "all are out_in": (
        {**ONE, **ALL_OUT_IN},
        "w_q has 5 rows (x); embeddings has 3 columns (x); with weight_layout out_in it fits",
    ),
    "all are in_out": (
        {**ONE, "weight_layout": "out_in", "w_q": IN_OUT, "w_k": IN_OUT},
        "w_q has 5 columns (x); embeddings has 3 columns (x); with weight_layout in_out it fits",
    ),
    "the key weights": (
        {**ONE, "w_q": IN_OUT, "w_k": OUT_IN},
        "w_k has 5 rows (x); embeddings has 3 columns (x); it fits if w_k is transposed",
    ),
    "the value weights": (
        {**ONE, "weight_layout": "out_in", **ALL_OUT_IN, "w_v": IN_OUT},
        "w_v has 5 columns (x); embeddings has 3 columns (x); it fits if w_v is transposed",
    ),
    "the output weights": (
        {**ONE, "w_o": np.ones((D, X))},
        "w_o has 5 rows (e); embeddings has 3 columns (x); with weight_layout out_in it fits",
    ),
    "weights of a score": (
        {"query": np.ones((N, X)), "key": np.ones((N, D)), "score": {"general": {"w": OUT_IN}}},
        "score, w has 5 rows (d); query has 3 columns (d); with weight_layout out_in it fits",
    ),
    "weights of a score that are stored in_out": (
        {
            "query": np.ones((N, X)),
            "key": np.ones((N, D)),
            "weight_layout": "out_in",
            "score": {"general": {"w": IN_OUT}},
        },
        "score, w has 3 rows (c); key has 5 columns (c); with weight_layout in_out it fits",
    ),
    "neither way": (
        {**ONE, "w_q": np.ones((7, D)), "w_k": IN_OUT},
        "w_q has 7 rows (x); embeddings has 3 columns (x)",
    ),
    "keys of another width": (
        {**ONE, "w_q": IN_OUT, "w_k": np.ones((X, 2))},
        "w_k has 2 columns (d); w_q has 5 columns (d)",
    ),
    "keys of another width that are not projected": (
        {**ONE, "w_q": IN_OUT},
        "embeddings has 3 columns (d); w_q has 5 columns (d)",
    ),
    "keys of another width in two heads": (
        {**ONE, "heads": 2, "w_q": np.ones((X, 4)), "w_k": np.ones((X, 6)), "w_v": np.ones((X, 2))},
        "w_k has 6 columns (d), over 2 heads; w_q has 4 columns (d), over 2 heads",
    ),
}


@pytest.mark.parametrize(("keys", "message"), CASES.values(), ids=CASES)
def test_weights_that_do_not_fit_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        Problem(**keys)
    assert str(caught.value) == message
