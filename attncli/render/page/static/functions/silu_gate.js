/* A gate that is a number times its sigmoid. */

import { mapNumbers } from "../arrays.js";
import { logistic } from "../elementary.js";
import { defineFunction } from "../functions.js";
import { expOf, negativeOf, numberTerm, quotientOf, sumOf } from "../terms.js";

defineFunction("silu_gate", {
  compute: ({ x }) => mapNumbers(x, (number) => number * logistic(number)),
  work(cell) {
    const x = cell.term("x");
    return [cell.equation(quotientOf(x, sumOf([numberTerm(1), expOf(negativeOf(x))])))];
  },
});
