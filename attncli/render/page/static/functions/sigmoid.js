/* Sigmoid: a weight between 0 and 1 for each key on its own. */

import { mapNumbers } from "../arrays.js";
import { logistic } from "../elementary.js";
import { defineFunction } from "../functions.js";
import { expOf, negativeOf, numberTerm, parameterTerm, quotientOf, sumOf } from "../terms.js";

defineFunction("sigmoid", {
  compute: ({ scores }, { shift = 0 }) => mapNumbers(scores, (x) => logistic(x + shift)),
  work(cell) {
    const { shift = 0 } = cell.options;
    const score = shift === 0 ? cell.term("scores") : sumOf([cell.term("scores"), parameterTerm(shift)]);
    return [cell.equation(quotientOf(numberTerm(1), sumOf([numberTerm(1), expOf(negativeOf(score))])))];
  },
});
