/* Sparsemax: the nearest weights that add to 1; low scores get exactly 0. */

import { defineFunction } from "../functions.js";
import { lineWithoutNumbers, sparsemaxLines, sparsemaxRows } from "../normalizing.js";

defineFunction("sparsemax", {
  compute: ({ scores }) => sparsemaxRows(scores),
  whole: ["m", "m+1"],
  isDistribution: true,
  work(cell) {
    const scores = cell.terms("scores");
    return lineWithoutNumbers(scores) ?? sparsemaxLines(cell, scores);
  },
});
