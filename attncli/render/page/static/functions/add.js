/* The sum of two tables. */

import { mapPairs } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { sumOf } from "../terms.js";

defineFunction("add", {
  compute: ({ left, right }) => mapPairs(left, right, (x, y) => x + y),
  work: (cell) => [cell.equation(sumOf([cell.term("left"), cell.term("right")]))],
});
