"""The keys of a problem: the required ones, those that exclude each other, and the unused ones."""

from collections.abc import Collection, Mapping
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import join_words
from attncli.ops.norms import is_after_rope
from attncli.ops.records import ActsOn, Operator
from attncli.problem.fields import PROJECTIONS, TABLES, VALUE_SOURCES, LastResult, given_table, reasons_not_computed
from attncli.problem.layout import laid_out
from attncli.problem.mask_expressions import reads_index_scores
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.problem.weights import (
    LATENTS,
    PACKED,
    ROPE_WEIGHTS,
    has_latent,
    has_packed,
    has_projection,
    has_weights,
)

# The last result that uses a position scheme, by what it acts on.
LAST_RESULTS_OF_POSITIONS: Mapping[ActsOn, LastResult] = {
    "embeddings": "output",
    "query_and_key": "queries",
    "products": "scores",
    "scores": "weights",
}


INDEXER = ("w_q_index", "w_k_index", "w_h_index")  # the weights of an indexer
OF_INDEXER = (*INDEXER, "k_index_norm", "index_rope", "past_index_key")  # and its other keys
CHOICE = "mask that chooses keys by index scores, such as top:keys=4"


def unread_keys(values: Mapping[str, Any]) -> dict[str, str]:
    """The reasons why given keys are unused: no computed result reads them.

    >>> unread_keys({"scores": [[1, 2]], "value": [[1], [2]], "score": "dot", "scale": 2.0})
    {'score': 'scores are given'}
    """
    reasons = reasons_not_computed(values)
    given = ((name, _used_by(name, value)) for name, value in values.items() if value is not None)
    unread = {name: reasons[result] for name, result in given if result in reasons}
    if "recurrence" in values and "queries" not in reasons:
        unread.pop("scale", None)
    for name, has_reader, what in (
        ("weight_layout", has_weights(values), "weight matrix"),
        ("packing", has_packed(values), "packed projection"),
        ("gate", has_projection(values, "g"), "projection of a gate"),
        ("layout", bool(laid_out(values)), "query, key or value"),
        ("head_pairs", values.get("difference") is not None, "difference"),
        ("page_size", values.get("page_table") is not None, "page_table"),
        *((name, reads_index_scores(values.get("mask")), CHOICE) for name in (*OF_INDEXER, "index_scores")),
    ):
        if values.get(name) is not None and not has_reader:
            unread[name] = f"there is no {what}"
    return {**unread, **_unread_by_recurrence(values, unread)}


def _unread_by_recurrence(values: Mapping[str, Any], unread: Mapping[str, str]) -> dict[str, str]:
    """The reasons why keys of recurrences, or keys that they replace, are unused."""
    recurrence = values.get("recurrence")
    if not isinstance(recurrence, Operator):
        return {name: "there is no recurrence" for name in STATE_ARRAYS if values.get(name) is not None}
    name, reads = recurrence.record.name, recurrence.record.shapes.arrays
    found = {key: f"{name} ignores it" for key in STATE_ARRAYS if values.get(key) is not None and key not in reads}
    reasons = {"causal": f"no token of {name} reads a later one", "context": f"{name} replaces it"}
    return found | {key: reason for key, reason in reasons.items() if values.get(key)}


def is_read(problem: ProblemSpec, key: str) -> bool:
    """Whether a problem computes a result that uses a key, given or by default."""
    if key == "context" and problem.recurrence is not None:
        return False
    if key == "gate" and not has_projection(vars(problem), "g"):
        return False
    return _used_by(key, getattr(problem, key)) not in problem.not_computed


def _used_by(name: str, value: Any) -> LastResult:
    """The last result that uses a key."""
    if name == "position" and isinstance(value, Operator) and value.record.acts_on is not None:
        return LAST_RESULTS_OF_POSITIONS[value.record.acts_on]
    return FIELDS[name].used_by


STATE_ARRAYS = ("decay", "beta", "past_state")  # arrays that recurrences read

# The fields that a given `query` or `key` makes useless, by the letter of their features. Of packed projections a part
# is useless.
_MADE_OF = {"d": "query", "u": "query", "μ": "query", "c": "key", "e": "key", "λ": "key", "ρ": "key"}
_MADE_OF |= {"ζ": "query", "ι": "query", "η": "key"}
REPLACED_BY = {
    name: _MADE_OF[field.letters[-1]]
    for name, field in FIELDS.items()
    if field.panel == PROJECTIONS and field.letters and field.letters[-1] in _MADE_OF
} | {"query_embeddings": "query"}


