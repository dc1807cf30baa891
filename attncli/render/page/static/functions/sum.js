/* Each score, divided by the sum of its row. */

import { defineFunction } from "../functions.js";
import { normalizedRows, safeQuotient, sumOfNumbers } from "../normalizing.js";
import { numberTerm, quotientOf, sumOf } from "../terms.js";

defineFunction("sum", {
  compute: ({ scores }) =>
    normalizedRows(scores, (row) => {
      const visible = row.map((x) => (x === -Infinity ? 0 : x));
      return safeQuotient(visible, sumOfNumbers(visible));
    }),
  whole: ["m", "m+1"],
  work(cell) {
    const visible = cell.terms("scores").map((score) => (score.value(null) === -Infinity ? numberTerm(0) : score));
    if (sumOfNumbers(visible.map((score) => score.value(null))) === 0) return [["the row sums to 0: the weight is 0"]];
    const sum = cell.computed(`Σⱼ ${cell.symbol("scores")}ᵢⱼ`, sumOf(visible));
    return [sum.line, cell.equation(quotientOf(visible[cell.column], sum))];
  },
});
