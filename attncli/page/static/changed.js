/* Which numbers changed: by more than rounding explains. */

const ROUNDING_UNITS = 16; // units in the last place of the largest number of a row
const EPSILONS = { float64: 2 ** -52, float32: 2 ** -23 }; // a unit in the last place of 1, by the type of numbers

/**
 * 1 for each number of a value that differs from the one before by more than rounding, 0 for the others.
 *
 * A difference counts where it is more than 16 units in the last place of the largest finite number of its row. NaN
 * equals NaN, an infinity itself. Of values of two shapes every number changed.
 */
export function changedCells(before, after, dtype = "float64") {
  const changed = new Uint8Array(after.data.length);
  if (before === after) return changed;
  if (before.shape.join() !== after.shape.join()) return changed.fill(1);
  const width = after.shape.at(-1) ?? 1;
  for (let start = 0; start < changed.length; start += width) {
    const largest = Math.max(largestFinite(before.data, start, width), largestFinite(after.data, start, width));
    const allowed = ROUNDING_UNITS * (EPSILONS[dtype] ?? 0) * largest;
    for (let at = start; at < start + width; at++) {
      const old = before.data[at];
      const now = after.data[at];
      const isSame = old === now || (Number.isNaN(old) && Number.isNaN(now));
      changed[at] = isSame || Math.abs(now - old) <= allowed ? 0 : 1;
    }
  }
  return changed;
}

/** The largest absolute value of the finite ones of some numbers. */
function largestFinite(numbers, start, count) {
  let largest = 0;
  for (let at = start; at < start + count; at++) {
    const size = Math.abs(numbers[at]);
    if (size > largest && size < Infinity) largest = size;
  }
  return largest;
}

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
