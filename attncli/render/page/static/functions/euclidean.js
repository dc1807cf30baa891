/* The distance between query and key, negative. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { SQUARED_DISTANCES, squaredDistanceLine, squaredDistances } from "../scoring.js";
import { negativeOf, rootOf } from "../terms.js";

defineFunction("euclidean", {
  compute: ({ query, key }, options, tap) =>
    mapNumbers(tap("squared_distances", squaredDistances(query, key)), (x) => -Math.sqrt(x)),
  work(cell) {
    const squared = cell.term("squared_distances");
    return [squaredDistanceLine(cell, squared.value(null)), cell.equation(negativeOf(rootOf(squared)))];
  },
  inner: { squared_distances: SQUARED_DISTANCES },
});
