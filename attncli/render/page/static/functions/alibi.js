/* The farther a key, the lower its score; each head has a slope of its own. */

import { mapPairs, perHead, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { absoluteOf, differenceOf, negativeOf, productOf } from "../terms.js";

defineFunction("alibi", {
  compute({ query_positions: positions, key_positions: keys, slopes }, { heads = null }) {
    const distances = mapPairs(withAxis(positions, -1), keys, (position, key) => Math.abs(position - key));
    return mapPairs(perHead(slopes, heads), distances, (slope, distance) => -(slope * distance));
  },
  work(cell) {
    const distance = absoluteOf(differenceOf(cell.term("query_positions"), cell.term("key_positions")));
    return [cell.equation(negativeOf(productOf(cell.term("slopes"), distance)))];
  },
});
