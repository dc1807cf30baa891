/* The array itself, unchanged. */

import { defineFunction } from "../functions.js";

defineFunction("identity", {
  compute: ({ x }) => x,
  index: { x: (cell) => [cell.index] },
  work: (cell) => [cell.unchanged("x")],
});
