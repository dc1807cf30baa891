"""The keys of the object that `attn compare --json` writes, and what each is; a test holds them to the object."""

from attncli.comparisons.objects import COMPARE_FORMAT as FORMAT

OBJECT = {
    "format": f"`{FORMAT}`",
    "version": "the version of the program",
    "variants": "an object for each variant, in the order of the command line; the last key varies fastest",
    "differences": "an object for each selected result of each pair of variants: the first and another, or every two",
    "first_differences": "an object for each pair: the first step in the order of the computation that differs",
    "seeds": "an object for each set of variants that differ in their seed alone",
    "remarks": "sentences on several variants, each once",
}

VARIANT = {
    "name": "the name that tells it from the others: `KEY=VALUE` of the keys that vary",
    "keys": "what is varied: its value, as text, by key; `file`, `as` and `set` are among them",
    "pipeline": "score, normalizer and context, as far as they act",
    "query_tokens": "the labels of the queries",
    "key_tokens": "the labels of the keys",
    "scores": "and every other selected result under its name",
    "statistics": "of the weights, without their axis of keys: `support`, `entropy`, `effective_keys`, `largest` and "
    "`largest_key`, the label; null where weights were not computed",
}

OVER_SEEDS = {
    "keys": "what else is varied: its value, as text, by key",
    "variants": "the names of the variants",
    "mean": "of `support`, `entropy`, `effective_keys` and `largest`: each variant counts as the mean of its rows",
    "standard_deviation": "of the same, of a sample (n − 1)",
}

DIFFERENCE = {
    "variants": "the names of both",
    "name": "that of the result",
    "max_abs": "the largest difference of two numbers",
    "labels": "those of the cell in which it is",
    "position": "the position of that cell",
    "numbers": "both numbers there",
    "distribution_count": "the rows of weights that are distributions in both, of which are the next three",
    "total_variation": "the largest of a row of weights; null where rows are not distributions",
    "kl": "the largest finite Kullback-Leibler divergence of a row of the first from that of the second, in nats",
    "infinite_kl_count": "the rows in which it is infinite",
    "reordered_count": "the rows of weights in which the order of the keys changes",
    "row_count": "the rows of weights",
    "reason": "why nothing can be compared: the shapes differ, or one of them lacks the result; otherwise null",
}

FIRST_DIFFERENCE = {
    "variants": "the names of both",
    "step": "the first step that differs, null where none does",
    "only_in": "the name of the variant that alone has it, otherwise null",
    "labels": "those of the first cell of it that differs",
    "position": "the position of that cell",
    "numbers": "both numbers there",
    "is_partial": "whether only the results that were kept are compared, as of large problems",
}
