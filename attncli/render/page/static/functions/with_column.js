/* A logit after the keys of every query, [… h n m] and [h] to [… h n m+1]. */

import { broadcastTo, concatenated, perHead } from "../arrays.js";
import { defineFunction } from "../functions.js";

defineFunction("with_column", {
  compute: ({ scores, sink }, { heads = null }) =>
    concatenated(scores, broadcastTo(perHead(sink, heads), [...scores.shape.slice(0, -1), 1]), -1),
  index: {
    scores: (cell) => (isSink(cell) ? [] : [cell.index]),
    sink: (cell) => (isSink(cell) ? [[cell.lengthOf("sink", 0) === 1 ? 0 : cell.at.h]] : []),
  },
  work: (cell) => [cell.unchanged(isSink(cell) ? "sink" : "scores")],
});

/** Whether a cell is in the column after the keys. */
function isSink(cell) {
  return cell.column === cell.lengthOf("scores", -1);
}
