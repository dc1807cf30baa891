/* True where every rule is. */

import { workedLines } from "../arithmetic.js";
import { mapPairs } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("and_masks", {
  compute: (rules) => Object.values(rules).reduce((left, right) => mapPairs(left, right, (x, y) => x * y)),
  work: (cell) => cell.roles.flatMap((role) => workedLines(cell.cellOf(role))),
});
