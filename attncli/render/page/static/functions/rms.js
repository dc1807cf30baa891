/* Each vector divided by the root of its mean square. */

import { mapRows } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { numberTerm, parameterTerm, productsOf, quotientOf, rootOf, sumOf } from "../terms.js";

defineFunction("rms", {
  compute: ({ x }, { eps = 0 }) =>
    mapRows(x, x.shape.at(-1), (row) => {
      const size = Math.sqrt(row.reduce((sum, entry) => sum + entry * entry, 0) / row.length + eps);
      return row.map((entry) => entry / (size === 0 ? 1 : size));
    }),
  whole: ["d", "c"],
  work(cell) {
    const vector = cell.terms("x");
    const { eps = 0 } = cell.options;
    if (vector.every((entry) => entry.value(null) === 0)) return [["a zero vector stays zero"]];
    const mean = cell.computed("mean(u²)", quotientOf(productsOf(vector, vector), numberTerm(vector.length)));
    const root = cell.computed("rms(u)", rootOf(eps === 0 ? mean : sumOf([mean, parameterTerm(eps)])));
    return [mean.line, root.line, cell.equation(quotientOf(vector[cell.column], root))];
  },
});
