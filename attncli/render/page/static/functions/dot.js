/* The dot product of the query and the key. */

import { dotProducts } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { dotProductLine } from "../scoring.js";

defineFunction("dot", {
  compute: ({ query, key }) => dotProducts(query, key),
  work: (cell) => [dotProductLine(cell, cell.number)],
});
