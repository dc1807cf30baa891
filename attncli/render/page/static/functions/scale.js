/* The scores times a number. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { parameterTerm, productOf } from "../terms.js";

defineFunction("scale", {
  compute: ({ scores }, { scale }) => mapNumbers(scores, (x) => x * scale),
  work: (cell) => [cell.equation(productOf(parameterTerm(cell.options.scale), cell.term("scores")))],
});
