/* All weight on the largest score; keys that tie share it. */

import { defineFunction } from "../functions.js";
import { finiteMax, lineWithoutNumbers, largestTerm, normalizedRows, safeQuotient, sumOfNumbers } from "../normalizing.js";
import { numberTerm, quotientOf } from "../terms.js";

defineFunction("hardmax", {
  compute: ({ scores }) =>
    normalizedRows(scores, (row) => {
      const largest = finiteMax(row);
      const equal = row.map((x) => (Number.isNaN(largest) ? NaN : Number(x === largest)));
      return safeQuotient(equal, sumOfNumbers(equal));
    }),
  whole: ["m", "m+1"],
  isDistribution: true,
  work(cell) {
    const scores = cell.terms("scores");
    const [own, top] = [scores[cell.column], largestTerm(scores)];
    const line = lineWithoutNumbers(scores);
    if (line !== null) return line;
    if (own.value(null) < top.value(null)) {
      return [cell.sentence(own, " is less than the largest score, ", top, ": the weight is 0")];
    }
    const equal = scores.filter((score) => score.value(null) === top.value(null)).length;
    if (equal === 1) return [cell.sentence(own, " is the largest score: the weight is 1")];
    const share = cell.equation(quotientOf(numberTerm(1), numberTerm(equal)));
    return [[...cell.sentence(own, ` is one of the ${equal} largest scores: `), ...share]];
  },
});
