/* Softmax: exponentials, divided by their sum. */

import { defineFunction } from "../functions.js";
import { exponentialTerm, lineWithoutNumbers, largestTerm, softmaxLines, softmaxRows } from "../normalizing.js";

defineFunction("softmax", {
  compute: ({ scores }, { temperature = 1 }, tap) => softmaxRows(scores, temperature, tap),
  whole: ["m", "m+1"],
  isDistribution: true,
  work(cell) {
    const scores = cell.terms("scores");
    return lineWithoutNumbers(scores) ?? softmaxLines(cell, scores, cell.terms("exponentials"), cell.options.temperature);
  },
  inner: {
    exponentials: {
      whole: ["m", "m+1"],
      work(cell) {
        const scores = cell.terms("scores");
        const own = exponentialTerm(scores[cell.column], largestTerm(scores), cell.options.temperature);
        return lineWithoutNumbers(scores) ?? [cell.equation(own)];
      },
    },
  },
});
