/* The index of the first real key of each batch item, 0 where none is: [… m] to […]. */

import { makeArray, mapRows } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("real_key_starts", {
  compute({ key_mask: mask }) {
    const starts = mapRows(mask, 1, (row) => [Math.max(row.findIndex((x) => x !== 0), 0)]);
    return makeArray(starts.shape.slice(0, -1), starts.data);
  },
  whole: ["m"],
  work: (cell) => [[`real keys begin at the index ${cell.number}`]],
});
