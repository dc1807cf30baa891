/* A learned vector for each position: a row of a table. */

import { makeArray } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("learned", {
  compute({ positions, table }, { offset = 0 }) {
    const columns = table.shape.at(-1);
    const result = makeArray([...positions.shape, columns]);
    positions.data.forEach((position, row) => {
      const at = (position + offset) * columns;
      result.data.set(table.data.subarray(at, at + columns), row * columns);
    });
    return result;
  },
  index: { table: (cell) => [[cell.term("positions").value(null) + (cell.options.offset ?? 0), cell.column]] },
  work: (cell) => [cell.unchanged("table")],
});
