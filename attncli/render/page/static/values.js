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
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 4 }, (_, at) => view.getFloat32(4 * at, true));
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
