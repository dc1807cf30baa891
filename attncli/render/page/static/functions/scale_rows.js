/* Each vector times its factor. */

import { mapPairs, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { productOf } from "../terms.js";

defineFunction("scale_rows", {
  compute: ({ x, factors }) => mapPairs(withAxis(factors, -1), x, (factor, number) => factor * number),
  work: (cell) => [cell.equation(productOf(cell.term("factors"), cell.term("x")))],
});
