/* The positions of queries and keys, and where the real keys of a batch item are. */

import { makeArray, mapNumbers, mapPairs, mapRows, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { numberTerm, sumOf } from "../terms.js";

/* The position of each query among the keys: row i of the queries is at key i + first. */
defineFunction("query_positions", {
  compute: ({ rows }, { first }) => mapNumbers(rows, (row) => row + first),
  work: (cell) => [cell.equation(sumOf([cell.term("rows"), numberTerm(cell.options.first)]))],
});

/* The number of the packed sequence that each row is in: the last that begins there or before. */
defineFunction("sequence_numbers", {
  compute: ({ rows, bounds }) => mapNumbers(rows, (row) => bounds.data.findLastIndex((first) => first <= row)),
  whole: ["z"],
  work: (cell) => [[`row ${cell.term("rows").value(null)} is in sequence ${cell.number}`]],
});

/* The position of each query among all keys, where its packed sequence begins there, or ends. */
defineFunction("query_positions_in_sequences", {
  compute({ rows, sequences, bounds, bounds_of_keys: ofKeys = bounds }, { at_end: atEnd }) {
    const shift = (sequence) => ofKeys.data[sequence + Number(atEnd)] - bounds.data[sequence + Number(atEnd)];
    return mapPairs(rows, sequences, (row, sequence) => row + shift(sequence));
  },
  whole: ["z"],
  work: (cell) => [[`${cell.label("n")} is at key ${cell.number} of all`]],
});

/* The position of each query, counted from the end of each batch item's real keys: [n] and [b …] to [b … n]. */
defineFunction("query_positions_at_end", {
  compute: ({ rows, key_lengths: lengths }, { first }) =>
    mapPairs(rows, withAxis(lengths, -1), (row, length) => row + first + length),
  work: (cell) => [cell.equation(sumOf([cell.term("rows"), numberTerm(cell.options.first), cell.term("key_lengths")]))],
});

/* The index of the first real key of each batch item, 0 where none is: [… m] to […]. */
defineFunction("real_key_starts", {
  compute({ key_mask: mask }) {
    const starts = mapRows(mask, 1, (row) => [Math.max(row.findIndex((x) => x !== 0), 0)]);
    return makeArray(starts.shape.slice(0, -1), starts.data);
  },
  whole: ["m"],
  work: (cell) => [[`real keys begin at the index ${cell.number}`]],
});

/* The index after the last real key of each batch item, 0 where none is: [… m] to […]. */
defineFunction("real_key_ends", {
  compute({ key_mask: mask, key_lengths: lengths = makeArray([], [Infinity]) }) {
    const endOf = (row, length) => row.findLastIndex((x, key) => x !== 0 && key < length) + 1;
    const ends = mapRows(mask, 1, (row, length) => [endOf(row, length)], lengths);
    return makeArray(ends.shape.slice(0, -1), ends.data);
  },
  whole: ["m"],
  work: (cell) => [[`real keys end before the index ${cell.number}`]],
});

/* The same positions on each of so many axes: [… n] to [… s n]. */
defineFunction("on_axes", {
  compute({ positions }, { count }) {
    const rows = positions.shape.at(-1);
    const result = makeArray([...positions.shape.slice(0, -1), count, rows]);
    result.data.forEach((_number, at) => {
      result.data[at] = positions.data[Math.floor(at / (count * rows)) * rows + (at % rows)];
    });
    return result;
  },
  work: (cell) => [cell.equation(cell.term("positions"))],
});
