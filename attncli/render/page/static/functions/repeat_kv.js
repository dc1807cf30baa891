/* Query head h reads key head h // (heads / g), [… g m c] to [… h m c]. */

import { makeArray } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("repeat_kv", {
  compute({ x }, { heads }) {
    const [groups, rows, columns] = x.shape.slice(-3);
    const result = makeArray([...x.shape.slice(0, -3), heads, rows, columns]);
    const size = rows * columns;
    for (let table = 0; table * size < result.data.length; table++) {
      const from = Math.floor(table / (heads / groups));
      result.data.set(x.data.subarray(from * size, (from + 1) * size), table * size);
    }
    return result;
  },
  index: {
    x(cell) {
      const group = Math.floor(cell.index.at(-3) / (cell.options.heads / cell.lengthOf("x", -3)));
      return [[...cell.index.slice(0, -3), group, ...cell.index.slice(-2)]];
    },
  },
  work: (cell) => [cell.unchanged("x")],
});
