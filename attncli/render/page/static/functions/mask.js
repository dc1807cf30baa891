/* The user's own table of true and false; columns that it lacks are hidden. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { tableCells, tableIndex, verdict } from "../tables.js";

defineFunction("mask", {
  compute: ({ table, query_rows: rows, key_positions: keys }) =>
    mapNumbers(tableCells(table, rows, keys, 0), (x) => Number(x !== 0)),
  index: { table: tableIndex },
  work(cell) {
    const name = `the mask of (${cell.label("n")}, ${cell.label("m")}) is `;
    return [cell.sentence(name, cell.term("table") ?? "0", `: ${verdict(cell)}`)];
  },
});
