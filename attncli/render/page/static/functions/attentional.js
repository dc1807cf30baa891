/* The weighted sum and the query together, through one more layer. */

import { concatenated, mapNumbers, matrixProduct } from "../arrays.js";
import { contextName, weightedValues, weightedValuesTerm } from "../contexts.js";
import { defineFunction } from "../functions.js";
import { productsOf, tanhOf } from "../terms.js";

defineFunction("attentional", {
  compute({ weights, value, query, w }, options, tap) {
    const context = tap("context_vector", weightedValues(weights, value));
    return mapNumbers(matrixProduct(concatenated(context, query, -1), w), Math.tanh);
  },
  reads: ["context_vector", "query", "w"],
  work(cell) {
    const features = [...cell.terms("context_vector"), ...cell.terms("query")];
    const name = `[U(${cell.label("n")}); ${cell.symbol("query")}(${cell.label("n")})]·W_C`;
    const product = cell.computed(name, productsOf(features, cell.terms("w")));
    return [product.line, cell.equation(tanhOf(product), contextName(cell))];
  },
  inner: {
    context_vector: {
      reads: ["weights", "value"],
      work: (cell) => [cell.equation(weightedValuesTerm(cell), contextName(cell))],
    },
  },
});
