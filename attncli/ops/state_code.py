"""The code of recurrences: a loop over tokens that keeps the state before and after each, and what is read of it."""

from attncli.ops.code import CodeCall

FEATURE_MAPS = {
    "l2": "{x} / np.sqrt(({x} ** 2).sum(axis=-1, keepdims=True) + {eps})",
    "elu+1": "np.where({x} > 0, {x} + 1, np.exp({x}.clip(max=0)))",
    "relu": "{x}.clip(0)",
    "softmax": "np.exp({x}) / np.exp({x}).sum(axis=-1, keepdims=True)",
}


def state_code(call: CodeCall, *, has_decay: bool, has_beta: bool, is_last: bool = False) -> str:
    """The lines of a recurrence; where `is_last` those of its last state alone, which keep no other."""
    lines, query, key = _mapped(call)
    shape = (*call.shape[:-2], call.shapes["query"][-1], call.shapes["value"][-1])
    start = f"np.broadcast_to({{past_state}}, {shape})" if call.has("past_state") else f"np.zeros({shape})"
    lines.append(f"state = {start}")
    needs_sums = not is_last and (call.has("key_sums") or bool(call.option("normalize")))
    kept, body = list[str](), list[str]()

    def keep(name: str, value: str) -> None:
        """Keep what a token has, where more than the last state is asked for."""
        if not is_last:
            kept.append(name)
            body.append(f"{{{name}}}.append({value})")

    keep("states_before", "state")
    if has_decay:
        body.append(f"state = np.exp({_decay(call, ', None')}) * state")
        keep("decayed_states", "state")
    written = "{value}[..., i, :]"
    if has_beta:
        body.append(f"found = ({key}[..., i, None, :] @ state)[..., 0, :]")
        keep("read_back", "found")
        body.append("written = {beta}[..., i, None] * ({value}[..., i, :] - found)")
        keep("corrections", "written")
        written = "written"
    body.append(f"state = state + {key}[..., i, :, None] * {written}[..., None, :]")
    keep("states", "state")
    if needs_sums and has_decay:
        lines.append("key_sum = 0")
        body.append(f"key_sum = np.exp({_decay(call)}) * key_sum + {key}[..., i, :]")
        keep("key_sums", "key_sum")
    if kept:
        lines.append(f"{', '.join(f'{{{name}}}' for name in kept)} = {', '.join(['[]'] * len(kept))}")
    lines += [f"for i in range({call.shapes['key'][-2]}):", *(f"    {line}" for line in body)]
    lines += [f"{{{name}}} = np.stack({{{name}}}, axis={-3 if 'states' in name else -2})" for name in kept]
    if needs_sums and not has_decay:
        lines.append(f"{{key_sums}} = {key}.cumsum(axis=-2)")
    return "\n".join([*lines, "state" if is_last else _reading(call, query)])


def _decay(call: CodeCall, more: str = "") -> str:
    """The decay of a token, which may be that of every token, of all features or of each."""
    shape = call.shapes["decay"]
    is_of_features = len(shape) == len(call.shape)
    token = 0 if shape[-2 if is_of_features else -1] == 1 else "i"
    return f"{{decay}}[..., {token}, {':' if is_of_features else 'None'}{more}]"


def _reading(call: CodeCall, query: str) -> str:
    """What each query reads of its state, times the scale or divided by what it reads of the sum of the keys."""
    reading, scale = f"({query}[..., None, :] @ {{states}})[..., 0, :]", call.option("scale")
    if call.option("normalize"):
        return f"{reading} / ({query} * {{key_sums}}).sum(axis=-1, keepdims=True)"
    if scale is None:
        return f"{reading} / np.sqrt({call.shapes['query'][-1]})"
    return reading if scale == 1 else f"{reading} * {{scale}}"


def _mapped(call: CodeCall) -> tuple[list[str], str, str]:
    """The lines of the feature map, and the names of queries and keys behind it."""
    name = call.option("feature_map", "identity")
    lines = list[str]()
    if name == "identity":
        return lines, "{query}", "{key}"
    for role in ("query", "key"):
        own = FEATURE_MAPS[name].replace("{x}", f"{{{role}}}")
        lines.append(f"{_mapped_name(call, role)} = {own}")
    return lines, _mapped_name(call, "query"), _mapped_name(call, "key")


def _mapped_name(call: CodeCall, role: str) -> str:
    """The name of queries or keys behind the feature map: of the step, or of a variable of its own."""
    return f"{{mapped_{role}}}" if call.has(f"mapped_{role}") else f"mapped_{role}"
