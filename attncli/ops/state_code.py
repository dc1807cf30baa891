"""The code of recurrences: a loop over tokens that keeps the states before and after each, and the readings."""

from dataclasses import dataclass

from attncli.ops.code import CodeCall, NoCode

FEATURE_MAPS = {
    "l2": "{x} / np.sqrt(({x} ** 2).sum(axis=-1, keepdims=True) + {eps})",
    "elu+1": "np.where({x} > 0, {x} + 1, np.exp({x}.clip(max=0)))",
    "relu": "{x}.clip(0)",
    "softmax": "np.exp({x}) / np.exp({x}).sum(axis=-1, keepdims=True)",
}


def state_code(call: CodeCall, *, has_decay: bool, has_beta: bool, is_last: bool = False) -> str:
    """The lines of a recurrence; with `is_last` they compute only the last state."""
    lines, query, key = _mapped(call)
    shape = (*call.shape[:-2], call.shapes["key"][-1], call.shapes["value"][-1])
    lines.append(f"state = {_start(call, shape)}")
    needs_sums = not is_last and (call.has("key_sums") or bool(call.option("normalize")))
    kept, body = list[str](), list[str]()

    def keep(name: str, value: str) -> None:
        """Keep a token's values, unless only the last state is requested."""
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


def _start(call: CodeCall, shape: tuple[int, ...]) -> str:
    """The state before the first token."""
    return f"np.broadcast_to({{past_state}}, {shape})" if call.has("past_state") else f"np.zeros({shape})"


def _scaled(call: CodeCall) -> str:
    """The factor or divisor of readings."""
    scale = call.option("scale")
    if scale is None:
        return f" / np.sqrt({call.shapes['query'][-1]})"
    return "" if scale == 1 else " * {scale}"


def _decay(call: CodeCall, more: str = "") -> str:
    """The decay of a token; tokens may share it, and it may be one number or one per feature."""
    shape = call.shapes["decay"]
    is_of_features = len(shape) == len(call.shapes["value"])
    token = 0 if shape[-2 if is_of_features else -1] == 1 else "i"
    return f"{{decay}}[..., {token}, {':' if is_of_features else 'None'}{more}]"


def _reading(call: CodeCall, query: str) -> str:
    """Each query's reading of its state, times the scale or divided by its reading of the sum of the keys."""
    reading = f"({query}[..., None, :] @ {{states}})[..., 0, :]"
    if call.option("normalize"):
        return f"{reading} / ({query} * {{key_sums}}).sum(axis=-1, keepdims=True)"
    return f"{reading}{_scaled(call)}"


def _mapped(call: CodeCall) -> tuple[list[str], str, str]:
    """The lines of the feature map, and the names of the mapped queries and keys."""
    name = call.option("feature_map", "identity")
    lines = list[str]()
    if name == "identity":
        return lines, "{query}", "{key}"
    for role in ("query", "key") if "query" in call.shapes else ("key",):  # a mere state has no query
        own = FEATURE_MAPS[name].replace("{x}", f"{{{role}}}")
        lines.append(f"{_mapped_name(call, role)} = {own}")
    return lines, _mapped_name(call, "query"), _mapped_name(call, "key")


def _mapped_name(call: CodeCall, role: str) -> str:
    """The name of mapped queries or keys: the step's, or a variable of its own.

    A mere state has keys of key heads; the step of a recurrence may have repeated them.
    """
    own = f"mapped_{role}" if "query" in call.shapes else f"mapped_{role}_of_state"
    return f"{{mapped_{role}}}" if call.has(f"mapped_{role}") else own


# The gradient of vectors from their features' gradient, `found`.
MAP_GRADIENTS = {
    "l2": "(found - {mapped} * ({mapped} * found).sum(axis=-1, keepdims=True)) / {size}",
    "elu+1": "found * {mapped}.clip(max=1)",
    "relu": "found * ({x} > 0)",
    "softmax": "{mapped} * (found - ({mapped} * found).sum(axis=-1, keepdims=True))",
}
STACKED = "np.stack(found[::-1], axis=-2)"
TOO_LONG = NoCode("a gradient through its states takes more than a few lines")


