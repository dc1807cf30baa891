/* The dot product, divided by the square root of the number of features. */

import { dotProducts, mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { dotProductLine } from "../scoring.js";
import { numberTerm, quotientOf, rootOf } from "../terms.js";

defineFunction("scaled_dot", {
  compute({ query, key }, options, tap) {
    const root = Math.sqrt(query.shape.at(-1));
    return mapNumbers(tap("dot_products", dotProducts(query, key)), (x) => x / root);
  },
  work(cell) {
    const product = cell.term("dot_products");
    const root = rootOf(numberTerm(cell.terms("query").length));
    return [dotProductLine(cell, product.value(null)), cell.equation(quotientOf(product, root))];
  },
  inner: { dot_products: { work: (cell) => [dotProductLine(cell, cell.number)] } },
});
