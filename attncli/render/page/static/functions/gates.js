/* Gates of the merged heads. */

import { makeArray, mapNumbers } from "../arrays.js";
import { logistic } from "../elementary.js";
import { defineFunction } from "../functions.js";
import { expOf, lnOf, negativeOf, numberTerm, productOf, quotientOf, sumOf } from "../terms.js";

/* A gate between 0, closed, and 1, open. */
defineFunction("sigmoid_gate", {
  compute: ({ x }) => mapNumbers(x, logistic),
  work: (cell) => [
    cell.equation(quotientOf(numberTerm(1), sumOf([numberTerm(1), expOf(negativeOf(cell.term("x")))]))),
  ],
});

/* A gate that is a number times its sigmoid. */
defineFunction("silu_gate", {
  compute: ({ x }) => mapNumbers(x, (number) => number * logistic(number)),
  work(cell) {
    const x = cell.term("x");
    return [cell.equation(quotientOf(x, sumOf([numberTerm(1), expOf(negativeOf(x))])))];
  },
});

/* A gate from 0, closed, without an upper limit. */
defineFunction("softplus_gate", {
  compute: ({ x }) => mapNumbers(x, (number) => Math.max(number, 0) + Math.log1p(Math.exp(-Math.abs(number)))),
  work: (cell) => [cell.equation(lnOf(sumOf([numberTerm(1), expOf(cell.term("x"))])))],
});

/** The column of the gate that belongs to a column of the merged heads. */
function gateColumn(column, features, gates) {
  return Math.floor((column * gates) / features);
}

/* The merged heads times their gates, one for each number or one for each head. */
defineFunction("apply_gate", {
  compute({ x, gate }) {
    const features = x.shape.at(-1);
    const gates = gate.shape.at(-1);
    const result = makeArray([...x.shape]);
    for (let at = 0; at < result.data.length; at++) {
      const row = Math.floor(at / features);
      result.data[at] = x.data[at] * gate.data[row * gates + gateColumn(at % features, features, gates)];
    }
    return result;
  },
  index: {
    x: (cell) => [cell.index],
    gate: (cell) => [
      [...cell.index.slice(0, -1), gateColumn(cell.column, cell.lengthOf("x", -1), cell.lengthOf("gate", -1))],
    ],
  },
  work: (cell) => [cell.equation(productOf(cell.term("x"), cell.term("gate")))],
});
