/* A learned key for each distance, up to the farthest that the table has. */

import { dotProducts, makeArray, mapPairs, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { vectorName } from "../scoring.js";
import { productsOf } from "../terms.js";

defineFunction("shaw", {
  compute({ query, query_positions: positions, key_positions: keys, table }, options) {
    const rows = table.shape.at(-2);
    const products = dotProducts(query, table);
    const indices = mapPairs(withAxis(positions, -1), keys, (position, key) => tableRow(key - position, rows, options));
    const tables = products.shape.slice(0, -2).reduce((size, length) => size * length, 1);
    const [queries, count] = [products.shape.at(-2), keys.data.length];
    const shared = mapPairs(indices, makeArray([...products.shape.slice(0, -1), 1]), (row) => row);
    const result = makeArray([...products.shape.slice(0, -1), count]);
    for (let at = 0; at < tables * queries * count; at++) {
      result.data[at] = products.data[Math.floor(at / count) * rows + shared.data[at]];
    }
    return result;
  },
  index: {
    table(cell, source) {
      const distance = cell.term("key_positions").value(null) - cell.term("query_positions").value(null);
      const leading = source.axes.slice(0, -2).map((letter) => cell.at[letter]);
      return [[...leading, tableRow(distance, cell.lengthOf("table", -2), cell.options), null]];
    },
  },
  work(cell) {
    const [, row] = cell.sources().find(({ role }) => role === "table").index.slice(-3).reverse();
    const distance = row - rowsToTheLeft(cell.lengthOf("table", -2), cell.options);
    const name = `${vectorName(cell, "query", "n")}·table(${cell.write(distance)})`;
    return [cell.equation(productsOf(cell.terms("query"), cell.terms("table")), name)];
  },
});

/** The row of a table for a distance; distances beyond its ends get the ends. */
function tableRow(distance, rows, options) {
  return Math.min(Math.max(distance + rowsToTheLeft(rows, options), 0), rows - 1);
}

/** How many rows stand before that of distance 0: without `left` half of the others. */
function rowsToTheLeft(rows, { left }) {
  return left ?? Math.floor(rows / 2);
}
