/* The index after the last real key of each batch item, 0 where none is: [… m] to […]. */

import { makeArray, mapRows } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("real_key_ends", {
  compute({ key_mask: mask, key_lengths: lengths = makeArray([], [Infinity]) }) {
    const endOf = (row, length) => row.findLastIndex((x, key) => x !== 0 && key < length) + 1;
    const ends = mapRows(mask, 1, (row, length) => [endOf(row, length)], lengths);
    return makeArray(ends.shape.slice(0, -1), ends.data);
  },
  whole: ["m"],
  work: (cell) => [[`real keys end before the index ${cell.number}`]],
});
