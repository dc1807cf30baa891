/* A learned number for each head and each difference of rows and columns in a grid of tokens. */

import { makeArray, mapPairs, perHead, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("grid_bias", {
  compute({ query_positions: positions, key_positions: keys, table }, { heads = null, ...options }) {
    const columns = table.shape[1];
    const rows = mapPairs(withAxis(positions, -1), keys, (position, key) => gridRow(position, key, options));
    const each = makeArray([columns], Float64Array.from({ length: columns }, (_, head) => head));
    return mapPairs(rows, perHead(each, heads), (row, head) => table.data[row * columns + head]);
  },
  index: { table: (cell) => [[gridRowOf(cell), cell.at.h ?? 0]] },
  work: (cell) => [cell.sentence(`row ${gridRowOf(cell)} of the table: `, cell.term("table"))],
});

/** The row of the table of a cell. */
function gridRowOf(cell) {
  const [position, key] = ["query_positions", "key_positions"].map((role) => cell.term(role).value(null));
  return gridRow(position, key, cell.options);
}

/** The row of the table for the position of a query and the index of a key. */
function gridRow(position, key, { height, width = height, class_token: hasClass = false }) {
  const classes = (2 * height - 1) * (2 * width - 1); // the first row of the class token
  if (hasClass && (position <= 0 || key === 0)) return classes + (position > 0 ? 1 : key === 0 ? 2 : 0);
  const cellOf = (at) => {
    const inGrid = at - Number(hasClass);
    return [Math.floor(inGrid / width), inGrid - Math.floor(inGrid / width) * width];
  };
  const [rows, columns] = cellOf(position).map((at, axis) => at - cellOf(key)[axis]);
  const row = (rows + height - 1) * (2 * width - 1) + columns + width - 1;
  return Math.min(Math.max(row, 0), classes + (hasClass ? 2 : -1)); // a query before the first key is in no cell
}
