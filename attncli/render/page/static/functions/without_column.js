/* The last column is dropped, [… n m+1] to [… n m]. */

import { mapRows } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("without_column", {
  compute: ({ weights }) => mapRows(weights, weights.shape.at(-1) - 1, (row) => row.slice(0, -1)),
  work: (cell) => [cell.unchanged("weights")],
});
