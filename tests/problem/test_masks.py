"""Masks, biases and key masks that do not fit the scores."""

from typing import Any

import numpy as np
import pytest

from attncli import AttnError, Problem
from tests.arrays import normal

B, H, N, M, P = 2, 4, 3, 5, 2
BATCH = {"query": normal(B, N, 4), "key": normal(B, M, 4)}
ONE = {"query": normal(N, 4), "key": normal(M, 4)}
CACHE = {"past_key": normal(B, P, 4), "past_value": normal(B, P, 4)}
ADVICE = "for padding in the shape [batch, keys] give key_mask, 1 for a real key"

CASES = {
    "a mask of batch items": (
        {**BATCH, "mask": np.ones((B, M))},
        f"mask: mask has 2 queries (n); query has 3 rows (n); {ADVICE}",
    ),
    "a bias of batch items": (
        {**BATCH, "bias": np.ones((B, M))},
        f"bias: bias has 2 queries (n); query has 3 rows (n); {ADVICE}",
    ),
    "a mask of batch items without heads": (
        {**BATCH, "heads": H, "mask": np.ones((B, N, M))},
        "mask: mask has 2 query heads (h); there are 4 query heads; mask is [heads, queries, keys]; for batch items "
        "write [batch, 1, queries, keys]",
    ),
    "a mask of other rows": ({**ONE, "mask": np.ones((B, M))}, "mask: mask has 2 queries (n); query has 3 rows (n)"),
    "too few rows": ({**BATCH, "key_mask": [1] * M}, "key_mask: key_mask has 1 row (b); query has 2 batch items (b)"),
    "rows without a batch axis": (
        {**ONE, "key_mask": np.ones((B, M))},
        "key_mask: key_mask has 2 rows (b); there are no batch items",
    ),
    "too many columns": (
        {**BATCH, "key_mask": np.ones((B, M + 1))},
        "key_mask: key_mask has 6 columns (m); key has 5 rows (m)",
    ),
    "only the new keys": (
        {**BATCH, **CACHE, "key_mask": np.ones((B, M))},
        "key_mask: key_mask has 5 columns (m); past_key has 2 rows (p), key has 5 rows (k); put 1 before them for each "
        "cached key",
    ),
    "numbers that are added": (
        {**ONE, "key_mask": [0, 0, 0, 0, -np.inf]},
        "key_mask: -inf is neither 0 nor 1; 1 is a real key and 0 is padding",
    ),
    "three axes": ({**ONE, "key_mask": np.ones((1, 1, M))}, "key_mask: has 3 axes; expected at most 2 axes"),
    "a generator": ({**ONE, "key_mask": "ones"}, "key_mask: can't be drawn; give a table of 1 and 0"),
    "the mask of a tokenizer": ({**BATCH, "attention_mask": [[1]]}, "unknown key 'attention_mask'; give key_mask"),
    "the mask of MultiheadAttention": (
        {**BATCH, "key_padding_mask": [[0]]},
        "unknown key 'key_padding_mask'; give key_mask, which is 1 where key_padding_mask is 0",
    ),
    "no mask": ({**ONE, "mask": "casual"}, "mask: 'casual' is neither an array nor a mask; did you mean 'causal'?"),
    "nothing near": ({**ONE, "mask": "x"}, "mask: 'x' is neither an array nor a mask; give an array, or one of causal"),
}


@pytest.mark.parametrize(("keys", "message"), CASES.values(), ids=CASES)
def test_a_mask_that_does_not_fit_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        Problem(**keys)
    assert str(caught.value).startswith(message)


def test_a_mask_that_is_needed_is_asked_for_with_the_reason() -> None:
    keys = {**ONE, "mask": {"needed": "parts of the image do not see each other"}}
    with pytest.raises(AttnError, match="mask: is needed: parts of the image do not see each other; give mask=FILE"):
        Problem(**keys)
    assert Problem(**{**keys, "mask": np.ones((N, M))}).compute().output.shape == (N, 4)
