"""The objects that `--json` writes: the tables of their keys, with what stands above each."""

from . import check_json, compare_json

JSON_TABLES = (
    (
        """## JSON of a check

`attn check --json` writes one object. What JSON can't hold is `"NaN"`, `"Infinity"` or `"-Infinity"`. With
`--set` the object also has `set` (the cells, with their numbers before and after) and `before` (`agrees`, `results` and
`first_difference` of the problem as it was).
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
    (
        "Each of `variants`, which have a `convention` too where one reads the problem, and `remarks` on it:",
        compare_json.VARIANT,
    ),
    ("Each of `differences`:", compare_json.DIFFERENCE),
    ("Each of `first_differences`:", compare_json.FIRST_DIFFERENCE),
)
