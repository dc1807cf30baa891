/* The marks of numbers that changed: ▲ where one is more, ▼ where it is less, ◆ of any other change. */

import { changedCells } from "./changed.js";

export const MEANINGS = [["▲", "more than before the change"], ["▼", "less than before the change"], ["◆", "changed otherwise"]];

/** The value that the numbers of a step are compared with: before the edits that the page began with, or the program's. */
export function valueBefore({ original, values }, step) {
  const value = values.get(step);
  const before = original.get(step);
  return value === undefined || before === undefined || before.data === value.data ? null : before;
}

/** Whether any number of a step changed, by more than rounding. */
export function hasChanged(state, step) {
  const before = valueBefore(state, step);
  return before !== null && changedCells(before, state.values.get(step), state.page.dtype).includes(1);
}

/** The mark of each number of a step, by its position in order of rows; null where nothing changed. */
export function changeMarks(state, step) {
  if (!hasChanged(state, step)) return null;
  const [before, after] = [valueBefore(state, step), state.values.get(step)];
  const changed = changedCells(before, after, state.page.dtype);
  return (at) => {
    if (changed[at] === 0) return "";
    const [old, now] = [before.data[at], after.data[at]];
    if (!Number.isFinite(old) || !Number.isFinite(now)) return "◆";
    return now > old ? "▲" : "▼";
  };
}
