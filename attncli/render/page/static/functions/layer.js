/* Each vector less its mean, divided by its standard deviation, with its gain and bias. */

import { defineFunction } from "../functions.js";
import { NORM, linesWithGain, meanSquare, normalized, withEps, zeroLines } from "../norms.js";
import { differenceOf, numberTerm, powerOf, quotientOf, rootOf, sumOf } from "../terms.js";

defineFunction("layer", {
  ...NORM,
  compute: (inputs, options) =>
    normalized(inputs, options, (row) => {
      const mean = row.reduce((sum, entry) => sum + entry, 0) / row.length;
      const numbers = row.map((entry) => entry - mean);
      return { numbers, square: meanSquare(numbers) };
    }),
  work(cell) {
    const vector = cell.terms("x");
    const count = numberTerm(vector.length);
    const mean = cell.computed("mean(u)", quotientOf(sumOf(vector), count));
    const centred = vector.map((entry) => differenceOf(entry, mean));
    if (centred.every((entry) => entry.value(null) === 0)) return [mean.line, ...zeroLines(cell)];
    const squares = centred.map((entry) => powerOf(entry, numberTerm(2)));
    const variance = cell.computed("var(u)", quotientOf(sumOf(squares), count));
    const root = cell.computed("std(u)", rootOf(withEps(variance, cell.options)));
    const name = "(u − mean(u))/std(u)";
    return [mean.line, variance.line, root.line, ...linesWithGain(cell, centred[cell.column], root, name)];
  },
});
