/* The scores themselves are the weights. */

import { mapNumbers } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("none", {
  compute: ({ scores }) => mapNumbers(scores, (x) => (x === -Infinity ? 0 : x)),
  work(cell) {
    const score = cell.term("scores");
    const isMasked = score.value(null) === -Infinity;
    return [isMasked ? ["the key is masked: the weight is 0"] : cell.sentence("the weight is the score: ", score)];
  },
});
