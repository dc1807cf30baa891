/* The query's factor is 1 up to a length, and rises by a step at each multiple of it. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { lnOf, numberTerm, parameterTerm, productOf, quotientOf, sumOf } from "../terms.js";

defineFunction("log_steps", {
  compute({ positions }, { length, factor = 0.1, offset = 1 }) {
    return mapNumbers(positions, (position) => 1 + factor * Math.log1p(stepsOf(position, offset, length)));
  },
  work(cell) {
    const { length, factor = 0.1, offset = 1 } = cell.options;
    const position = Math.max(cell.term("positions").value(null), 0);
    const steps = stepsOf(position, offset, length);
    const counted = offset === 0 ? numberTerm(position) : sumOf([numberTerm(position), parameterTerm(offset)]);
    const quotient = cell.computed("position / length", quotientOf(counted, parameterTerm(length)));
    const rounded = steps * length === position + offset ? [] : [`, rounded down ${cell.write(steps)}`];
    const logarithm = lnOf(sumOf([numberTerm(1), numberTerm(steps)]));
    const factored = sumOf([numberTerm(1), productOf(parameterTerm(factor), logarithm)]);
    return [[...quotient.line, ...rounded], cell.equation(factored)];
  },
});

/** How often the length fits into a position. */
function stepsOf(position, offset, length) {
  return Math.floor((Math.max(position, 0) + offset) / length);
}
