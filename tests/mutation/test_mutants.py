"""The mutants of a source are those by hand, and each is a source that Python reads."""

import ast

from tests.mutation.mutants import mutants

SOURCE = '''"""A file."""
LIMIT = 3

@record(formula="a + b")
def áverage(x: int = 1 + 1) -> int:
    """The mean."""
    if not x and len(x) > 2:
        raise ValueError(f"{x + 1}")
    return min(x) / -LIMIT
'''


def test_the_mutants_are_those_by_hand() -> None:
    found = [(mutant.line, mutant.before, mutant.after) for mutant in mutants(SOURCE)]
    assert found == [
        (7, "not x and len(x) > 2", "(not x or len(x) > 2)"),
        (7, "not x and len(x) > 2", "(not x)"),
        (7, "not x", "(x)"),
        (7, "len(x) > 2", "(len(x) >= 2)"),
        (7, "2", "(3)"),
        (9, "min(x) / -LIMIT", "(min(x) * -LIMIT)"),
        (9, "min(x)", "(max(x))"),
        (9, "-LIMIT", "(LIMIT)"),
    ]


def test_a_mutant_differs_from_the_source_in_one_place() -> None:
    for mutant in mutants(SOURCE):
        assert ast.dump(ast.parse(mutant.apply(SOURCE))) != ast.dump(ast.parse(SOURCE))
        assert mutant.apply(SOURCE).replace(mutant.after, mutant.before, 1) == SOURCE
