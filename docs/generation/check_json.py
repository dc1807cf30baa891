"""The keys of the object that `attn check --json` writes, and what each is; a test holds them to the object."""

from attncli.checks.objects import CHECK_FORMAT as FORMAT

OBJECT = {
    "format": f"`{FORMAT}`",
    "version": "the version of the program",
    "problem": "the file; null where options alone say what the problem is",
    "part": "the title or number of the part of a worked example; otherwise null",
    "agrees": "whether no number differs and none is blank; null where nothing is expected and slips are looked for "
    "(`--slips`)",
    "blank": "how many numbers are asked for, as null, and not given",
    "results": "an object for each result or step, in the order of the computation",
    "first_difference": "the name of the first of them that differs, or null",
    "reference": "the type in which the reference is computed: `float64`, `longdouble`, `50 digits`",
    "explained_by": "slips that explain the numbers, the simplest first, or how they can be read plainly (`cut`, "
    "`typo`, `transposed` …): `slips`, their names, a `sentence`, and "
    "`parameters`, the numbers or maps that were found, by name",
    "telling": "of several explanations: those that are the `same` on these inputs (and whether other inputs tell them "
    "apart, `by_other_inputs`), and a number, of the result `name` at the cell `labels`, that tells others apart: "
    "`numbers`, by the names of slips; otherwise null",
    "explained_in_part": "where nothing explains all numbers, what explains those at some `positions` along an `axis` "
    "of a `result`: as above, and `others_agree`, whether all others are right",
    "nearest": "where nothing explains a part either, the slip that explains most of the numbers that differ in the "
    "first `result` with any: as above, and `count`, how many; null where none explains most of them",
    "tried": "how many slips and pairs of slips were tried",
    "untried": "sentences: which were not, and why",
    "searched": "where nothing is expected: the result in which slips were looked for; otherwise null",
    "passed": "with `--rtol`, `--atol` or `--ulp`: the names of slips that these let pass and the derived tolerance "
    "would not; otherwise null",
    "unnoticed": "with `--slips`: the names of slips that would not be noticed; otherwise null",
}

RESULT = {
    "name": "that of the result or step",
    "agrees": "whether no number of it differs",
    "count": "how many numbers are expected",
    "differ": "how many of them differ",
    "digits": "to how many significant digits all agree",
    "by_digits": "of numbers typed to different decimals: how many (`count`) agree to how many `digits`, their largest "
    "error `max_abs` and what is allowed, `tolerance`; otherwise empty",
    "tolerance": "the largest difference that is allowed in any cell",
    "tolerance_reason": "the tolerance, in a sentence",
    "max_abs": "the largest absolute error",
    "max_rel": "the largest relative error",
    "max_ulp": "the largest error in units in the last place of `ulp_dtype`",
    "ulp_dtype": "the type of these units",
    "correlation": "that of both arrays; null where one of them does not vary",
    "cosine": "that of the angle between both arrays; null where one of them is 0",
    "worst": "the cell whose error is largest beside its tolerance: its `labels`, `position`, `expected`, `computed`",
    "follows": "whether what differs follows from the numbers expected before it; null where that is not known",
    "other_step": "the step that has the numbers that differ, in the same cells; null where none or several do",
    "reading": "how the numbers that differ can be read without a mistake of computing: `name`, `sentence` and "
    "`parameters`; null where they can't",
    "half_type": "the half type of the numbers where the problem has a finer one and `--dtype` would allow them",
    "remarks": "sentences: which shapes were matched, which part was checked",
    "is_array": "whether the numbers are those of a program, with a type of their own, and not typed",
    "looser": "where numbers agree only if every step is rounded to a half type: that, in words; otherwise empty",
    "error_shapes": "what the error looks like where no slip explains it: `name`, `sentence`, `parameters`",
}

SUITE = {
    "format": f"`{FORMAT}`",
    "version": "the version of the program",
    "agrees": "whether all agree of which something is expected",
    "checks": "an object for each problem as above, or one with its `error`",
    "left_out": "the files of folders in which nothing is expected",
}
