/* Parts of normalizers: the largest score of a row, exponentials, quotients, and the lines that they share. */

import { mapRows } from "./arrays.js";
import { differenceOf, expOf, maximumOf, numberTerm, parameterTerm, quotientOf, sumOf } from "./terms.js";

/** The largest number of a row; 0 where every key is masked, NaN where one number is NaN. */
export function finiteMax(row) {
  const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  return largest === -Infinity ? 0 : largest;
}

/** The sum of some numbers. */
export function sumOfNumbers(numbers) {
  return numbers.reduce((sum, x) => sum + x, 0);
}

/** A row divided by a number; zeros where that is 0. */
export function safeQuotient(row, divisor) {
  return row.map((x) => (divisor === 0 ? 0 : x / divisor));
}

/** An array whose rows are those of another array through a function of a row. */
export function normalizedRows(scores, compute) {
  return mapRows(scores, scores.shape.at(-1), compute);
}

/** The exponentials of a row, less its largest number, which are tapped, and their quotients by their sum. */
export function softmaxRows(scores, temperature, tap) {
  const exponentials = normalizedRows(scores, (row) => {
    const largest = finiteMax(row);
    return row.map((x) => Math.exp((x - largest) / temperature));
  });
  tap("exponentials", exponentials);
  return normalizedRows(exponentials, (row) => safeQuotient(row, sumOfNumbers(row)));
}

/** The softmax of each row and no inner quantity. */
export function plainSoftmax(scores) {
  return softmaxRows(scores, 1, (name, value) => value);
}

/** A row of scores less its largest; those up to −1 are set far below, so that τ is never under −1. */
export function clippedScores(row, factor = 1) {
  const largest = finiteMax(row);
  return row.map((x) => (factor * (x - largest) <= -1 ? -2 : factor * (x - largest)));
}

/** The numbers of a row from the largest to the smallest, NaN last. */
export function descending(row) {
  return row.map((x) => -x).sort().map((x) => -x);
}

/** The nearest weights that add to 1 to the scores of each row. */
export function sparsemaxRows(scores) {
  return normalizedRows(scores, (row) => {
    const shifted = clippedScores(row);
    let [sum, size, total] = [0, 0, 0];
    descending(shifted).forEach((x, at) => {
      sum += x;
      if (x * (at + 1) > sum - 1) [size, total] = [size + 1, total + x];
    });
    const threshold = (total - 1) / size;
    return shifted.map((x, at) => (row[at] === -Infinity ? 0 : Math.max(x - threshold, 0)));
  });
}

/** The term of the largest of some terms; one that is NaN where there is one, as it is of numbers. */
export function largestTerm(terms) {
  const isNaNTerm = (term) => Number.isNaN(term.value(null));
  return terms.reduce((largest, term) => (isNaNTerm(term) || term.value(null) > largest.value(null) ? term : largest));
}

/** `exp(S − max)`, over the temperature where that is not 1. */
export function exponentialTerm(score, largest, temperature = 1) {
  const difference = differenceOf(score, largest);
  return expOf(temperature === 1 ? difference : quotientOf(difference, parameterTerm(temperature)));
}

/** One of the exponentials of a row, the sum that divides them all, and the quotient. */
export function exponentialLines(cell, exponential, own, addends) {
  const sum = cell.computed("Σⱼ exp", sumOf(addends));
  return [cell.equation(exponential, "", own.value(null)), sum.line, cell.equation(quotientOf(own, sum))];
}

/** The line of a row without keys, or with a score that is NaN, for which nothing is computed; null of any other. */
export function lineWithoutNumbers(scores) {
  const row = scores.map((score) => score.value(null));
  if (row.every((score) => score === -Infinity)) return [["every key is hidden: all weights are 0"]];
  return row.some(Number.isNaN) ? [["a score of the row is NaN: the weights of all visible keys are NaN"]] : null;
}

/** The lines of softmax, of scores and exponentials as terms. */
export function softmaxLines(cell, scores, exponentials, temperature = 1) {
  const exponential = exponentialTerm(scores[cell.column], largestTerm(scores), temperature);
  return exponentialLines(cell, exponential, exponentials[cell.column], exponentials);
}

/** The lines of sparsemax: the threshold τ, then one score's excess over it. */
export function sparsemaxLines(cell, scores) {
  const weights = cell.row();
  const support = scores.filter((_, at) => weights[at].value(null) > 0);
  const difference = differenceOf(sumOf(support), numberTerm(1));
  const threshold = cell.computed("τ", quotientOf(difference, numberTerm(support.length)));
  return [threshold.line, cell.equation(maximumOf(differenceOf(scores[cell.column], threshold), numberTerm(0)))];
}
