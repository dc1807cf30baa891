"""The objects that `--json` writes: the tables of their keys, with the text above each."""

from attncli.analysis.fit import LEAST_FALL, PATIENCE
from attncli.render.objects import DEMO_FORMAT
from attncli.render.reports.fit import FIT_FORMAT

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
FIT = {
    "format": f"`{FIT_FORMAT}`",
    "version": "the version of the program",
    "problem": "the file of the problem; null where there is none",
    "learned": "the learned numbers and arrays by their keys, matrices as `weight_layout` stores them",
    "targets": "the names of the results that have a target",
    "stopped": "`converged` where the loss no longer fell, `steps` where these were all, `interrupted` or `not_finite`",
    "steps": "how many steps there were",
    "loss": "the lowest loss, at which the problem is that of `learned`",
    "losses": "the loss before the first step, and after each",
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
    (
        f"""## Fits

`attn fit` learns the arrays and numbers in `--learn`: keys of the problem (`w_q`, `bias`, `scale`), and
parameters of operators (`score.w1`, `score.sigma`, or `sigma` where no other has that name). The loss is the
mean squared error of the target, of several the sum of theirs; a target may leave numbers out. Adam (Kingma &
Ba 2015, with β₁ = 0.9, β₂ = 0.999) takes steps of `--rate` over everything at once, and stops where the lowest
loss fell by less than {LEAST_FALL:g} of itself in {PATIENCE} steps. A number that has a least value (`sigma`,
`temperature`, `softcap`, `alpha`) is learned by the logarithm of what it is above that, and `scale` and `beta`
by that of their size, so that these keep their sign. Ctrl-C writes what was found so far, and ends with 130.
`attn fit --json` writes one object:
""",
        FIT,
    ),
)
