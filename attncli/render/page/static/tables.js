/* Tables that the user gives, masks and biases: their cells for some queries and keys. */

import { makeArray } from "./arrays.js";

/**
 * The cells of a table [… q t] or [… 1 t] for the queries and keys of some indices, [… n m]; `fill` stands in the
 * columns that it lacks.
 */
export function tableCells(table, queryRows, keyPositions, fill) {
  const [rows, columns] = table.shape.slice(-2);
  const [queries, keys] = [queryRows.data, keyPositions.data];
  const result = makeArray([...table.shape.slice(0, -2), queries.length, keys.length]);
  const size = queries.length * keys.length;
  for (let at = 0; at < result.data.length; at++) {
    const [matrix, cell] = [Math.floor(at / size), at % size];
    const row = rows === 1 ? 0 : queries[Math.floor(cell / keys.length)];
    const column = keys[cell % keys.length];
    result.data[at] = column < columns ? table.data[(matrix * rows + row) * columns + column] : fill;
  }
  return result;
}

/** The cell of a table that a cell for a query and a key reads: none where the table lacks the column. */
export function tableIndex(cell, source) {
  const [rows, columns] = source.axes.slice(-2).map((_, at) => cell.lengthOf("table", at - 2));
  const row = rows === 1 ? 0 : cell.term("query_rows").value(null);
  const column = cell.term("key_positions").value(null);
  if (column >= columns) return [];
  const isOne = (axis) => cell.lengthOf("table", axis) === 1;
  const leading = source.axes.slice(0, -2).map((letter, axis) => (isOne(axis) ? 0 : cell.at[letter]));
  return [[...leading, row, column]];
}

/** `visible` or `hidden`, the end of the line on a cell of a mask. */
export function verdict(cell) {
  return cell.number === 0 ? "hidden" : "visible";
}