def check_inputs(values: Mapping[str, Any]) -> None:
    """Raise AttnError if there are no keys or no queries, or if a value would be unused."""
    given = {name for name, value in values.items() if value is not None}
    table = given_table(values)
    _check_selection(values, given)
    if table is not None:
        _check_inputs_with_table(table, given)
        return
    if not given & {"embeddings", "key"}:
        raise AttnError(
            "no input",
            hint="give embeddings, or query and key, or sentence, or seed, token_count and dim",
        )
    if not given & {"query", "query_embeddings", "embeddings"}:
        raise AttnError("nobody asks", hint="give query, query_embeddings or embeddings")
    _check_packed_sequences(given)
    if "recurrence" in given:
        _check_recurrence(values, given)
    if "key" not in given and "value" in given:
        message, hint = "value is given and key is not", "give key too, or w_v instead of value"
        raise AttnError(message, hint=hint, keys=("value",))
    _check_packed(given)
    _check_projected(given, REPLACED_BY)
    _check_latents(values, given)
    if ("past_key" in given) != ("past_value" in given):
        missing = "past_key" if "past_value" in given else "past_value"
        hint = "give past_key and past_value together"
        raise AttnError("a cache has keys and values", where=missing, hint=hint, keys=("past_key", "past_value"))
    if {"query", "key", "embeddings"} <= given:
        sequence = _sequence(given)
        raise AttnError(
            f"query and key are given, so {sequence} would not be used",
            where=sequence,
            hint="leave out one or the other",
            keys=(sequence, "query", "key"),
        )


def _check_packed_sequences(given: Collection[str]) -> None:
    """Raise AttnError if packed sequences have another key with their lengths."""
    if "cu_seqlens" not in given:
        if "cu_seqlens_k" in given:
            message = "cu_seqlens_k is given without cu_seqlens"
            raise AttnError(message, where="cu_seqlens", hint="give both", keys=("cu_seqlens_k",))
        return
    for name, hint in (
        ("key_lengths", "cu_seqlens has the lengths of the sequences: leave out one of them"),
        ("past_key", "put cached keys into key, and give each sequence's number of keys by cu_seqlens_k"),
    ):
        if name in given:
            message = f"cu_seqlens and {name} are both given"
            raise AttnError(message, where=name, hint=hint, keys=("cu_seqlens", name))


def _check_recurrence(values: Mapping[str, Any], given: Collection[str]) -> None:
    """Raise AttnError if a recurrence lacks an array, or has a key that needs a table of scores."""
    record, parameters = values["recurrence"].record, values["recurrence"].parameters
    derived = {name for name, x in record.derived.items() if x.is_needed(parameters)}
    for name in derived & set(given):
        message = f"{name} is given, but {values['recurrence']} has its own"
        raise AttnError(message, where=name, hint="leave out one of them", keys=(name, "recurrence"))
    for name in ("decay", "beta"):
        if name in record.shapes.arrays and name not in {*given, *derived}:
            hint = f"give it, or {' or '.join(record.derived[name].parameters[:1])}" if name in record.derived else ""
            raise AttnError(
                f"{record.name} reads {name}, which is not given", where=name, hint=hint, keys=("recurrence",)
            )
    for name, hint in (
        ("past_key", "give past_state, the state after the earlier tokens"),
        ("only", f"leave out only: the state of {record.name} comes from all earlier tokens"),
    ):
        if name in given:
            message = f"{record.name} has a state: it has no cached keys, and can't leave out rows"
            raise AttnError(message, where=name, hint=hint, keys=(name, "recurrence"))
    if values["context"].record.name != "weighted_sum":
        message = f"recurrence and context are both given, but {record.name} replaces {values['context']}"
        raise AttnError(message, where="context", hint="leave out one of them", keys=("context", "recurrence"))
    if "difference" in given:
        message = f"{record.name} has a state, and no maps to subtract"
        raise AttnError(message, where="difference", hint="leave out one of them", keys=("difference", "recurrence"))
    if "past_state" in given and values["recurrence"].parameters.get("normalize"):
        message, hint = "past_state does not include the sum of the earlier keys", "leave out normalize or past_state"
        raise AttnError(message, where="past_state", hint=hint, keys=("past_state", "recurrence"))


def _check_latents(values: Mapping[str, Any], given: Collection[str]) -> None:
    """Raise AttnError if a latent has a bias or a norm but no weights, or if weights project the sequence anyway."""
    for letter, name in (("μ", "q_latent"), ("λ", "kv_latent")):
        extras = [key for key in (f"b_{name}", f"{name}_norm") if key in given]
        if extras and not has_latent(values, letter):
            message = f"{extras[0]} is given without w_{name}"
            raise AttnError(message, where=extras[0], hint="give both", keys=(extras[0],))
    for key, letter, owner in (("w_qkv", "μ", "w_q"), ("w_qkv", "λ", "w_kv"), ("w_qg", "μ", "w_q")):
        latent = next((name for name in LATENTS[letter] if name in given), None)
        if key in given and latent is not None:
            message = f"{key} projects embeddings, but {latent} makes a latent of them"
            raise AttnError(message, where=key, hint=f"give {owner}, which projects the latent", keys=(key, latent))
    if not any(name in given for name in ROPE_WEIGHTS):
        if "b_k_rope" in given:
            raise AttnError(
                "b_k_rope is given without w_k_rope", where="b_k_rope", hint="give both", keys=("b_k_rope",)
            )
        return
    norm = values["qk_norm"]
    if norm is not None and not is_after_rope(norm):
        message = "all heads share the last features of each key"
        hint = "qk_norm with when=after_rope normalizes each head's key as a whole"
        raise AttnError(message, where="qk_norm", hint=hint, keys=("qk_norm",))


