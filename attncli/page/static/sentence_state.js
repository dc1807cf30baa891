/* What the sentence shows: the word that is pointed at or pinned, which way to look, one head or the mean of all. */

import { nodeOf } from "./slices.js";
import { weightsTable } from "./weights_table.js";

/** At first: no word, what a word looks at, in the head in view. */
export const NO_WORD = { pointed: null, pinned: null, isMean: false, isReversed: false };

/** The table that the words are coloured by: of the head in view, or of all. */
export function sentenceTable(state) {
  return weightsTable(state, state.get().sentence.isMean);
}

/** The word in force: the one that is pointed at, by itself or by a number of its row, or else the one that is pinned. */
export function wordInForce(state, table) {
  const { pointed, pinned, isReversed } = state.get().sentence;
  const cell = pairInView(state);
  const ofCell = cell === null ? null : table.isSelf && isReversed ? { side: "key", index: cell[1] } : { side: "query", index: cell[0] };
  const word = pointed ?? ofCell ?? pinned;
  return word === null || !table.isSelf ? word : { ...word, side: isReversed ? "key" : "query" };
}

/** The cell [query, key] that is pointed at in a table of queries and keys; null where there is none. */
export function pairInView(state) {
  const { pointed, step } = state.get();
  return pointed !== null && isPairTable(nodeOf(state.get(), step)) ? pointed : null;
}

/** Whether a step has a row for each query and a column for each key. */
export function isPairTable(node) {
  return node !== null && node.axes.slice(-2).join() === "n,m";
}

/** Change a part of what the sentence shows. */
export function changeSentence(state, changes) {
  state.update({ sentence: { ...state.get().sentence, ...changes } });
}
