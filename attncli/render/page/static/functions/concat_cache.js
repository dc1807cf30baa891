/* The cached rows, then the new ones, [… p c] and [… k c] to [… p+k c]. */

import { concatenated } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("concat_cache", {
  compute: ({ past, new: added }) => concatenated(past, added, -2),
  index: { past: (cell) => rowIn(cell, "past"), new: (cell) => rowIn(cell, "new") },
  work: (cell) => [cell.unchanged(rowIn(cell, "past").length > 0 ? "past" : "new")],
});

/** The cell of the cached or of the new rows that a cell is; none where it is of the others. */
function rowIn(cell, role) {
  const [row, cached] = [cell.index.at(-2), cell.lengthOf("past", -2)];
  if (row < cached !== (role === "past")) return [];
  return [[...cell.index.slice(0, -2), role === "past" ? row : row - cached, cell.column]];
}
