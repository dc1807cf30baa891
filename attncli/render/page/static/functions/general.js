/* The dot product of the key and the query, projected with a learned matrix. */

import { dotProducts, matrixProduct } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { vectorName } from "../scoring.js";
import { productsOf } from "../terms.js";

defineFunction("general", {
  compute: ({ query, key, w }, options, tap) => dotProducts(tap("projected_query", matrixProduct(query, w)), key),
  reads: ["query", "key", "projected_query"],
  work(cell) {
    const name = `${vectorName(cell, "query", "n")}·W·${vectorName(cell, "key", "m")}`;
    return [cell.equation(productsOf(cell.terms("projected_query"), cell.terms("key")), name)];
  },
  inner: {
    projected_query: {
      reads: ["query", "w"],
      work(cell) {
        const name = `${vectorName(cell, "query", "n")}·W[${cell.label("c")}]`;
        return [cell.equation(productsOf(cell.terms("query"), cell.terms("w")), name)];
      },
    },
  },
});
