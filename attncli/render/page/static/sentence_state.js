/* What the sentence shows: the word that is pointed at or pinned, which way to look, one head or the mean of all. */

import { weightsTable } from "./weights_table.js";

/** At first: no word, what a word looks at, in the head in view. */
export const NO_WORD = { pointed: null, pinned: null, isMean: false, isReversed: false };

/** The table that the words are coloured by: of the head in view, or of all. */
export function sentenceTable(state) {
  return weightsTable(state, state.get().sentence.isMean);
}

/** The word in force: the one that is pointed at, or else the one that is pinned, with the side it is asked for. */
export function wordInForce(state, table) {
  const { pointed, pinned, isReversed } = state.get().sentence;
  const word = pointed ?? pinned;
  return word === null || !table.isSelf ? word : { ...word, side: isReversed ? "key" : "query" };
}

/** Change a part of what the sentence shows. */
export function changeSentence(state, changes) {
  state.update({ sentence: { ...state.get().sentence, ...changes } });
}
