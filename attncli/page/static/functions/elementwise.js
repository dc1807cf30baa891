/* Rounding on the way, whose sentence says to how many decimals. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";

/** The nearest whole number, of a half the even one. */
function nearestEven(x) {
  const whole = Math.round(x);
  return Math.abs(x % 1) === 0.5 && whole % 2 !== 0 ? whole - 1 : whole;
}

/* The numbers of a step with so many decimals. */
defineFunction("round_to", {
  compute: ({ x }, { decimals }) => mapNumbers(x, (number) => nearestEven(number * 10 ** decimals) / 10 ** decimals),
  work(cell) {
    const { decimals } = cell.options;
    return [cell.sentence(`to ${decimals} ${decimals === 1 ? "decimal" : "decimals"}: `, cell.term("x"))];
  },
});
