/* The scores and the user's own numbers; where those are −∞ nothing is added. */

import { mapPairs } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { tableCells, tableIndex } from "../tables.js";
import { numberTerm, sumOf } from "../terms.js";

defineFunction("add_bias", {
  compute({ scores, table, query_rows: rows, key_positions: keys }) {
    return mapPairs(scores, tableCells(table, rows, keys, 0), (score, bias) => score + (bias === -Infinity ? 0 : bias));
  },
  index: { table: tableIndex },
  work(cell) {
    const bias = cell.term("table");
    const isAdded = bias !== undefined && bias.value(null) !== -Infinity;
    return [cell.equation(sumOf([cell.term("scores"), isAdded ? bias : numberTerm(0)]))];
  },
});
