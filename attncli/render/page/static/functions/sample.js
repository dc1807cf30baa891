/* The value of one key, drawn with the weights as probabilities. */

import { chosenValueParts, nothingAttendedLine, valuesAt } from "../contexts.js";
import { defineFunction } from "../functions.js";
import { sumOf } from "../terms.js";

defineFunction("sample", {
  compute: ({ weights, value, draws }) => valuesAt(weights, value, drawnKey, draws),
  work(cell) {
    const [weights, draw] = [cell.terms("weights"), cell.term("draws")];
    const key = drawnKey(weights.map((weight) => weight.value(null)), draw.value(null));
    const upTo = (count) => cell.computed("", sumOf(weights.slice(0, count))).line;
    const label = cell.keyLabel(key);
    const before = key === 0 ? [] : [[`the weights before ${label}: `, ...upTo(key)]];
    const reached = () => [...cell.sentence("ω = ", draw, " is reached there: "), ...chosenValueParts(cell, key)];
    return nothingAttendedLine(cell) ?? [...before, [`the weights up to ${label}: `, ...upTo(key + 1)], reached()];
  },
});

/** The key at which the weights, added one after the other, reach a share of their sum. */
function drawnKey(row, draw) {
  let sum = 0;
  const totals = row.map((weight) => (sum += weight));
  const reached = draw * totals.at(-1);
  return Math.min(totals.filter((total) => total <= reached).length, row.length - 1);
}
