/* The vectors times a number. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { parameterTerm, productOf } from "../terms.js";

defineFunction("multiply", {
  compute: ({ x }, { factor }) => mapNumbers(x, (number) => number * factor),
  work: (cell) => [cell.equation(productOf(parameterTerm(cell.options.factor), cell.term("x")))],
});
