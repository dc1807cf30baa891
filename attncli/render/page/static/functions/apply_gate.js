/* The merged heads times their gates, one for each number or one for each head. */

import { makeArray } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { productOf } from "../terms.js";

/** The column of the gate that belongs to a column of the merged heads. */
function gateColumn(column, features, gates) {
  return Math.floor((column * gates) / features);
}

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
