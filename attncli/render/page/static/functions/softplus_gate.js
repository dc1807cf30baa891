/* A gate from 0, closed, without an upper limit. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { expOf, lnOf, numberTerm, sumOf } from "../terms.js";

defineFunction("softplus_gate", {
  compute: ({ x }) => mapNumbers(x, (number) => Math.max(number, 0) + Math.log1p(Math.exp(-Math.abs(number)))),
  work: (cell) => [cell.equation(lnOf(sumOf([numberTerm(1), expOf(cell.term("x"))])))],
});
