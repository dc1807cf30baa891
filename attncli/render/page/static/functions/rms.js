/* Each vector divided by the root of its mean square, with its gain and bias. */

import { defineFunction } from "../functions.js";
import { NORM, linesWithGain, meanSquare, normalized, withEps, zeroLines } from "../norms.js";
import { numberTerm, productsOf, quotientOf, rootOf } from "../terms.js";

defineFunction("rms", {
  ...NORM,
  compute: (inputs, options) =>
    normalized(inputs, options, (row) => ({ numbers: row, square: meanSquare(row) })),
  work(cell) {
    const vector = cell.terms("x");
    if (vector.every((entry) => entry.value(null) === 0)) return zeroLines(cell);
    const mean = cell.computed("mean(u²)", quotientOf(productsOf(vector, vector), numberTerm(vector.length)));
    const root = cell.computed("rms(u)", rootOf(withEps(mean, cell.options)));
    return [mean.line, root.line, ...linesWithGain(cell, vector[cell.column], root, "u/rms(u)")];
  },
});
