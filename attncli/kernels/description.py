"""What a function is to compute: the keys of a problem that say nothing of sizes, and the arrays of its own, if any."""

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.io.assemble import assemble, read_value
from attncli.io.problem_files import Document, Origin, RawValue
from attncli.kernels.cases import LAID_OUT, KernelCase
from attncli.kernels.trial import TYPES, Description
from attncli.ops.registry import is_operator, operators
from attncli.problem.arrays import GivenArray
from attncli.problem.fields import INPUTS, RANDOM
from attncli.problem.layout import LAID_OUT as OF_LAYOUT
from attncli.problem.layout import OWN_LAYOUTS
from attncli.problem.mask_expressions import MaskExpression
from attncli.problem.spec import FIELDS, ConventionUse, ProblemSpec

SIZES = ("heads", "kv_heads", "dtype")  # keys that say which inputs there are
ARRAYS = (*LAID_OUT, "past_key", "past_value", "grad_output")  # which are one more input
LABELS = ("tokens", "query_tokens", "only")
SAMPLE = (1, 2, 2, 4)  # the shape [b h n d] on which keys are checked


def describe(
    document: Document, convention: str | None = None, layout: str | None = None
) -> tuple[Description, ConventionUse | None]:
    """What the keys of a problem say of a function, and what a convention makes of them.

    Arrays that have as many axes as the `layout` of the function, and none of their own, are in this order too.
    Raises AttnError for a key that gives arrays a fixed size.
    """
    keys = {key: raw for key, raw in document.items() if key in FIELDS and raw.value is not None}
    for key, raw in keys.items():
        if key not in (*SIZES, *ARRAYS, *LABELS, "layout"):
            _check_has_no_size(key, raw)
    kept = {key: raw for key, raw in keys.items() if key not in (*SIZES, *ARRAYS, *LABELS, "layout")}
    arrays = {key: raw for key, raw in keys.items() if key in (*ARRAYS, *LABELS, "layout")}
    if layout is not None and "layout" not in arrays and len(layout) in map(_axis_count, arrays.items()):
        arrays["layout"] = RawValue(layout, Origin())
    given = None
    if any(key in ARRAYS for key in arrays):
        given = _case(assemble({**kept, **arrays, **{key: keys[key] for key in SIZES if key in keys}}, convention))
    heads, kv_heads = (_count(keys, key) for key in ("heads", "kv_heads"))
    sample = RawValue(GivenArray(np.zeros((1, heads or 2 * (kv_heads or 1), *SAMPLE[2:]))), Origin())
    of_keys = RawValue(GivenArray(np.zeros((1, kv_heads or heads or 2, *SAMPLE[2:]))), Origin())
    arrays_of = _sample_of_recurrence(kept, heads or 2 * (kv_heads or 1))
    own_layout = RawValue(OWN_LAYOUTS[0], Origin())
    # An error of a key is one before any work.
    problem = assemble(
        {**arrays_of, **kept, "query": sample, "key": of_keys, "value": of_keys, "layout": own_layout}, convention
    )
    dtype = keys["dtype"].value if "dtype" in keys else None
    if dtype is not None and dtype not in TYPES["torch"]:
        raise UnknownNameError("type", str(dtype), TYPES["torch"], where=keys["dtype"].origin.path("dtype"))
    dtypes = None if dtype is None else (str(dtype),)
    return Description(kept, convention, heads, kv_heads, dtypes, given), problem.convention


def _sample_of_recurrence(document: Document, heads: int) -> Document:
    """The numbers of each token that the recurrence of a problem reads."""
    raw = document.get("recurrence")
    record = operators("recurrence").get("" if raw is None else str(raw.value).partition(":")[0])
    zeros = RawValue(GivenArray(np.zeros((1, heads, SAMPLE[2]))), Origin())
    has_slopes = raw is not None and "slopes=" in str(raw.value)  # from which decays are made
    names = ["beta"] if has_slopes else ["decay", "beta"]
    return {} if record is None else {name: zeros for name in names if name in record.shapes.arrays}


def _axis_count(item: tuple[str, RawValue]) -> int:
    """How many axes an array has that is given in an order of axes; 0 for another key."""
    key, raw = item
    if key not in OF_LAYOUT:
        return 0
    value = read_value(FIELDS[key], raw)
    return value.array.ndim if isinstance(value, GivenArray) else np.ndim(value)


def _count(keys: Document, key: str) -> int | None:
    """A number of heads; its errors are those of a problem."""
    if key not in keys:
        return None
    given = {key: keys[key], "query": RawValue(GivenArray(np.zeros((1, 2))), Origin())}
    value = read_value(FIELDS[key], keys[key])
    if isinstance(value, int) and value >= 1 and not isinstance(value, bool):
        return value
    assemble({**given, "key": given["query"]})
    raise AttnError("is not a number of heads", where=keys[key].origin.path(key))


def _check_has_no_size(key: str, raw: RawValue) -> None:
    """Raise AttnError for a key that is an array, or says how large some are."""
    field = FIELDS[key]
    path = raw.origin.path(key)
    hint = "name masks and scores, which have any size; query, key and value are one more input"
    if field.panel in (INPUTS, RANDOM):
        raise AttnError("attn try chooses its inputs", where=path, hint="leave it out")
    value = read_value(field, raw)
    is_table = isinstance(value, (GivenArray, list, np.ndarray))
    if isinstance(value, MaskExpression):
        is_table = any(not is_operator("mask", leaf.name) for leaf in value.leaves)
    if is_table and key not in ("window",):
        raise AttnError("has a size of its own; inputs have many", where=path, hint=hint)


def _case(problem: ProblemSpec) -> KernelCase:
    """The arrays of a problem as an input."""
    query, key, value = (_with_heads(problem, name) for name in LAID_OUT)
    past = 0
    if problem.past_key is not None:
        cached = [_with_heads(problem, f"past_{name}") for name in ("key", "value")]
        past = cached[0].shape[2]
        key, value = (np.concatenate(both, axis=2) for both in zip(cached, (key, value), strict=True))
    shape = (*query.shape[:-1], value.shape[-1])
    upstream = np.ones(shape) if problem.grad_output is None else _of_output(problem, shape)
    arrays = {"query": query, "key": key, "value": value, "grad_output": upstream}
    case = KernelCase(arrays, "float64", past=past, about="the problem's own")
    dtype = problem.precision.name
    return case.with_dtype(dtype if dtype in TYPES["torch"] else "float64")


def _of_output(problem: ProblemSpec, shape: tuple[int, ...]) -> Array:
    """The gradient of the output of a problem in the shape [b h n e]; heads that are side by side are split."""
    given = problem.grad_output
    assert given is not None
    batch, heads, tokens, features = shape
    if problem.leading.splits_heads:
        given = np.broadcast_to(given, (batch, tokens, heads * features))
        given = given.reshape(batch, tokens, heads, features).transpose(0, 2, 1, 3)
    elif given.ndim == 3 and not problem.leading.has_input_head_axis:
        given = given[:, None]
    return np.broadcast_to(given, shape)


def _with_heads(problem: ProblemSpec, name: str) -> Array:
    """An array of a problem as [b h n d]."""
    array: Array | None = getattr(problem, name)
    if array is None:
        raise AttnError(f"gives no {name}", hint="give query, key and value, or none of them")
    layout = problem.leading
    heads = layout.heads if name == "query" else layout.kv_heads
    if array.ndim < 4:
        array = array if array.ndim == 3 else array[None]
        batch, tokens, _ = array.shape
        array = array.reshape(batch, tokens, heads, -1).transpose(0, 2, 1, 3)
    return array
