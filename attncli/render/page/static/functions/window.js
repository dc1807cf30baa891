/* Only so many keys to the left and to the right of the query's position are visible. */

import { mapPairs, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { verdict } from "../tables.js";

defineFunction("window", {
  compute({ query_positions: positions, key_positions: keys }, options) {
    const { left, right } = windowSides(options);
    const isVisible = (position, key) => Number(key >= position - left && key <= position + right);
    return mapPairs(withAxis(positions, -1), keys, isVisible);
  },
  work(cell) {
    const { left, right } = windowSides(cell.options);
    const position = cell.term("query_positions").value(null);
    const range = `from ${cell.write(position - left)} to ${cell.write(position + right)}`;
    const key = cell.term("key_positions");
    return [cell.sentence(`the window of ${cell.label("n")} goes ${range}; key `, key, `: ${verdict(cell)}`)];
  },
});

/** How many keys on either side; JSON has infinity as a text. */
function windowSides({ left, right }) {
  return { left: Number(left), right: Number(right) };
}