def _check_selection(values: Mapping[str, Any], given: Collection[str]) -> None:
    """Raise AttnError if an indexer is incomplete, or a mask chooses keys by missing scores."""
    indexer = [name for name in INDEXER if name in given]
    owner = next((name for name in OF_INDEXER if name in given), "")
    missing = next((name for name in INDEXER if name not in given), "")
    if owner and missing:
        message, hint = f"{owner} is given without {missing}", f"an indexer has {join_words(INDEXER)}"
        raise AttnError(message, where=owner, hint=hint, keys=(owner,))
    if indexer and "index_scores" in given:
        message, keys = f"index_scores are given, but {owner} would compute others", ("index_scores", owner)
        raise AttnError(message, where="index_scores", hint="leave out one of the two", keys=keys)
    if reads_index_scores(values["mask"]) and not indexer and "index_scores" not in given:
        hint = f"give index_scores, or {join_words(INDEXER)}"
        raise AttnError("top chooses keys by index scores, which are missing", where="mask", hint=hint, keys=("mask",))
    position = values["position"]
    if "index_rope" in given and (position is None or position.record.name != "rope"):
        message = "index_rope rotates the indexer's features by rope, but there is no rope"
        hint = "give position rope, or leave it out"
        raise AttnError(message, where="index_rope", hint=hint, keys=("index_rope", "position"))
    past = [name for name in ("past_key", "past_index_key") if name in given]
    if indexer and len(past) == 1:
        other = "past_key" if past[0] == "past_index_key" else "past_index_key"
        message, hint = f"{past[0]} is given without {other}", "a cache has keys, values and the indexer's keys"
        raise AttnError(message, where=other, hint=hint, keys=tuple(past))


def _sequence(given: Collection[str]) -> str:
    """The key with the user's input for the embeddings."""
    return next(name for name in ("residual", "token_table", "embeddings") if name in given)


def _check_projected(given: Collection[str], replaced_by: Mapping[str, str]) -> None:
    """Raise AttnError if an array would be unused because its result is given."""
    own = [(name, name, replacement) for name, replacement in replaced_by.items()]
    packed = [(f"{part} of {name}", name, part) for name, parts in PACKED.items() for part in parts]
    for what, name, replacement in own + [(what, name, replaced_by.get(part, "")) for what, name, part in packed]:
        if name in given and replacement in given:
            raise AttnError(
                f"{replacement} is already projected, so {what} would not be used",
                where=name,
                hint=f"leave out {name}, or give embeddings instead of {replacement}",
                keys=(name, replacement),
            )


def _check_packed(given: Collection[str]) -> None:
    """Raise AttnError if an array is given twice: alone and packed, or in two packed arrays."""
    owners: dict[str, str] = {}
    for name, parts in [*PACKED.items(), *((name, (name,)) for name in given if name not in PACKED)]:
        if name not in given:
            continue
        for part in parts:
            owner = owners.setdefault(part, name)
            if owner != name:
                message = f"{owner} includes {part}, so {name} would not be used"
                raise AttnError(message, where=name, hint=f"leave out {name} or {owner}", keys=(name, owner))


def _check_inputs_with_table(table: str, given: set[str]) -> None:
    """Raise AttnError if given scores or weights make an array useless, or leave nothing to compute.

    Unused operators, numbers and masks only cause a warning.
    """
    if given.issuperset(TABLES):
        message = "scores and weights are both given, but weights follow from scores"
        hint = "leave out one of them; attn check PROBLEM --against FILE compares a file of results"
        raise AttnError(message, where="weights", hint=hint, keys=TABLES)
    for name in given:
        field = FIELDS[name]
        if field.kind in ("matrix", "vector") and field.used_by == "queries":
            message = f"{table} are given, so {name} would not be used"
            hint = f"leave out {name} or {table}; give numbers to compare with under expected"
            raise AttnError(message, where=name, hint=hint, keys=(name, table))
    _check_packed(given)
    _check_projected(given, {name: "value" for name in REPLACED_BY if FIELDS[name].used_by == "output"})
    if given.issuperset(VALUE_SOURCES):
        sequence = _sequence(given)
        raise AttnError(
            f"{table} and value are given, so {sequence} would not be used",
            where=sequence,
            hint=f"leave out {sequence} or value",
            keys=(sequence, "value", table),
        )
    has_values = not given.isdisjoint(VALUE_SOURCES)
    if not has_values and "past_value" in given:
        raise AttnError("the values after the cached ones are missing", where="past_value", hint="give value")
