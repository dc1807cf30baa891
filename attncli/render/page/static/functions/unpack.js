/* The columns of one projection among packed ones: `count` from `first` of each of equal blocks. */

import { makeArray } from "../arrays.js";
import { defineFunction } from "../functions.js";

/** The column of a packed array of so many columns in which a column of the part stands. */
function packedColumn(column, columns, { blocks, first, count }) {
  return Math.floor(column / count) * (columns / blocks) + first + (column % count);
}

defineFunction("unpack", {
  compute({ x }, options) {
    const columns = x.shape.at(-1);
    const result = makeArray([...x.shape.slice(0, -1), options.blocks * options.count]);
    const width = result.shape.at(-1);
    for (let at = 0; at < result.data.length; at++) {
      result.data[at] = x.data[Math.floor(at / width) * columns + packedColumn(at % width, columns, options)];
    }
    return result;
  },
  index: {
    x: (cell) => [[...cell.index.slice(0, -1), packedColumn(cell.column, cell.lengthOf("x", -1), cell.options)]],
  },
  work: (cell) => [cell.unchanged("x")],
});
