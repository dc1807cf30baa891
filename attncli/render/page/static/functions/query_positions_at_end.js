/* The position of each query, counted from the end of each batch item's real keys: [n] and [b …] to [b … n]. */

import { mapPairs, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { numberTerm, sumOf } from "../terms.js";

defineFunction("query_positions_at_end", {
  compute: ({ rows, key_lengths: lengths }, { first }) =>
    mapPairs(rows, withAxis(lengths, -1), (row, length) => row + first + length),
  work: (cell) => [cell.equation(sumOf([cell.term("rows"), numberTerm(cell.options.first), cell.term("key_lengths")]))],
});
