/* The features split into heads, [… n h·d] to [… h n d]. */

import { exchangedAxes, makeArray } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("split_heads", {
  compute({ x }, { heads }) {
    const features = x.shape.at(-1);
    return exchangedAxes(makeArray([...x.shape.slice(0, -1), heads, features / heads], x.data), -2, -3);
  },
  index: {
    x(cell) {
      const [head, row, feature] = cell.index.slice(-3);
      return [[...cell.index.slice(0, -3), row, (head * cell.lengthOf("x", -1)) / cell.options.heads + feature]];
    },
  },
  work: (cell) => [cell.unchanged("x")],
});
