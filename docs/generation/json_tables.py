"""The objects that `--json` writes: the tables of their keys, with the text above each."""

from html import escape

from attncli.demos.document import DEMO_FORMAT
from attncli.fit.document import FIT_FORMAT
from attncli.fit.learning import LEAST_FALL, PATIENCE
from attncli.kernels.document import TRY_FORMAT
from attncli.kernels.merge_document import MERGE_FORMAT
from attncli.kernels.vector_files import VECTORS_FORMAT
from attncli.models.heads import LEAST_LOCAL, LEAST_MEAN, LEAST_UNIFORM, PLACES, SUM_TOLERANCE
from attncli.models.heads_document import HEADS_FORMAT

from . import check_json, compare_json

PLACES_TABLE = "\n".join(
    ["| name | a head is called | the pairs |", "| --- | --- | --- |"]
    + [f"| `{place.name}` | {place.kind} | {escape(place.about, quote=False)} |" for place in PLACES.values()]
)
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
TRY = {
    "format": f"`{TRY_FORMAT}`",
    "version": "the version of the program",
    "function": "the name of the function, or of the program",
    "passes": "whether it failed on no input",
    "tried": "how many inputs were tried, without those that it refuses",
    "failed": "on how many of them it failed",
    "is_stopped": "whether it failed so often that other inputs were not tried",
    "seed": "that of the inputs",
    "dtypes": "the types of the inputs",
    "arrays": "`numpy`, `torch` or `command`",
    "layout": "the order of the axes of its arguments",
    "called": "how it was called, a sentence each",
    "untried": "sentences: what was not tried, and why",
    "compared": "the results that were compared",
    "passed": "with `--rtol` or `--atol`: slips that these let pass and the derived tolerance would not, or null",
    "explained_by": "slips that explain what it gave, as in a check",
    "right_with": "options of conventions, `--as flash`, by which it is right where it gave wrong numbers",
    "smallest": "the smallest input on which it fails, or null",
    "others": "failures for other causes: `kind`, `sentence`, `count`, and the `sizes` of the smallest input",
}
MERGE = {
    "format": f"`{MERGE_FORMAT}`",
    "version": "the version of the program",
    "parts": "the parts, as they were named",
    "lse_base": "`e` or `2`",
    "dtype": "the type of the output, that of the parts",
    "output": "the output of all keys",
    "lse": "the log-sum-exp of all keys, in the base of the parts",
    "weights": "the weight of each part, with the parts as the first axis",
    "against": "for each result that was compared: `name`, `count`, `differ`, `max_abs`, `allowed`, the `base` that "
    "agrees, `is_undecided`, the worst number (`position`, `given`, `correct`), and `explanations`",
}
VECTORS = {
    "format": f"`{VECTORS_FORMAT}`",
    "version": "the version of the program",
    "seed": "that of the numbers",
    "vectors": "each with its `name`, `file`, what it is `about`, `dtype`, `keys` of the problem, `shapes`, the "
    "`tolerance` of each type and result, and the slips that it `reveals`, by the first result that does",
    "mistakes": "by their names: the `sentence` of each slip, and the pages of public `bugs`",
}
SMALLEST = {
    "kind": "`differs`, `not_finite`, `result` (a shape, a part that is missing), `changed` (an argument), `raised`, "
    "`crashed` or `timeout`",
    "sentence": "what happens, without its subject: `raises ValueError: …`",
    "sizes": "the lengths of its axes: `batch`, `heads`, `kv_heads`, `queries`, `keys`, `features` …",
    "numbers": "how many numbers queries, keys and values have",
    "dtype": "the type of its arrays",
    "memory": "how they are in memory",
    "printed": "what the function printed",
    "arguments": "its arrays: `query` [b h n d], `key`, `value`, and what else there was, such as `mask` or `bias`",
    "problem": "the keys of the problem that are no arrays, as texts",
    "returned": "what the function gave, by the names of results",
    "correct": "what is right, by the same names",
}
HEADS = {
    "format": f"`{HEADS_FORMAT}`",
    "version": "the version of the program",
    "heads": "an object for each head that is shown: `layer` and `head` (numbers from 0), `kind` (what it is called), "
    "`share` (its mean weight there), `entropy`, `effective_keys`, `distance`, `kinds`, `shares`, `received`, and with "
    "`--maps` its `weights`",
    "layers": "for each layer its number `layer`, `name`, `query_tokens`, `key_tokens`, and the means over its heads",
    "mean": "the means over all heads",
    "equal_weights": "what equal weights on the keys that queries see would have",
    "rollout": "with `--rollout` its `formula`, and `layers`: the map after each layer",
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
        """## JSON of a trial

`attn try --json` writes one object:
""",
        TRY,
    ),
    ("`smallest`:", SMALLEST),
    (
        """## JSON of a merge, and of test vectors

`attn merge --json` writes one object:
""",
        MERGE,
    ),
    ("`attn vectors --json`, and the file `manifest.json`:", VECTORS),
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
    (
        f"""## What heads do

`attn heads` counts how much weight each head gives to places. A query counts if it is a token, not padding, and its
row has numbers with a sum above 0; padding never counts, as a query or as a key. A query has a place if at least one
key that it sees is of it, and it sees other keys too. `kinds` has for each place the mean of the weight there over the
queries that have it, null where none has; `shares` the same over all queries that count.

{PLACES_TABLE}

Queries see the keys that the mask of a capture says; of saved maps all keys, or the earlier ones and itself where no
query of a layer gives weight to a later key.

A head is `uniform` where its entropy is {LEAST_UNIFORM} or more of that of equal weights on the keys that queries see.
Otherwise it is named after the place with the largest mean, at least {LEAST_MEAN} and more than equal weights have
there. Induction and duplicate token are compared with first token over the queries that have them, and the smaller of
both names no head: a first token where nothing else is possible does not name an induction head. So are offsets, which
at least half of the queries must have. Local names a head that no narrower place names, with {LEAST_LOCAL} times what
equal weights have. Otherwise the head is `mixed`.

`entropy` (in nats) and `effective_keys`, its exponential, are means over the queries whose weights are a distribution:
none is negative, and they sum to 1 within {SUM_TOLERANCE:g}, in whatever type they are stored. `distance` is the mean
of Σⱼ Aᵢⱼ |i − j|, and `received` has for each key the sum of the weight on it. The rollout is Aₗ = ½ (mean of the
heads) + ½ I, rows divided by their sum, Rₗ = Aₗ Rₗ₋₁.

`attn heads --json` writes one object, with null in place of a number that is not there:
""",
        HEADS,
    ),
)
