/* The embeddings and the vectors of their positions, together. */

import { mapPairs } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { sumOf } from "../terms.js";

defineFunction("add_positions", {
  compute: ({ x, positions }) => mapPairs(x, positions, (left, right) => left + right),
  work: (cell) => [cell.equation(sumOf([cell.term("x"), cell.term("positions")]))],
});
