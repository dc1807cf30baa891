/* A bias of minus infinity hides its key; columns that the bias lacks are hidden. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { tableCells, tableIndex, verdict } from "../tables.js";

defineFunction("bias", {
  compute: ({ table, query_rows: rows, key_positions: keys }) =>
    mapNumbers(tableCells(table, rows, keys, -Infinity), (x) => Number(x !== -Infinity)),
  index: { table: tableIndex },
  work(cell) {
    const name = `the bias of (${cell.label("n")}, ${cell.label("m")}) is `;
    return [cell.sentence(name, cell.term("table") ?? "−∞", `: ${verdict(cell)}`)];
  },
});
