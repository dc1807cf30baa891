/* Functions of each number on its own. */

import { mapNumbers, mapPairs } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { maximumOf, minimumOf, parameterTerm, productOf, quotientOf, sumOf, tanhOf } from "../terms.js";

/* The sum of two tables. */
defineFunction("add", {
  compute: ({ left, right }) => mapPairs(left, right, (x, y) => x + y),
  work: (cell) => [cell.equation(sumOf([cell.term("left"), cell.term("right")]))],
});

/* The vectors times a number. */
defineFunction("multiply", {
  compute: ({ x }, { factor }) => mapNumbers(x, (number) => number * factor),
  work: (cell) => [cell.equation(productOf(parameterTerm(cell.options.factor), cell.term("x")))],
});

/* The scores times a number. */
defineFunction("scale", {
  compute: ({ scores }, { scale }) => mapNumbers(scores, (x) => x * scale),
  work: (cell) => [cell.equation(productOf(parameterTerm(cell.options.scale), cell.term("scores")))],
});

/* Scores from −cap to cap, nearly unchanged where they are small. */
defineFunction("softcap", {
  compute: ({ scores }, { cap }) => mapNumbers(scores, (x) => cap * Math.tanh(x / cap)),
  work(cell) {
    const cap = parameterTerm(cell.options.cap);
    return [cell.equation(productOf(cap, tanhOf(quotientOf(cell.term("scores"), cap))))];
  },
});

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

/* The vectors with every number between −limit and limit. */
defineFunction("clip", {
  compute: ({ x }, { limit }) => mapNumbers(x, (number) => Math.min(Math.max(number, -limit), limit)),
  work(cell) {
    const { limit } = cell.options;
    return [cell.equation(minimumOf(maximumOf(cell.term("x"), parameterTerm(-limit)), parameterTerm(limit)))];
  },
});
