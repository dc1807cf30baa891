/* The query's factor is 1 up to a length, and grows with the logarithm of the position behind it. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { lnOf, numberTerm, parameterTerm, productOf, quotientOf, sumOf } from "../terms.js";

defineFunction("logn", {
  compute({ positions }, { length, factor }) {
    const times = factor ?? 1 / Math.log(length);
    return mapNumbers(positions, (position) => 1 + times * Math.log(Math.max(keysUpTo(position) / length, 1)));
  },
  work(cell) {
    const { length, factor = null } = cell.options;
    const count = keysUpTo(cell.term("positions").value(null));
    if (count <= length) {
      return [[`${count} ${count > 1 ? "keys" : "key"} ≤ length ${cell.write(length)}: ${cell.write(cell.number)}`]];
    }
    const [keys, most] = [numberTerm(count), parameterTerm(length)];
    if (factor === null) return [cell.equation(quotientOf(lnOf(keys), lnOf(most)))];
    return [cell.equation(sumOf([numberTerm(1), productOf(parameterTerm(factor), lnOf(quotientOf(keys, most)))]))];
  },
});

/** How many keys there are up to a position. */
function keysUpTo(position) {
  return Math.max(position, 0) + 1;
}
