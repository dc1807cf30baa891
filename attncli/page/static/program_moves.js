/* The instructions that only move numbers: with the places of numbers in place of these they say where each comes from. */

import { makeArray, offsetsIn } from "./arrays.js";
import { strides } from "./values.js";

/**
 * What an instruction moves: `of` are the instructions whose arrays it moves, `move(arrays)` moves these or others of
 * their shapes. `numberOf` is the number of an instruction, `arrayOf` its array.
 */
export const MOVES = {
  arrange: ([x, axes]) => ({ of: [x], move: ([array]) => arranged(array, axes) }),
  slice: ([x, axis, start, stop, step], numberOf) => ({
    of: [x],
    move: ([array]) => {
      const length = array.shape.at(axis);
      const end = (at, otherwise) => {
        if (at === null) return otherwise;
        const place = numberOf(at) < 0 ? numberOf(at) + length : numberOf(at);
        return Math.min(Math.max(place, 0), length);
      };
      const [first, last] = step > 0 ? [end(start, 0), end(stop, length)] : [Math.min(end(start, length - 1), length - 1), end(stop, -1)];
      const count = Math.max(0, Math.ceil((last - first) / step));
      return taken(array, axis, [count], Array.from({ length: count }, (_, at) => first + at * step));
    },
  }),
  take: ([x, places, axis], _numberOf, arrayOf) => ({ of: [x], move: ([array]) => taken(array, axis, arrayOf(places).shape, arrayOf(places).data) }),
  repeat: ([x, times, axis], numberOf) => ({
    of: [x],
    move: ([array]) => {
      const count = array.shape.at(axis) * numberOf(times);
      return taken(array, axis, [count], Array.from({ length: count }, (_, at) => Math.floor(at / numberOf(times))));
    },
  }),
  reshape: ([x, lengths], numberOf) => ({
    of: [x],
    move: ([array]) => {
      const shape = lengths.map(numberOf);
      const known = shape.reduce((product, length) => (length < 0 ? product : product * length), 1);
      return makeArray(shape.map((length) => (length < 0 ? array.data.length / known : length)), array.data);
    },
  }),
  broadcast_to: ([x, lengths], numberOf) => ({
    of: [x],
    move: ([array]) => {
      const shape = lengths.map(numberOf);
      return makeArray(shape, Float64Array.from(offsetsIn(array, shape), (offset) => array.data[offset]));
    },
  }),
  take_along_axis: ([x, places, axis], _numberOf, arrayOf) => ({
    of: [x],
    move: ([array]) => {
      const found = arrayOf(places);
      const own = axis + array.shape.length;
      const shape = array.shape.map((length, at) => (at === own || length === 1 ? found.shape[at] : length));
      const [step] = [strides(array.shape)[own]];
      const rest = makeArray(array.shape.map((length, at) => (at === own ? 1 : length)));
      const starts = offsetsIn({ shape: rest.shape.map((length, at) => (at === own ? 1 : length)), data: rest.data }, shape);
      const steps = strides(rest.shape);
      const starting = Int32Array.from(starts, (start) => rest.shape.reduce((sum, length, at) => sum + (Math.floor(start / steps[at]) % length) * strides(array.shape)[at], 0));
      const along = offsetsIn(found, shape);
      const length = array.shape[own];
      return makeArray(shape, Float64Array.from(starting, (start, at) => array.data[start + ((found.data[along[at]] + length) % length) * step]));
    },
  }),
  concatenate: ([axis, parts]) => ({
    of: parts,
    move: (arrays) => {
      const own = axis + arrays[0].shape.length;
      const shape = arrays[0].shape.map((length, at) => (at === own ? arrays.reduce((sum, one) => sum + one.shape[at], 0) : length));
      const result = makeArray(shape);
      const widths = arrays.map((one) => one.shape.slice(own).reduce((size, length) => size * length, 1));
      const width = widths.reduce((sum, one) => sum + one, 0);
      for (let block = 0; block * width < result.data.length; block++) {
        let start = block * width;
        arrays.forEach((one, at) => {
          result.data.set(one.data.subarray(block * widths[at], (block + 1) * widths[at]), start);
          start += widths[at];
        });
      }
      return result;
    },
  }),
  write: ([x, places, value], _numberOf, arrayOf) => ({
    of: [x, value],
    move: ([array, written]) => {
      const data = array.data.slice();
      const at = arrayOf(places);
      offsetsIn(written, at.shape).forEach((offset, place) => { data[at.data[place]] = written.data[offset]; });
      return makeArray(array.shape, data);
    },
  }),
};

/** An array whose axes are those of another, by their numbers, or new ones of length 1. */
function arranged(array, axes) {
  const steps = strides(array.shape);
  const shape = axes.map((axis) => (axis === null ? 1 : array.shape[axis]));
  const kept = axes.filter((axis) => axis !== null && array.shape[axis] > 1);
  if (kept.every((axis, at) => at === 0 || kept[at - 1] < axis)) return makeArray(shape, array.data);
  let offsets = [0];
  axes.forEach((axis, at) => {
    const positions = Array.from({ length: shape[at] }, (_, position) => (axis === null ? 0 : position * steps[axis]));
    offsets = offsets.flatMap((offset) => positions.map((step) => offset + step));
  });
  return makeArray(shape, Float64Array.from(offsets, (offset) => array.data[offset]));
}

/** An array of which some places are taken along an axis, counted from the last; `shape` is that of the places. */
function taken(array, axis, shape, places) {
  const own = axis + array.shape.length;
  const [before, length, after] = [array.shape.slice(0, own), array.shape[own], array.shape.slice(own + 1)];
  const size = after.reduce((product, one) => product * one, 1);
  const result = makeArray([...before, ...shape, ...after]);
  const block = places.length * size;
  for (let start = 0, from = 0; start < result.data.length; start += block, from += length * size) {
    for (let at = 0; at < places.length; at++) {
      const place = from + (places[at] < 0 ? places[at] + length : places[at]) * size;
      result.data.set(array.data.subarray(place, place + size), start + at * size);
    }
  }
  return result;
}

/** The places of an array's numbers, from a first one on. */
export function numbered({ shape, data }, first = 0) {
  return makeArray(shape, Float64Array.from({ length: data.length }, (_, at) => first + at));
}

/** The numbers along some axes, counted from the last, [… count], before them the other axes. */
export function alongAxes(array, axes) {
  const own = axes.map((axis) => axis + array.shape.length);
  const kept = array.shape.map((_, axis) => axis).filter((axis) => !own.includes(axis));
  const count = own.reduce((size, axis) => size * array.shape[axis], 1);
  return makeArray([...kept.map((axis) => array.shape[axis]), count], arranged(array, [...kept, ...own]).data);
}
