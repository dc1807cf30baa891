/* A score for each position from the query alone; the keys are not read. */

import { matrixProduct } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { vectorName } from "../scoring.js";
import { productsOf } from "../terms.js";

defineFunction("location", {
  compute: ({ query, w }) => matrixProduct(query, w),
  reads: ["query", "w"],
  work(cell) {
    const name = `${vectorName(cell, "query", "n")}·W[${cell.label("m")}]`;
    return [cell.equation(productsOf(cell.terms("query"), cell.terms("w")), name)];
  },
});
