/* Each vector divided by its Euclidean norm. */

import { defineFunction } from "../functions.js";
import { unitRows, unitVectorLines } from "../scoring.js";

defineFunction("l2", {
  compute: ({ x }) => unitRows(x),
  whole: ["d", "c"],
  work: (cell) => unitVectorLines(cell, "x", "u", cell.column),
});
