"""What the reference says of cases that a formula does not settle is what happens."""

import warnings

import numpy as np
import pytest

import attncli
from docs.generation.edge_cases import EDGE_CASES, EdgeCase
from docs.generation.reference_page import pages


@pytest.mark.parametrize("edge", EDGE_CASES, ids=lambda edge: edge.case)
def test_an_edge_case_comes_out_as_the_reference_says(edge: EdgeCase) -> None:
    names = tuple(edge.results)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing is attended, or that a key has no effect
        result = attncli.Problem(**edge.keys).compute(names)
    for name, expected in edge.results.items():
        np.testing.assert_allclose(getattr(result, name), expected, rtol=1e-15)


def test_every_edge_case_is_in_the_reference() -> None:
    reference = pages()["edge_cases.md"]
    for edge in EDGE_CASES:
        assert f"| {edge.case} | {edge.what_happens} |" in reference
