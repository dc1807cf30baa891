/* The rows at some positions, [… q x] to [… n x]. */

import { makeArray } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("select_rows", {
  compute({ x }, { at }) {
    const [rows, columns] = x.shape.slice(-2);
    const result = makeArray([...x.shape.slice(0, -2), at.length, columns]);
    for (let row = 0; row * columns < result.data.length; row++) {
      const from = Math.floor(row / at.length) * rows + at[row % at.length];
      result.data.set(x.data.subarray(from * columns, (from + 1) * columns), row * columns);
    }
    return result;
  },
  index: { x: (cell) => [[...cell.index.slice(0, -2), cell.options.at[cell.index.at(-2)], cell.column]] },
  work: (cell) => [cell.unchanged("x")],
});
