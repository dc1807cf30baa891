/* Scores from −cap to cap, nearly unchanged where they are small. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { parameterTerm, productOf, quotientOf, tanhOf } from "../terms.js";

defineFunction("softcap", {
  compute: ({ scores }, { cap }) => mapNumbers(scores, (x) => cap * Math.tanh(x / cap)),
  work(cell) {
    const cap = parameterTerm(cell.options.cap);
    return [cell.equation(productOf(cap, tanhOf(quotientOf(cell.term("scores"), cap))))];
  },
});
