/* Keys beyond the length of their batch item are padding. */

import { mapPairs, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { verdict } from "../tables.js";

defineFunction("key_lengths", {
  compute: ({ key_positions: keys, key_lengths: lengths }) =>
    mapPairs(keys, withAxis(withAxis(lengths, -1), -1), (key, length) => Number(key < length)),
  work(cell) {
    const sign = cell.number === 0 ? "≥" : "<";
    const [key, length] = [cell.term("key_positions"), cell.term("key_lengths")];
    return [cell.sentence("key ", key, ` ${sign} `, length, ` real keys: ${verdict(cell)}`)];
  },
});
