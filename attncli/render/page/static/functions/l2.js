/* Each vector divided by its Euclidean norm, with its gain and bias. */

import { defineFunction } from "../functions.js";
import { NORM, linesWithGain, normalized, withEps, zeroLines } from "../norms.js";
import { productsOf, rootOf } from "../terms.js";

defineFunction("l2", {
  ...NORM,
  compute: (inputs, options) =>
    normalized(
      inputs,
      options,
      (row) => ({ numbers: row, square: row.reduce((sum, entry) => sum + entry * entry, 0) }),
      true,
    ),
  work(cell) {
    const vector = cell.terms("x");
    if (vector.every((entry) => entry.value(null) === 0)) return zeroLines(cell);
    const hasEps = (cell.options.eps ?? 0) !== 0;
    const norm = cell.computed(hasEps ? "√(‖u‖² + eps)" : "‖u‖", rootOf(withEps(productsOf(vector, vector), cell.options)));
    return [norm.line, ...linesWithGain(cell, vector[cell.column], norm, hasEps ? "u/√(‖u‖² + eps)" : "u/‖u‖")];
  },
});
