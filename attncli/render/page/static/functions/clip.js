/* The vectors with every number between −limit and limit. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { maximumOf, minimumOf, parameterTerm } from "../terms.js";

defineFunction("clip", {
  compute: ({ x }, { limit }) => mapNumbers(x, (number) => Math.min(Math.max(number, -limit), limit)),
  work(cell) {
    const { limit } = cell.options;
    return [cell.equation(minimumOf(maximumOf(cell.term("x"), parameterTerm(-limit)), parameterTerm(limit)))];
  },
});
