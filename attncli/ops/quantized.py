"""Quantized weights: packed integers or 8-bit numbers, and the scales that restore the weights.

Each function returns a matrix [o i] in float32, the layout of PyTorch's `nn.Linear`.
"""

from attncli.base.dtypes import FLOAT8, float8_numbers
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of

WORD_SIZE = 32  # bits of an integer that packs others
AWQ_BITS = 4
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # the column in each four bits of an integer, from the lowest


def scaled(weight: Array, scale: Array, *, block: Array | None = None) -> Array:
    """Numbers of 8 bits times their scale: one for the tensor, one for each row or head, or one for each block.

    The weight is [o i]; the scale [], [1], [o], [o 1], or with a block of rows and columns [⌈o/rows⌉ ⌈i/columns⌉]: the
    last blocks may be smaller. For queries, keys or values with an axis of heads the scale is [], [h], [b h], or has as
    many axes as they. Raises AttnError for a scale of another shape.

    Source: DeepSeek-V3 (`weight_scale_inv`, blocks of 128 × 128), compressed-tensors (`weight_scale`).

    >>> scaled(np.ones((2, 3)), np.array([[2.0, 4.0]]), block=np.array([2, 2])).tolist()
    [[2.0, 2.0, 4.0], [2.0, 2.0, 4.0]]
    """
    if weight.ndim > 2 and block is None:
        return _product(weight, _factors_of_heads(weight, scale))
    if weight.ndim != 2:
        raise AttnError(f"weight has the shape {weight.shape}", hint="expected rows of numbers")
    shape = weight.shape
    if scale.size == 1:
        factors: Array = scale.reshape(())
    elif block is not None:
        sizes = [int(size) for size in np.ravel(block)]
        if len(sizes) != 2 or min(sizes) < 1:
            raise AttnError("block has the rows and columns of a block", hint="such as [128, 128]")
        expected = tuple(-(-length // size) for length, size in zip(shape, sizes, strict=True))
        _check_shape("scale", scale, expected, f"a weight of {shape[0]} × {shape[1]} in blocks")
        factors = scale.repeat(sizes[0], axis=0)[: shape[0]].repeat(sizes[1], axis=1)[:, : shape[1]]
    else:
        _check_shape("scale", scale.reshape(-1), shape[:1], f"a weight of {count_of(shape[0], 'row')}, without block,")
        factors = scale.reshape(-1, 1)
    return _product(weight, factors)


def of_bits(bits: Array, *, dtype: str, scale: Array | None = None, block: Array | None = None) -> Array:
    """Numbers of 8 or 16 bits that are stored as integers, times their scale, if any: see `scaled`.

    Raises AttnError for an integer out of range.

    Source: the caches of vLLM and TensorRT-LLM, uint8; bfloat16 in NumPy's files, int16 or uint16.

    >>> of_bits(np.array([[0x38, 0xB8]]), dtype="float8_e4m3fn").tolist()
    [[1.0, -1.0]]
    >>> of_bits(np.array([[0x3F80, -0x4000]]), dtype="bfloat16", scale=np.array([10.0])).tolist()
    [[10.0, -20.0]]
    """
    width = 8 if dtype in FLOAT8 else 16
    if bits.size and not (np.all(bits % 1 == 0) and -(2 ** (width - 1)) <= bits.min() and bits.max() < 2**width):
        raise AttnError(f"bits of {dtype} are integers of {width} bits", hint="give the integers as they are stored")
    codes = bits.astype(np.int64) % 2**width
    numbers: Array = float8_numbers(dtype)[codes] if dtype in FLOAT8 else (codes.astype("<u4") << 16).view(np.float32)
    return numbers if scale is None else scaled(numbers, scale, block=block)


def _factors_of_heads(weight: Array, scale: Array) -> Array:
    """The scale of an array with an axis of heads, reshaped to broadcast: one, one per head, or also per batch item."""
    shape = weight.shape
    if scale.size == 1:
        return scale.reshape(())
    if scale.ndim == weight.ndim and all(size in (1, length) for size, length in zip(scale.shape, shape, strict=True)):
        return scale
    axes = [axis for axis in range(scale.ndim - 1, weight.ndim - 1) if shape[axis] == scale.shape[-1]]
    is_by_item = scale.ndim == 2 and len(scale) == shape[0]
    if not (scale.ndim == 1 or is_by_item) or len(axes) != 1:
        hint = f"a weight of {shape} needs one number, [heads], [batch, heads], or as many axes"
        raise AttnError(f"scale has the shape {scale.shape}", hint=hint)
    form = [1] * weight.ndim
    form[axes[0]] = scale.shape[-1]
    return scale.reshape([len(scale), *form[1:]] if is_by_item else form)


def gptq(
    qweight: Array,
    qzeros: Array,
    scales: Array,
    *,
    g_idx: Array | None = None,
    bits: int,
    checkpoint_format: str = "gptq",
) -> Array:
    """Integers of a few bits, packed along the inputs, minus the zero of their group, times its scale.

    `qweight` [i·bits/32 o] and `qzeros` [g o·bits/32] have integers of 32 bits, the lowest bits first; `scales` are [g
    o]. `g_idx` [i] is the group of each input; without it groups have equally many inputs. `bits` are 2, 3, 4 or 8.
    Stored zeros are 1 less, unless the format is `gptq_v2`. Raises AttnError if the shapes don't match.

    Source: AutoGPTQ's QuantLinear; Frantar et al. 2022 (GPTQ).

    >>> packed = np.array([[0x12345678]])  # 8, 7, 6, 5, 4, 3, 2, 1
    >>> gptq(packed, np.array([[2]]), np.array([[0.5]]), bits=4).tolist()
    [[2.5, 2.0, 1.5, 1.0, 0.5, 0.0, -0.5, -1.0]]
    """
    codes = _unpack("qweight", qweight.T, bits)
    outputs, inputs = codes.shape
    groups = scales.shape[0]
    _check_shape("scales", scales, (groups, outputs), f"a qweight of {count_of(outputs, 'column')}")
    zeros = _unpack("qzeros", qzeros, bits)[:, :outputs]
    _check_shape("qzeros", zeros, scales.shape, f"scales of {count_of(groups, 'group')}")
    if checkpoint_format == "gptq":  # a zero point of 0 is stored as −1, all bits set
        zeros = (zeros + 1) % 2**bits
    group = _groups(g_idx, inputs, groups)
    return _product(codes - zeros.astype(np.float32)[group].T, scales[group].T)


def awq(qweight: Array, qzeros: Array, scales: Array) -> Array:
    """Integers of four bits, packed along the outputs, minus the zero of their group, times its scale.

    `qweight` [i o/8] and `qzeros` [g o/8] have integers of 32 bits, each with eight columns in the order of the `gemm`
    format: 0, 2, 4, 6, 1, 3, 5, 7; `scales` are [g o]. Raises AttnError if the shapes don't match.

    Source: AutoAWQ's WQLinear_GEMM; Lin et al. 2023 (AWQ).

    >>> awq(np.array([[0x76543210]]), np.array([[0]]), np.ones((1, 8))).ravel().tolist()
    [0.0, 4.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0]
    """
    packed = {"qweight": qweight, "qzeros": qzeros}
    codes, zeros = (_in_order(_unpack(name, array, AWQ_BITS)) for name, array in packed.items())
    inputs, outputs = codes.shape
    groups = scales.shape[0]
    _check_shape("scales", scales, (groups, outputs), f"a qweight of {outputs} outputs")
    _check_shape("qzeros", zeros, scales.shape, f"scales of {count_of(groups, 'group')}")
    group = _groups(None, inputs, groups)
    return _product(codes - zeros.astype(np.float32)[group], scales[group]).T


def _unpack(name: str, packed: Array, bits: int) -> Array:
    """Unpack integers whose bits follow each other in each row, [r n·bits/32] to [r n]."""
    if packed.ndim != 2:
        raise AttnError(f"{name} has the shape {packed.shape}", hint="expected rows of integers")
    if packed.shape[1] * WORD_SIZE % bits:
        available = packed.shape[1] * WORD_SIZE
        raise AttnError(f"{name} has {available} bits in each row, not a multiple of {bits}")
    words = np.ascontiguousarray(packed).astype(np.int64).astype("<u4")  # −1 is all bits set
    stream = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
    codes: Array = np.packbits(stream.reshape(len(words), -1, bits), axis=-1, bitorder="little")[..., 0]
    return codes.astype(np.float32)


def _in_order(codes: Array) -> Array:
    """AWQ's columns in their order, in groups of eight."""
    ordered = np.empty_like(codes)
    for at, column in enumerate(AWQ_ORDER):
        ordered[:, column :: len(AWQ_ORDER)] = codes[:, at :: len(AWQ_ORDER)]
    return ordered


def _groups(g_idx: Array | None, inputs: int, groups: int) -> Array:
    """The group of each input [i]."""
    if g_idx is None:
        if inputs % groups:
            raise AttnError(f"{inputs} inputs are not shared evenly among {groups} groups", hint="give g_idx")
        return np.repeat(np.arange(groups), inputs // groups)
    _check_shape("g_idx", g_idx, (inputs,), f"a qweight of {inputs} inputs")
    indices: Array = g_idx.astype(np.int64)
    if indices.size and (indices.min() < 0 or indices.max() >= groups):
        raise AttnError(f"g_idx names the group {indices.max()}", hint=f"scales has {groups}, counted from 0")
    return indices


def _check_shape(name: str, array: Array, expected: tuple[int, ...], other: str) -> None:
    """Raise AttnError if an array does not have the shape that another one implies."""
    if array.shape != expected:
        raise AttnError(f"{name} has the shape {array.shape}", hint=f"{other} needs {expected}")


def _product(left: Array, right: Array) -> Array:
    """The product in float32, in which quantizing packages compute, or from which they round."""
    product: Array = left.astype(np.float32, copy=False) * right.astype(np.float32, copy=False)
    return product
