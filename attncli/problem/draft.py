"""A draft: the values of a problem on their way from what is given to a ProblemSpec, and what travels with them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from attncli.ops.records import Operator
from attncli.problem.arrays import ArrayOrigin, AxisLabels
from attncli.problem.spec import ConventionUse


@dataclass(frozen=True, eq=False)
class Draft:
    """The values so far, by the names of fields, and what is known of them; a pass makes the next draft of it."""

    values: Mapping[str, Any]
    origins: Mapping[str, ArrayOrigin] = field(default_factory=dict)  # where fields were given
    convention: str | None = None  # the framework whose words they are
    labels: Mapping[str, AxisLabels] = field(default_factory=dict)  # that came with arrays, by their keys
    dtypes: Mapping[str, str] = field(default_factory=dict)  # the floating types of arrays, by their keys
    array_origins: Mapping[str, ArrayOrigin] = field(default_factory=dict)  # of arrays that have files of their own
    token_numbers: Sequence[int] | None = None  # those of the sentence, where a tokenizer has split it
    use: ConventionUse | None = None  # what the convention has made of the values
    unread: Mapping[str, str] = field(default_factory=dict)  # why nothing reads a key, for each that nothing reads
    generators: Mapping[str, Operator] = field(default_factory=dict)  # of arrays that were made: `w_q`, `score.w1`

    def is_in_file(self, name: str) -> bool:
        """Whether a value is that of a problem file, over which no option and no keyword was given."""
        return name in self.origins and not self.origins[name].is_option

    def rearranged(self, values: Mapping[str, Any]) -> "Draft":
        """The draft with other values, of which those that changed are not what their files have."""
        changed = [name for name in self.values if values.get(name) is not self.values[name]]
        return replace(self, values=values, origins=origins_of_changed(self.origins, changed))


def origins_of_changed(origins: Mapping[str, ArrayOrigin], names: Iterable[str]) -> Mapping[str, ArrayOrigin]:
    """The origins where some arrays have other numbers than what they were read from."""
    changed = {name: replace(origins[name], is_whole=False) for name in names if name in origins}
    return {**origins, **changed} if changed else origins
