"""Every key that is given changes the problem or its plan, or a warning says why nothing reads it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from attncli import AttnError
from attncli.plan.build import keys_unread_by_plan, plan_of
from attncli.problem.spec import FIELDS, ProblemSpec
from tests.problem.test_lengths import PROBLEMS as PROBLEMS_WITH_EVERY_ARRAY
from tests.problems import PROBLEMS, Letters, problem

# What a problem may say again: the widths of packed parts that are equal, and the score whose own scale is replaced.
# The sign that numbers are written with is that of its tables alone.
SAYS_THE_SAME = {("rounded", "decimal_comma"), ("packed", "d_k"), ("packed", "d_v"), ("shaw with a scale", "score")}
MORE: Mapping[str, Mapping[str, Any]] = {
    "keys that nothing reads": {
        "embeddings": np.ones((3, 4)),
        "seed": 1,
        "align": "bottom_right",
        "positions": [0, 1, 2],
        "empty_rows": "nan",
        "gate": "silu",
        "packing": "per_head",
        "weight_layout": "out_in",
        "token_scale": 2.0,
    },
    "drawn": {"seed": 1, "token_count": 3, "dim": 4, "d_k": 3, "d_v": 5, "generator": "legacy", "init": "normal"},
    "a projection of another width": {"seed": 1, "token_count": 3, "dim": 4, "heads": 2, "d_o": 5},
    "rounded": {"embeddings": np.ones((3, 4)), "round": {"weights": 1}, "decimal_comma": True},
    "a gradient": {"embeddings": np.ones((3, 4)), "grad_output": np.ones((3, 4))},
    "a sentence that is split": {"sentence": "ab", "tokenizer": Letters(), "token_table": np.eye(3)},
    "a sentence": {"sentence": "a b", "vocabulary": {"a": [1, 0], "b": [0, 1]}},
}


def cases() -> Iterator[Any]:
    """Each key with the first problem that has it."""
    seen = set[str]()
    for title, keys in {**PROBLEMS_WITH_EVERY_ARRAY, **MORE, **PROBLEMS}.items():
        for key in sorted(keys):
            if (key not in seen or title in MORE) and (title, key) not in SAYS_THE_SAME:
                seen.add(key)
                yield pytest.param(keys, key, id=f"{title}-{key}")


def what_it_is(spec: ProblemSpec, without: str) -> tuple[object, ...]:
    """The plan, the labels and the numbers of a problem, but for those of one key."""
    values = {name: getattr(spec, name) for name in FIELDS if name != without}
    numbers = {name: x.tobytes() if isinstance(x, np.ndarray) else str(x) for name, x in values.items()}
    return str(plan_of(spec)), spec.key_labels, spec.selected_query_labels, spec.precision.name, numbers


def test_every_key_is_given_here() -> None:
    keys = {case.values[1] for case in cases()} | {key for _, key in SAYS_THE_SAME}
    assert keys == set(FIELDS), "a problem of tests/problems.py has each key"


@pytest.mark.parametrize(("keys", "key"), list(cases()))
def test_a_key_has_an_effect_or_a_warning(keys: Mapping[str, Any], key: str) -> None:
    spec = problem(**keys)
    is_step = any(node.source[:1] == (key,) for node in plan_of(spec).nodes)
    try:
        other = problem(**{name: value for name, value in keys.items() if name != key})
    except AttnError:  # it can't be left out
        return
    has_effect = is_step or what_it_is(spec, key) != what_it_is(other, key)
    assert has_effect != (key in keys_unread_by_plan(spec))
