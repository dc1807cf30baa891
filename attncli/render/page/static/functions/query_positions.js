/* The position of each query among the keys: row i of the queries is at key i + first. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { numberTerm, sumOf } from "../terms.js";

defineFunction("query_positions", {
  compute: ({ rows }, { first }) => mapNumbers(rows, (row) => row + first),
  work: (cell) => [cell.equation(sumOf([cell.term("rows"), numberTerm(cell.options.first)]))],
});
