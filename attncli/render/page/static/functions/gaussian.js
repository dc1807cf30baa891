/* The squared distance over 2σ², negative. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { SQUARED_DISTANCES, squaredDistanceLine, squaredDistances } from "../scoring.js";
import { negativeOf, numberTerm, parameterTerm, powerOf, productOf, quotientOf } from "../terms.js";

defineFunction("gaussian", {
  compute: ({ query, key }, { sigma = 1 }, tap) =>
    mapNumbers(tap("squared_distances", squaredDistances(query, key)), (x) => -x / (2 * sigma * sigma)),
  work(cell) {
    const { sigma = 1 } = cell.options;
    const [squared, two] = [cell.term("squared_distances"), numberTerm(2)];
    const width = sigma === 1 ? two : productOf(two, powerOf(parameterTerm(sigma), two));
    return [squaredDistanceLine(cell, squared.value(null)), cell.equation(negativeOf(quotientOf(squared, width)))];
  },
  inner: { squared_distances: SQUARED_DISTANCES },
});
