/* Keys whose mask is 0 are padding, for every query. */

import { mapNumbers, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { verdict } from "../tables.js";

defineFunction("key_mask", {
  compute: ({ key_mask: mask }) => withAxis(mapNumbers(mask, (x) => Number(x !== 0)), -2),
  work(cell) {
    return [cell.sentence(`the key mask of ${cell.label("m")} is `, cell.term("key_mask"), `: ${verdict(cell)}`)];
  },
});
