"""The objects that `--json` writes: the tables of their keys, with what stands above each."""

from . import check_json, compare_json

JSON_TABLES = (
    (
        """## JSON of a check

`attn check --json` writes one object. What JSON can't hold is `"NaN"`, `"Infinity"` or `"-Infinity"`.
""",
        check_json.OBJECT,
    ),
    ("Each of `results`:", check_json.RESULT),
    ("Of several problems:", check_json.SUITE),
    (
        """## JSON of a comparison

`attn compare --json` writes one object:
""",
        compare_json.OBJECT,
    ),
    ("Each of `variants`:", compare_json.VARIANT),
    ("Each of `differences`:", compare_json.DIFFERENCE),
    ("Each of `first_differences`:", compare_json.FIRST_DIFFERENCE),
)
