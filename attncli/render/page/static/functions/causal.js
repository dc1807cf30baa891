/* No query attends to a key after its own position. */

import { mapPairs, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { verdict } from "../tables.js";

defineFunction("causal", {
  compute: ({ query_positions: positions, key_positions: keys }) =>
    mapPairs(withAxis(positions, -1), keys, (position, key) => Number(key <= position)),
  work(cell) {
    const [key, position] = [cell.term("key_positions"), cell.term("query_positions")];
    const sign = cell.number === 0 ? ">" : "≤";
    return [cell.sentence("key ", key, ` ${sign} position `, position, ` of ${cell.label("n")}: ${verdict(cell)}`)];
  },
});
