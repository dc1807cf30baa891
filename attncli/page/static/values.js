/* Values: arrays of numbers with the letters of their axes, and the parts of them. */

const NON_FINITE = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };

/**
 * A value from an entry of the page's object: its letters, its shape and its numbers in the order of rows.
 *
 * A text has the numbers in Base64, of four bytes each, the lowest first.
 */
export function readValue(axes, { shape, data }) {
  if (typeof data === "string") return { axes, shape, data: numbersOfText(data) };
  return { axes, shape, data: Float64Array.from(data, (x) => (typeof x === "string" ? NON_FINITE[x] : x)) };
}

function numbersOfText(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = letters.charCodeAt(at);
  return new Float64Array(new Float32Array(bytes.buffer)); // every browser's machine has the lowest byte first
}

/** How far apart two neighbours on each axis are. */
export function strides(shape) {
  const result = new Array(shape.length).fill(1);
  for (let axis = shape.length - 2; axis >= 0; axis--) result[axis] = result[axis + 1] * shape[axis + 1];
  return result;
}

/** The number at an index on each axis; on an axis of length 1, which broadcasts, at 0. */
export function numberAt(value, index) {
  const steps = strides(value.shape);
  return value.data[index.reduce((sum, at, axis) => sum + (value.shape[axis] === 1 ? 0 : at) * steps[axis], 0)];
}
