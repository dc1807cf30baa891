/* A gate between 0, closed, and 1, open. */

import { mapNumbers } from "../arrays.js";
import { logistic } from "../elementary.js";
import { defineFunction } from "../functions.js";
import { expOf, negativeOf, numberTerm, quotientOf, sumOf } from "../terms.js";

defineFunction("sigmoid_gate", {
  compute: ({ x }) => mapNumbers(x, logistic),
  work: (cell) => [
    cell.equation(quotientOf(numberTerm(1), sumOf([numberTerm(1), expOf(negativeOf(cell.term("x")))]))),
  ],
});
