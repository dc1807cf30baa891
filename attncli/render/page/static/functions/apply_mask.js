/* The scores, −∞ where they are not visible. */

import { workedLines } from "../arithmetic.js";
import { mapPairs } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("apply_mask", {
  compute: ({ scores, visible }) =>
    mapPairs(scores, visible, (score, isVisible) => (isVisible === 0 ? -Infinity : score)),
  work(cell) {
    if (cell.term("visible").value(null) !== 0) return [cell.unchanged("scores")];
    const visible = cell.cellOf("visible");
    const rules = visible.roles.map(visible.cellOf).filter((rule) => rule.number === 0);
    return [["hidden: −∞ instead of the score"], ...rules.flatMap(workedLines)];
  },
});
