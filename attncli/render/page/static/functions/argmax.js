/* The value of the key with the largest weight; of equal ones the first. */

import { chosenValueParts, largestKey, nothingAttendedLine, valuesAt } from "../contexts.js";
import { defineFunction } from "../functions.js";

defineFunction("argmax", {
  compute: ({ weights, value }) => valuesAt(weights, value, largestKey),
  work(cell) {
    const weights = cell.terms("weights");
    const key = largestKey(weights.map((weight) => weight.value(null)));
    const largest = cell.sentence(weights[key], " is the largest weight: ");
    return nothingAttendedLine(cell) ?? [[...largest, ...chosenValueParts(cell, key)]];
  },
});
