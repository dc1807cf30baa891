"""Keys and queries come from somewhere, and nothing is given that would not be used."""

from typing import TYPE_CHECKING

from attncli.base.errors import AttnError

if TYPE_CHECKING:
    from attncli.problem.spec import Problem


def check_sources(problem: "Problem") -> None:
    """Keys and queries come from somewhere, and nothing is given that would not be used."""
    if problem.embeddings is None and problem.key is None:
        raise AttnError(
            "there is nothing to attend to",
            hint="give embeddings, or query and key, or sentence and vocabulary, or seed, token_count and dim",
        )
    if problem.query is None and problem.query_embeddings is None and problem.embeddings is None:
        raise AttnError("nobody asks", hint="give query, query_embeddings or embeddings")
    if problem.key is None and problem.value is not None:
        raise AttnError("value is given and key is not", hint="give key too, or w_v in place of value")
    unused = {
        "w_q": problem.query,
        "b_q": problem.query,
        "query_embeddings": problem.query,
        "w_k": problem.key,
        "b_k": problem.key,
        "w_v": problem.key,
        "b_v": problem.key,
    }
    for name, instead in unused.items():
        if getattr(problem, name) is not None and instead is not None:
            given = "query" if instead is problem.query else "key"
            raise AttnError(
                f"{given} is given already projected, so {name} would not be used",
                where=name,
                hint=f"leave out {name}, or give embeddings in place of {given}",
            )
    if (problem.past_key is None) != (problem.past_value is None):
        missing = "past_value" if problem.past_value is None else "past_key"
        raise AttnError("a cache has keys and values", where=missing, hint="give past_key and past_value together")
    if problem.query is not None and problem.key is not None and problem.embeddings is not None:
        raise AttnError(
            "query and key are given, so embeddings would not be used",
            where="embeddings",
            hint="leave out one or the other",
        )
