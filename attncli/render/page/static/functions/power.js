/* The query's factor grows with a power of the position. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { numberTerm, parameterTerm, powerOf, quotientOf, sumOf } from "../terms.js";

defineFunction("power", {
  compute({ positions }, { length, exponent = 0.1 }) {
    return mapNumbers(positions, (position) => (1 + (Math.max(position, 0) + 1) / length) ** exponent);
  },
  work(cell) {
    const { length, exponent = 0.1 } = cell.options;
    const count = sumOf([numberTerm(Math.max(cell.term("positions").value(null), 0)), numberTerm(1)]);
    const base = sumOf([numberTerm(1), quotientOf(count, parameterTerm(length))]);
    return [cell.equation(powerOf(base, parameterTerm(exponent)))];
  },
});
