"""Edits: single numbers of the arrays of a problem replaced, `w_q[0,1]=3`, and the problem checked again."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.memory import missing_memory
from attncli.problem.array_cells import CellArray, Cells, find_cells
from attncli.problem.build import replace_values
from attncli.problem.editable_arrays import EMBEDDINGS, VOCABULARY, find_array, values_with
from attncli.problem.edited_problem import EditedCell, EditedProblem
from attncli.problem.origins import ArrayOrigin
from attncli.problem.spec import ProblemSpec


@dataclass(frozen=True)
class Edit:
    """A number in place of one, or of every one of a row or column, of an array: `w_q[0,1]=3`, `w_q[*,1]=0`.

    `key` is that of a field that holds an array, or `score.w1` of an operator's. `index` has a label or a position for
    each axis of the array as it is stored, or `*` for every entry. `place` is how an error names the edit.
    """

    key: str
    index: tuple[str, ...]
    value: float | bool
    place: str

    @property
    def cell(self) -> str:
        """What is replaced: `w_q[0,1]`; a label with a comma is in quotes."""
        parts = (f'"{part}"' if "," in part else part for part in self.index)
        return f"{self.key}[{','.join(parts)}]"


def apply_edits(spec: ProblemSpec, edits: Sequence[Edit]) -> ProblemSpec:
    """The problem after some edits, one after the other; labels, types and where arrays were given stay.

    Arrays that were drawn are edited as they were drawn, weights as `weight_layout` stores them; a mask or a bias that
    is not given is edited as the table that changes nothing. Raises AttnError where a key has no numbers, a cell is not
    there, or the problem does not allow its new number.

    >>> from attncli.problem.build import build
    >>> spec = build({"query": [[1, 0]], "key": [[1, 0], [0, 1]]})
    >>> apply_edits(spec, [Edit("key", ("key_2", "d1"), 3.0, "key[key_2,d1]=3")]).key.tolist()
    [[1.0, 0.0], [3.0, 1.0]]
    """
    return edit_problem(spec, edits).after


def edit_problem(spec: ProblemSpec, edits: Sequence[Edit]) -> EditedProblem:
    """The problem before and after some edits, as `apply_edits` has it, and what each of them replaced."""
    cells, arrays, places = list[EditedCell](), dict[str, CellArray](), dict[tuple[str, str], str]()
    for edit in edits:
        try:
            array = arrays.get(edit.key) or find_array(spec, edit.key)
            at = find_cells(array, edit.index)
            if (edit.key, str(at)) in places:
                raise AttnError("is set twice", hint="set it once")
            cells.append(EditedCell(edit.cell, _plain(array.values[at]), _plain(edit.value)))
            arrays[edit.key] = replace(array, values=_with_number(array, at, edit.value))
        except AttnError as error:
            raise error.at(edit.place) from None
        places[edit.key, str(at)] = edit.place
    if {VOCABULARY, EMBEDDINGS} <= arrays.keys():
        raise AttnError(f"{EMBEDDINGS} and {VOCABULARY} are both set", hint="set numbers of one of them")
    # A number that is not finite is traced back to where it was given; a table that was not is from the first edit.
    from_edits = (edit for edit in reversed(edits) if not isfinite(edit.value) or getattr(spec, edit.key, "") is None)
    origins = {edit.key: ArrayOrigin(edit.place, is_option=True) for edit in from_edits}
    values: dict[str, Any] = {}
    try:
        for array in arrays.values():
            values |= values_with(replace(spec, **values), array)  # an operator may have two of the arrays
        edited = replace_values(replace(spec, origins={**spec.origins, **origins}), values)
        return EditedProblem(spec, edited, tuple(cells))
    except AttnError as error:
        error.path = error.path[1:] if error.path[:1] in {(key,) for key in arrays} else error.path
        raise error.at(", ".join(edit.place for edit in edits)) from None


def _with_number(array: CellArray, at: Cells, value: float | bool) -> Array:
    """A copy of an array with a number in some cells; truth values and counts as numbers, which are checked later."""
    missing = missing_memory(array.values.nbytes)
    if missing is not None:
        raise AttnError(f"a copy of {array.key} {missing}")
    if isinstance(value, bool) and not array.is_boolean:
        raise AttnError(f"{array.key} has numbers", hint="write 1 or 0")
    changed = np.array(array.values, dtype=None if array.values.dtype.kind == "f" else np.float64)
    with np.errstate(over="ignore"):
        changed[at] = value
    if isfinite(value) and not np.isfinite(changed[at]).all():
        raise AttnError(f"{value:g} is too large for {changed.dtype}")
    return changed


def _plain(value: Any) -> Any:
    """A number, or a list of numbers, of Python; 1 and 0 for true and false."""
    array = np.asarray(value)
    return (array.astype(np.int64) if array.dtype.kind == "b" else array).tolist()
