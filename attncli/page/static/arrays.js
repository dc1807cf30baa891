/* Arrays: numbers with a shape, in the order of rows; their axes broadcast as those of NumPy do. */

import { strides } from "./values.js";

/** An array of a shape from its numbers; without numbers zeros. */
export function makeArray(shape, data = new Float64Array(shape.reduce((size, length) => size * length, 1))) {
  return { shape, data };
}

/** The shape that two shapes broadcast to. */
export function broadcastShape(left, right) {
  const [longer, shorter] = left.length >= right.length ? [left, right] : [right, left];
  const before = longer.length - shorter.length;
  return longer.map((length, axis) => (axis >= before && length === 1 ? shorter[axis - before] : length));
}

/** Where each cell of a shape, in the order of rows, is in the numbers of an array that broadcasts to it. */
export function offsetsIn(array, shape) {
  const before = shape.length - array.shape.length;
  const steps = strides(array.shape);
  let offsets = Int32Array.of(0);
  shape.forEach((length, axis) => {
    const step = axis < before || array.shape[axis - before] === 1 ? 0 : steps[axis - before];
    const finer = new Int32Array(offsets.length * length);
    offsets.forEach((offset, at) => {
      for (let position = 0; position < length; position++) finer[at * length + position] = offset + position * step;
    });
    offsets = finer;
  });
  return offsets;
}

/** `compute(x)` of each number of an array. */
export function mapNumbers(array, compute) {
  return makeArray(array.shape, array.data.map((x) => compute(x)));
}

/** `compute(x, y)` of the numbers of two arrays, which broadcast. */
export function mapPairs(left, right, compute) {
  const result = makeArray(broadcastShape(left.shape, right.shape));
  const lefts = offsetsIn(left, result.shape);
  const rights = offsetsIn(right, result.shape);
  for (let at = 0; at < result.data.length; at++) {
    result.data[at] = compute(left.data[lefts[at]], right.data[rights[at]]);
  }
  return result;
}

/**
 * An array [… w] from each row of an array [… n]: `compute(row, ...others)` returns w numbers; `others` are those of
 * arrays [… ] whose shape broadcasts to the axes before the rows.
 */
export function mapRows(array, width, compute, ...others) {
  const leading = array.shape.slice(0, -1);
  const result = makeArray([...leading, width]);
  const length = array.shape.at(-1);
  const offsets = others.map((other) => offsetsIn(other, leading));
  for (let row = 0; row * width < result.data.length; row++) {
    const numbers = others.map((other, at) => other.data[offsets[at][row]]);
    result.data.set(compute(array.data.subarray(row * length, (row + 1) * length), ...numbers), row * width);
  }
  return result;
}

/**
 * Matrices [rows columns] from those of two arrays, whose leading axes broadcast: `compute(left, right, row, column)`
 * returns one number from the numbers of both matrices in the order of rows.
 */
function mapMatrices(left, right, [rows, columns], compute) {
  const leading = broadcastShape(left.shape.slice(0, -2), right.shape.slice(0, -2));
  const result = makeArray([...leading, rows, columns]);
  const lefts = matricesOf(left, leading);
  const rights = matricesOf(right, leading);
  for (let at = 0; at < lefts.length; at++) {
    for (let cell = 0; cell < rows * columns; cell++) {
      const row = Math.floor(cell / columns);
      result.data[at * rows * columns + cell] = compute(lefts[at], rights[at], row, cell - row * columns);
    }
  }
  return result;
}

/** The numbers of each matrix of an array [… rows columns], for the leading axes that it broadcasts to. */
function matricesOf(array, leading) {
  const [rows, columns] = array.shape.slice(-2);
  const size = rows * columns;
  const offsets = offsetsIn({ shape: array.shape.slice(0, -2) }, leading);
  return Array.from(offsets, (offset) => array.data.subarray(offset * size, (offset + 1) * size));
}

/** The product of matrices, [… n k] and [… k m] to [… n m]. */
export function matrixProduct(left, right) {
  const inner = left.shape.at(-1);
  const columns = right.shape.at(-1);
  return mapMatrices(left, right, [left.shape.at(-2), columns], (a, b, row, column) => {
    let sum = 0;
    for (let at = 0; at < inner; at++) sum += a[row * inner + at] * b[at * columns + column];
    return sum;
  });
}

/** The product of matrices, to which a column or row that is all 0 adds 0, even where the other is NaN or infinite. */
export function productWithoutZeros(left, right) {
  if (left.data.every(Number.isFinite) && right.data.every(Number.isFinite)) return matrixProduct(left, right);
  const isNotZero = (x) => Number(x !== 0);
  const lefts = sumsOver(mapNumbers(left, isNotZero), -2); // [… 1 k]
  const rights = sumsOver(mapNumbers(right, isNotZero), -1); // [… k 1]
  const used = mapPairs(lefts, exchangedAxes(rights, -1, -2), (x, y) => x * y);
  const kept = (x, count) => (count === 0 ? 0 : x);
  return matrixProduct(mapPairs(left, used, kept), mapPairs(right, exchangedAxes(used, -1, -2), kept));
}

/** The sums of an array over some axes, counted from 0 or from the end by −1, −2 …, which have length 1 afterwards. */
export function sumsOver(array, ...axes) {
  const over = axes.map((axis) => (axis < 0 ? axis + array.shape.length : axis));
  const result = makeArray(array.shape.map((length, axis) => (over.includes(axis) ? 1 : length)));
  offsetsIn(result, array.shape).forEach((offset, at) => (result.data[offset] += array.data[at]));
  return result;
}

/** An array without some of its axes, of length 1. */
export function withoutAxes(array, ...axes) {
  const dropped = axes.map((axis) => (axis < 0 ? axis + array.shape.length : axis));
  return makeArray(array.shape.filter((_, axis) => !dropped.includes(axis)), array.data);
}

/**
 * A table of the rows of two arrays, [… n d] and [… m d] to [… n m]: the sum of `compute(x, y)` over the features.
 */
function mapRowPairs(left, right, compute) {
  const features = left.shape.at(-1);
  return mapMatrices(left, right, [left.shape.at(-2), right.shape.at(-2)], (a, b, row, column) => {
    let sum = 0;
    for (let at = 0; at < features; at++) sum += compute(a[row * features + at], b[column * features + at]);
    return sum;
  });
}

/** The dot product of each row of one array with each row of another, [… n d] and [… m d] to [… n m]. */
export function dotProducts(left, right) {
  return mapRowPairs(left, right, (x, y) => x * y);
}

/** An array with one more axis, of length 1: the last one (−1), the one before it (−2) and so on. */
export function withAxis(array, at) {
  const shape = [...array.shape];
  shape.splice(shape.length + 1 + at, 0, 1);
  return makeArray(shape, array.data);
}

/** An array in a shape that it broadcasts to. */
export function broadcastTo(array, shape) {
  return makeArray(shape, Float64Array.from(offsetsIn(array, shape), (offset) => array.data[offset]));
}

/** An array with two of its axes exchanged, counted from the end. */
export function exchangedAxes(array, one, other) {
  const steps = strides(array.shape);
  const order = steps.map((_, axis) => axis);
  const [first, second] = [order.length + one, order.length + other];
  [order[first], order[second]] = [second, first];
  let offsets = [0];
  for (const axis of order) {
    const positions = Array.from({ length: array.shape[axis] }, (_, position) => position * steps[axis]);
    offsets = offsets.flatMap((offset) => positions.map((step) => offset + step));
  }
  return makeArray(order.map((axis) => array.shape[axis]), Float64Array.from(offsets, (offset) => array.data[offset]));
}
