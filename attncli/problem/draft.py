"""A draft: the values of a problem between input and ProblemSpec, and the facts that go with them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from attncli.ops.records import Operator
from attncli.problem.arrays import ArrayOrigin, AxisLabels
from attncli.problem.spec import ConventionUse


@dataclass(frozen=True, eq=False)
class Draft:
    """The values so far, by field names, and facts about them; a pass makes the next draft from it."""

    values: Mapping[str, Any]
    origins: Mapping[str, ArrayOrigin] = field(default_factory=dict)  # where fields were given
    convention: str | None = None  # the framework whose words they are
    labels: Mapping[str, AxisLabels] = field(default_factory=dict)  # that came with arrays, by key
    dtypes: Mapping[str, str] = field(default_factory=dict)  # the floating types of arrays, by key
    array_origins: Mapping[str, ArrayOrigin] = field(default_factory=dict)  # of arrays with their own files
    token_numbers: Sequence[int] | None = None  # from the tokenizer of the sentence
    use: ConventionUse | None = None  # the convention's changes of the values
    unread: Mapping[str, str] = field(default_factory=dict)  # the reason for each unused key
    generators: Mapping[str, Operator] = field(default_factory=dict)  # of arrays that they made: `w_q`, `score.w1`

    def is_in_file(self, name: str) -> bool:
        """Whether a value is from a problem file, without an option or keyword over it."""
        return name in self.origins and not self.origins[name].is_option

    def rearranged(self, values: Mapping[str, Any]) -> "Draft":
        """The draft with other values; changed ones no longer match their files."""
        changed = [name for name in self.values if values.get(name) is not self.values[name]]
        return replace(self, values=values, origins=origins_of_changed(self.origins, changed))


def origins_of_changed(origins: Mapping[str, ArrayOrigin], names: Iterable[str]) -> Mapping[str, ArrayOrigin]:
    """The origins after some arrays' numbers have changed."""
    changed = {name: replace(origins[name], is_whole=False) for name in names if name in origins}
    return {**origins, **changed} if changed else origins
