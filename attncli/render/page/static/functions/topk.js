/* Softmax over the k best keys; keys that tie with the k-th stay. */

import { defineFunction } from "../functions.js";
import {
  descending,
  exponentialLines,
  exponentialTerm,
  lineWithoutNumbers,
  largestTerm,
  normalizedRows,
  softmaxRows,
} from "../normalizing.js";

defineFunction("topk", {
  compute({ scores }, { k }, tap) {
    const best = normalizedRows(scores, (row) => {
      const least = kthLargest(row, k);
      return row.map((x) => (x < least ? -Infinity : x));
    });
    return softmaxRows(best, 1, tap);
  },
  whole: ["m", "m+1"],
  isDistribution: true,
  work(cell) {
    const scores = cell.terms("scores");
    const least = leastOfTop(cell, scores);
    const own = scores[cell.column];
    const line = lineWithoutNumbers(scores);
    if (line !== null) return line;
    if (own.value(null) < least) return [notAmong(cell, own)];
    const exponentials = cell.terms("exponentials");
    const inTop = exponentials.filter((_, at) => scores[at].value(null) >= least);
    return exponentialLines(cell, exponentialTerm(own, largestTerm(scores)), exponentials[cell.column], inTop);
  },
  inner: {
    exponentials: {
      whole: ["m", "m+1"],
      work(cell) {
        const scores = cell.terms("scores");
        const own = scores[cell.column];
        const line = lineWithoutNumbers(scores);
        if (line !== null) return line;
        const isInTop = own.value(null) >= leastOfTop(cell, scores);
        return [isInTop ? cell.equation(exponentialTerm(own, largestTerm(scores))) : notAmong(cell, own)];
      },
    },
  },
});

/** The k-th largest number of a row; the smallest where there are fewer. */
function kthLargest(row, k) {
  return descending(row)[Math.min(k, row.length) - 1];
}

/** The k-th largest of the scores of a cell's row. */
function leastOfTop(cell, scores) {
  return kthLargest(Float64Array.from(scores, (score) => score.value(null)), cell.options.k);
}

/** That a score does not take part. */
function notAmong(cell, score) {
  return cell.sentence(score, ` is not among the ${cell.options.k} largest scores: the weight is 0`);
}
