/* Gradients of queries, keys and the parameters of a score, from that of the scores. */

import {
  exchangedAxes, mapMatrices, mapNumbers, mapPairs, matrixProduct, productWithoutZeros, sumsOver,
} from "../arrays.js";
import { defineFunction } from "../functions.js";
import {
  differenceOf, negativeOf, numberTerm, parameterTerm, powerOf, productOf, productsOf, quotientOf, rootOf, sumOf,
} from "../terms.js";

/** A table with the vectors of a role on the rows: as it is for queries, turned for keys. */
function withRowsOf(role, table) {
  return role === "query" ? table : exchangedAxes(table, -1, -2);
}

/** The other role of the two. */
const OTHER = { query: "key", key: "query" };

/** The products of a table with the vectors on its columns, as a term. */
function productsTerm(cell, vectors) {
  return productsOf(cell.terms("grad"), cell.terms(vectors));
}

/** The definition of the gradient of queries or keys by a dot product with vectors, divided by √d or not. */
function ofProducts(role, vectors, isDivided = false) {
  return {
    compute({ grad, [vectors]: others }) {
      const root = isDivided ? Math.sqrt(others.shape.at(-1)) : 1;
      return mapNumbers(productWithoutZeros(withRowsOf(role, grad), others), (x) => x / root);
    },
    work(cell) {
      const [sum, count] = [productsTerm(cell, vectors), numberTerm(cell.lengthOf(vectors, -1))];
      return [cell.equation(isDivided ? quotientOf(sum, rootOf(count)) : sum, cell.name)];
    },
  };
}

/* The gradient of the queries of dot products: the keys, each times the gradient of its score. */
defineFunction("dot_query", ofProducts("query", "key"));

/* The gradient of the keys of dot products: the queries, each times the gradient of its score. */
defineFunction("dot_key", ofProducts("key", "query"));

/* The gradient of the queries of dot products that are divided. */
defineFunction("scaled_dot_query", ofProducts("query", "key", true));

/* The gradient of the keys of dot products that are divided. */
defineFunction("scaled_dot_key", ofProducts("key", "query", true));