def state_gradient_code(call: CodeCall, name: str) -> str | NoCode:
    """The gradient of a recurrence without a delta rule by one of its arrays: a loop over tokens, forward or back."""
    if call.has("beta") or call.option("normalize"):
        return TOO_LONG
    lines, query, key = _mapped(call)
    *loops, found = _Loops(call, query, key).lines(name)
    chosen = call.option("feature_map", "identity")
    if name in ("query", "key") and chosen != "identity":
        loops, found = [*loops, f"found = {found}"], _unmapped(call, name, chosen)
    lines = [line for line in lines if any(line.partition(" =")[0] in own for own in (*loops, found))]
    return "\n".join([*lines, *loops, found])


@dataclass(frozen=True)
class _Loops:
    """The loops of a recurrence and of its gradient; `query` and `key` are the mapped variables."""

    call: CodeCall
    query: str
    key: str

    def lines(self, name: str) -> list[str]:
        """The lines that compute the gradient by an array; the last is the gradient."""
        match name:
            case "query":
                read = f"found.append(({{grad}}[..., i, None, :] @ state.mT)[..., 0, :]{_scaled(self.call)})"
                return [*self.forward(self.write, read), "np.stack(found, axis=-2)"]
            case "key":
                return [*self.back("(d_state @ {value}[..., i, :, None])[..., 0]"), STACKED]
            case "value":
                return [*self.back(f"({self.key}[..., i, None, :] @ d_state)[..., 0, :]"), STACKED]
            case "decay":
                return self.of_decay()
            case _:
                return [*self.back(""), "d_state"]

    def of_decay(self) -> list[str]:
        """The lines of the gradient by the decay, one number or one per feature; tokens may share it."""
        of_features = len(self.call.shapes["decay"]) == len(self.call.shapes["value"])
        axis = -2 if of_features else -1
        shared = f".sum(axis={axis}, keepdims=True)" if self.call.shape[axis] == 1 else ""
        read = f"(d_state * kept[i]).sum(axis={-1 if of_features else (-2, -1)})"
        before = [line.replace("found", "kept") for line in self.forward("found.append(state)", self.write)]
        return [*before, *self.back(read), f"np.stack(found[::-1], axis={axis}){shared}"]

    @property
    def write(self) -> str:
        """The line that writes a token to the state."""
        return f"state = state + {self.key}[..., i, :, None] * {{value}}[..., i, None, :]"

    def forward(self, *body: str) -> list[str]:
        """The loop over the tokens, which collects `found` for each."""
        keep = [f"state = {self.kept} * state"] if self.kept else []
        head = [f"state, found = {_start(self.call, self.shape)}, []", f"for i in range({self.count}):"]
        return [*head, *(f"    {line}" for line in (*keep, *body))]

    def back(self, found: str) -> list[str]:
        """The loop from the last token back, which collects `found` for each from the gradient of its state."""
        read = f"{self.query}[..., i, :, None] * {{grad}}[..., i, None, :]{_scaled(self.call)}"
        body = [f"d_state = d_state + {read}", *([f"found.append({found})"] if found else [])]
        body += [f"d_state = {self.kept} * d_state"] if self.kept else []
        zeros = f"np.zeros({self.shape})"
        head = [f"d_state, found = {zeros}, []" if found else f"d_state = {zeros}"]
        return [*head, f"for i in reversed(range({self.count})):", *(f"    {line}" for line in body)]

    @property
    def kept(self) -> str:
        """The share of the state that a token keeps; empty without a decay."""
        return f"np.exp({_decay(self.call, ', None')})" if self.call.has("decay") else ""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the state."""
        features = self.call.shapes["query"][-1], self.call.shapes["value"][-1]
        return (*self.call.shapes["grad"][:-2], *features)

    @property
    def count(self) -> int:
        """The number of tokens."""
        return self.call.shapes["key"][-2]


def _unmapped(call: CodeCall, name: str, chosen: str) -> str:
    """The gradient of queries or keys from their features' gradient, `found`."""
    x = f"{{{name}}}"
    size = f"np.sqrt(({x} ** 2).sum(axis=-1, keepdims=True) + {{eps}})"
    mapped = MAP_GRADIENTS[chosen].replace("{mapped}", _mapped_name(call, name))
    return mapped.replace("{size}", size).replace("{x}", x)
