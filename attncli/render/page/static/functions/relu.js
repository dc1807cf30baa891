/* The scores themselves where they are positive; 0 elsewhere. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { maximumOf, numberTerm } from "../terms.js";

defineFunction("relu", {
  compute: ({ scores }) => mapNumbers(scores, (x) => Math.max(x, 0)),
  work: (cell) => [cell.equation(maximumOf(cell.term("scores"), numberTerm(0)))],
});
