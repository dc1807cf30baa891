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
