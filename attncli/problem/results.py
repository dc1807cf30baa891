"""The names of results: those of `select`, of JSON and files, and of attributes in Python."""

from collections.abc import Mapping

RESULTS = (
    "scores",
    "capped_scores",
    "masked_scores",
    "weights",
    "context",
    "output",
    "present_key",
    "present_value",
)
EXPECTED = "expected"  # the key of a file under which stand the numbers that are expected of results
WEIGHTS = "weights"  # the result that statistics are of
CONTEXT = "context"  # of each head, before heads are merged and projected
OUTPUT = "output"  # the answer: what an error proposes to select alone
DEFAULT_SELECTION = ("scores", WEIGHTS, OUTPUT)

# What is missing where a result is the one before it.
RESULT_KEYS: Mapping[str, str] = {
    "capped_scores": "softcap",
    "positioned_scores": "position bias",
    "biased_scores": "bias",
    "masked_scores": "mask",
}

# The stages that a result names as its pipeline, each by the key of its operator.
PIPELINE_STAGES = ("score", "normalize", "context")

# Steps that had another name up to version 0.3: `select` accepts the old name too.
RENAMED_STEPS: Mapping[str, str] = {
    "turned_query": "rotated_query",
    "turned_key": "rotated_key",
    "joined_key": "concatenated_key",
    "joined_value": "concatenated_value",
    "shared_key": "repeated_key",
    "shared_value": "repeated_value",
    "asking": "selected_rows",
}
