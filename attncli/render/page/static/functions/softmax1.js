/* Softmax with one more key that scores 0 and is dropped. */

import { mapRows } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { exponentialLines, exponentialTerm, finiteMax, largestTerm } from "../normalizing.js";
import { safeQuotient, sumOfNumbers } from "../normalizing.js";
import { numberTerm } from "../terms.js";

const ZERO = numberTerm(0);

defineFunction("softmax1", {
  compute({ scores }, options, tap) {
    const width = scores.shape.at(-1);
    const tops = rowNumbers(mapRows(scores, 1, (row) => [Math.max(finiteMax(row), 0)]));
    const powers = mapRows(scores, width, (row, top) => row.map((x) => Math.exp(x - top)), tops);
    const share = (row, top) => safeQuotient(row, Math.exp(-top) + sumOfNumbers(row));
    return mapRows(tap("exponentials", powers), width, share, tops);
  },
  whole: ["m", "m+1"],
  work(cell) {
    const exponentials = cell.terms("exponentials");
    const ofZero = cell.computed("exp of the score 0", exponentialTerm(ZERO, topTerm(cell)));
    const exponential = exponentialTerm(cell.terms("scores")[cell.column], topTerm(cell));
    return [ofZero.line, ...exponentialLines(cell, exponential, exponentials[cell.column], [ofZero, ...exponentials])];
  },
  inner: {
    exponentials: {
      whole: ["m", "m+1"],
      work: (cell) => [cell.equation(exponentialTerm(cell.terms("scores")[cell.column], topTerm(cell)))],
    },
  },
});

/** One number for each row [… n 1] without the last axis. */
function rowNumbers({ shape, data }) {
  return { shape: shape.slice(0, -1), data };
}

/** The largest score of the row, at least 0. */
function topTerm(cell) {
  return largestTerm([ZERO, ...cell.terms("scores")]);
}
