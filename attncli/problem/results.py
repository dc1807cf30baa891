"""The names of results: what `select` takes, and what JSON, files and Python call them."""

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
DEFAULT_SELECTION = ("scores", "weights", "output")

# Steps that had another name up to version 0.3: `select` takes the old name too.
RENAMED_STEPS: Mapping[str, str] = {
    "turned_query": "rotated_query",
    "turned_key": "rotated_key",
    "joined_key": "concatenated_key",
    "joined_value": "concatenated_value",
    "shared_key": "repeated_key",
    "shared_value": "repeated_value",
    "asking": "selected_rows",
}
