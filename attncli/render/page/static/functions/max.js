/* For each feature the largest weighted value, instead of the sum of them. */

import { mapMatrices } from "../arrays.js";
import { contextName, nothingAttendedLine } from "../contexts.js";
import { defineFunction } from "../functions.js";
import { maximumOf, productOf } from "../terms.js";

defineFunction("max", {
  compute({ weights, value }) {
    const [keys, features] = value.shape.slice(-2);
    return mapMatrices(weights, value, [weights.shape.at(-2), features], (rows, vectors, query, feature) => {
      let largest = -Infinity;
      let isAttended = false;
      for (let key = 0; key < keys; key++) {
        const weight = rows[query * keys + key];
        if (weight === 0) continue;
        isAttended = true;
        largest = Math.max(largest, weight * vectors[key * features + feature]);
      }
      return isAttended ? largest : 0;
    });
  },
  work(cell) {
    const [weights, values] = [cell.terms("weights"), cell.terms("value")];
    const weighted = weights.flatMap((weight, at) => (weight.value(null) === 0 ? [] : [productOf(weight, values[at])]));
    return nothingAttendedLine(cell) ?? [cell.equation(maximumOf(...weighted), contextName(cell))];
  },
});
