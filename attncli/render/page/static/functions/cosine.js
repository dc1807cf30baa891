/* The cosine of the angle between query and key, times a strength. */

import { dotProducts, mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { unitRows, unitVectorLines, vectorName } from "../scoring.js";
import { parameterTerm, productOf, productsOf } from "../terms.js";

defineFunction("cosine", {
  compute({ query, key }, { beta = 1 }, tap) {
    const products = dotProducts(tap("unit_query", unitRows(query)), tap("unit_key", unitRows(key)));
    return mapNumbers(products, (x) => x * beta);
  },
  work(cell) {
    const { beta = 1 } = cell.options;
    const product = productsOf(cell.terms("unit_query"), cell.terms("unit_key"));
    return [cell.equation(beta === 1 ? product : productOf(parameterTerm(beta), product))];
  },
  inner: {
    unit_query: {
      reads: ["query"],
      whole: ["d", "c"],
      work: (cell) => unitVectorLines(cell, "query", vectorName(cell, "query", "n"), cell.column),
    },
    unit_key: {
      reads: ["key"],
      whole: ["d", "c"],
      work: (cell) => unitVectorLines(cell, "key", vectorName(cell, "key", "m"), cell.column),
    },
  },
});
