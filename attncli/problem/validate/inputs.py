"""Checks that there are keys and queries, and that every value that is given is used."""

from collections.abc import Mapping
from typing import Any

from attncli.base.errors import AttnError

# The fields that are not used where `query` is given, or `key`.
REPLACED_BY = {
    "w_q": "query",
    "b_q": "query",
    "query_embeddings": "query",
    "w_k": "key",
    "b_k": "key",
    "w_v": "key",
    "b_v": "key",
}


def check_inputs(values: Mapping[str, Any]) -> None:
    """Raise AttnError where there are no keys or no queries, or where a value would not be used."""
    given = {name for name, value in values.items() if value is not None}
    if not given & {"embeddings", "key"}:
        raise AttnError(
            "there is nothing to attend to",
            hint="give embeddings, or query and key, or sentence and vocabulary, or seed, token_count and dim",
        )
    if not given & {"query", "query_embeddings", "embeddings"}:
        raise AttnError("nobody asks", hint="give query, query_embeddings or embeddings")
    if "key" not in given and "value" in given:
        message, hint = "value is given and key is not", "give key too, or w_v in place of value"
        raise AttnError(message, hint=hint, keys=("value",))
    for name, replacement in REPLACED_BY.items():
        if name in given and replacement in given:
            raise AttnError(
                f"{replacement} is given already projected, so {name} would not be used",
                where=name,
                hint=f"leave out {name}, or give embeddings in place of {replacement}",
                keys=(name, replacement),
            )
    if ("past_key" in given) != ("past_value" in given):
        missing = "past_key" if "past_value" in given else "past_value"
        hint = "give past_key and past_value together"
        raise AttnError("a cache has keys and values", where=missing, hint=hint, keys=("past_key", "past_value"))
    if {"query", "key", "embeddings"} <= given:
        raise AttnError(
            "query and key are given, so embeddings would not be used",
            where="embeddings",
            hint="leave out one or the other",
            keys=("embeddings", "query", "key"),
        )
