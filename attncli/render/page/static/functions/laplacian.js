/* The sum of the absolute differences, negative, in units of the width σ. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { absoluteDistanceLine, absoluteDistances } from "../scoring.js";
import { negativeOf, parameterTerm, quotientOf } from "../terms.js";

defineFunction("laplacian", {
  compute: ({ query, key }, { sigma = 1 }, tap) =>
    mapNumbers(tap("distances", absoluteDistances(query, key)), (x) => -x / sigma),
  work(cell) {
    const { sigma = 1 } = cell.options;
    const distance = cell.term("distances");
    const scaled = sigma === 1 ? distance : quotientOf(distance, parameterTerm(sigma));
    return [absoluteDistanceLine(cell, distance.value(null)), cell.equation(negativeOf(scaled))];
  },
  inner: { distances: { work: (cell) => [absoluteDistanceLine(cell, cell.number)] } },
});
