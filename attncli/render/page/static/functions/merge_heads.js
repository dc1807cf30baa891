/* The heads side by side, the first one first, [… h n e] to [… n h·e]. */

import { exchangedAxes, makeArray } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("merge_heads", {
  compute({ x }) {
    const [heads, rows, features] = x.shape.slice(-3);
    return makeArray([...x.shape.slice(0, -3), rows, heads * features], exchangedAxes(x, -2, -3).data);
  },
  index: {
    x(cell) {
      const [row, feature] = cell.index.slice(-2);
      const width = cell.lengthOf("x", -1);
      return [[...cell.index.slice(0, -2), Math.floor(feature / width), row, feature % width]];
    },
  },
  work: (cell) => [cell.unchanged("x")],
});
