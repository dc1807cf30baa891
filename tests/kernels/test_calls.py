"""How a function is called: which key each parameter is, the layouts, and what is returned."""

from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.kernels.calls import (
    LAYOUTS,
    describe_layout,
    find_returns,
    in_own_axes,
    laid_out,
    read_interface,
    shape_in,
    to_own_axes,
)
from attncli.kernels.cases import CaseMaker
from attncli.kernels.domain import Domain, Sizes
from attncli.kernels.process import FunctionDescription, Parameter, Returned, ReturnedPart
from tests.kernels.running import described

CASE = CaseMaker(Domain()).make(Sizes(2, 6, 3, 5, 7, 4, 11), "float64")


@pytest.mark.parametrize(
    ("parameters", "keys"),
    [
        ("q k v", "query key value"),
        ("query key value attn_mask is_causal scale enable_gqa", "query key value mask causal scale enable_gqa"),
        ("Q K V", "query key value"),
        ("queries keys values", "query key value"),
        ("q_states k_states v_states", "query key value"),
        ("x y z", "query key value"),
        ("a b c causal", "query key value causal"),
        ("q k v sm_scale window_size softcap", "query key value scale window softcap"),
        ("q k v num_heads num_kv_heads", "query key value heads kv_heads"),
        ("q k v attn_bias sinks key_padding_mask", "query key value bias sink key_mask"),
        ("q k v start_pos", "query key value past"),
        ("query key value attn_logits_soft_cap", "query key value softcap"),
        ("q k v past_key past_value seqlens", "query key value past_key past_value key_lengths"),
        ("key query value", "key query value"),
        ("q k v causal alibi_slopes", "query key value causal alibi_slopes"),
        (
            "q k v cu_seqlens_q cu_seqlens_kv max_seqlen_q max_seqlen_kv",
            "query key value cu_seqlens cu_seqlens_k max_seqlen_q max_seqlen_kv",
        ),
    ],
)
def test_a_parameter_is_known_by_its_name(parameters: str, keys: str) -> None:
    interface = read_interface(described(*parameters.split()), "attention")
    assert [one.key for one in interface.passed] == keys.split()


def test_what_has_a_default_and_is_not_known_stays_as_it_is() -> None:
    interface = read_interface(described("q", "k", "v", optional="dropout_p block_m causal"), "attention")
    assert interface.left == ("dropout_p", "block_m")
    assert [one.key for one in interface.passed if not one.is_needed] == ["causal"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (("q", "k", "v", "cos"), "attention takes 'cos', which attn does not know"),
        (("q", "k", "v", "out"), "attention takes 'out', which attn does not know"),
        (("q", "k"), "attention does not take query, key and value"),
    ],
)
def test_what_can_not_be_called_is_an_error(parameters: tuple[str, ...], message: str) -> None:
    with pytest.raises(AttnError, match=message) as error:
        read_interface(described(*parameters), "attention")
    assert "write a function (query, key, value) that calls it" in str(error.value)


def test_a_function_that_says_nothing_of_itself_gets_queries_keys_and_values() -> None:
    interface = read_interface(FunctionDescription("m:f", None, (), ()), "f")
    assert [(one.key, one.is_positional) for one in interface.passed] == [
        ("query", True),
        ("key", True),
        ("value", True),
    ]
    any_names = Parameter("args", False, False, True, False, "")
    assert read_interface(FunctionDescription("m:f", (any_names,), (), ()), "f").passed == interface.passed


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_undone(layout: str) -> None:
    array = CASE.arrays["query"]
    array = array if "b" in layout else array[:1]
    array = array[:, :1] if layout == "nd" else array
    given = laid_out(array, layout)
    assert given.shape == shape_in(layout, array.shape)
    assert np.array_equal(in_own_axes(given, layout, array.shape[1]), array)
    assert describe_layout(layout).startswith(f"{layout} (")


def returned(*parts: tuple[str | None, tuple[int, ...] | None]) -> Returned:
    return Returned(
        [ReturnedPart(name, None if shape is None else np.zeros(shape), "float64") for name, shape in parts]
    )


OUTPUT, LSE, TABLE = (2, 6, 5, 11), (2, 6, 5), (2, 6, 5, 7)


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ([(None, OUTPUT)], ("output",)),
        ([(None, OUTPUT), (None, LSE)], ("output", "lse")),
        ([(None, OUTPUT), (None, TABLE)], ("output", "weights")),
        ([(None, OUTPUT), (None, (3,)), (None, None)], ("output", None, None)),
        ([("lse", LSE), ("out", OUTPUT)], ("lse", "output")),
        ([("softmax_lse", LSE), ("o", OUTPUT), ("grad_query", OUTPUT)], ("lse", "output")),
    ],
)
def test_what_is_returned_is_known_by_its_name_or_its_shape(parts: list[Any], names: tuple[str | None, ...]) -> None:
    assert find_returns(returned(*parts), CASE, "bhnd") == names


@pytest.mark.parametrize(
    ("name", "shape", "layout", "own"),
    [
        ("output", (2, 5, 6, 11), "bnhd", (2, 6, 5, 11)),
        ("output", (2, 5, 66), "bnd", (2, 6, 5, 11)),
        ("lse", (2, 5, 6), "bnhd", (2, 6, 5)),
        ("lse", (2, 6, 5), "bnhd", (2, 6, 5)),
        ("weights", TABLE, "bnhd", TABLE),
        ("grad_key", (2, 7, 3, 4), "bnhd", (2, 3, 7, 4)),
    ],
)
def test_results_are_read_in_the_layout(name: str, shape: tuple[int, ...], layout: str, own: tuple[int, ...]) -> None:
    array, _ = to_own_axes(name, np.zeros(shape), CASE, layout)
    assert array is not None
    assert array.shape == own


def test_another_shape_is_said_with_the_right_one() -> None:
    assert to_own_axes("output", np.zeros((2, 6, 5, 4)), CASE, "bhnd") == (None, "(2, 6, 5, 11)")
