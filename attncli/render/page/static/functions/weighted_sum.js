/* The sum of the values, each times its weight. */

import { contextName, weightedValues, weightedValuesTerm } from "../contexts.js";
import { defineFunction } from "../functions.js";

defineFunction("weighted_sum", {
  compute: ({ weights, value }) => weightedValues(weights, value),
  work: (cell) => [cell.equation(weightedValuesTerm(cell), contextName(cell))],
});
