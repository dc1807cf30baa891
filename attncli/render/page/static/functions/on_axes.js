/* The same positions on each of so many axes: [… n] to [… s n]. */

import { makeArray } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("on_axes", {
  compute({ positions }, { count }) {
    const rows = positions.shape.at(-1);
    const result = makeArray([...positions.shape.slice(0, -1), count, rows]);
    result.data.forEach((_number, at) => {
      result.data[at] = positions.data[Math.floor(at / (count * rows)) * rows + (at % rows)];
    });
    return result;
  },
  work: (cell) => [cell.equation(cell.term("positions"))],
});
