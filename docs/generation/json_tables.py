"""The objects that `--json` writes: the tables of their keys, with the text above each."""

from attncli.render.objects import DEMO_FORMAT

from . import check_json, compare_json

DEMO = {
    "format": f"`{DEMO_FORMAT}`",
    "version": "the version of the program",
    "title": "what the example shows",
    "about": "the paragraph below the title",
    "paper": "where it was published",
    "source": "who published the expected numbers",
    "agrees": "whether no number differs; null where nothing is expected",
    "parts": "an object for each part",
}
DEMO_PART = {
    "title": "the title of the part",
    "about": "the paragraph below it",
    "command": "the command that computes it",
    "results": "the results that are shown, by name; with `--explain` every step",
    "check": "what a check of its expected numbers finds, as above; null where nothing is expected",
}
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
    ("Each of `seeds`:", compare_json.OVER_SEEDS),
    (
        """## JSON of a worked example

`attn demo NAME --json` writes one object:
""",
        DEMO,
    ),
    ("Each of `parts`:", DEMO_PART),
)
