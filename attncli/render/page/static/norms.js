/* Norms: vectors divided by their size, times a gain, plus a bias; and the arithmetic of one feature. */

import { mapPairs, mapRows, withAxis } from "./arrays.js";
import { numberTerm, parameterTerm, productOf, quotientOf, sumOf } from "./terms.js";

const [SMALLEST, LARGEST] = [2 ** -40, 2 ** 50]; // between them squares neither overflow nor vanish

/** What is known of every norm: each cell is made of a whole vector, and of one number of the gain and of the bias. */
export const NORM = {
  whole: ["d", "c", "e", "x"],
  index: { gain: (cell, source) => [ownPlace(cell, source)], bias: (cell, source) => [ownPlace(cell, source)] },
};

/** The place of a vector of features, or of each head, that belongs to a cell. */
function ownPlace(cell, source) {
  return [...source.axes.slice(0, -1).map((letter) => cell.at[letter]), cell.column];
}

/**
 * Each row of `x` divided by √(square + eps), times gain plus bias. `prepare(row)` gives what is divided and its square, of
 * a row that is divided first by its largest entry where that is very small or large, or `isAlways`.
 */
export function normalized({ x, gain, bias }, { eps = 0, gain_plus_one: plusOne = false }, prepare, isAlways = false) {
  const divided = mapRows(x, x.shape.at(-1), (row) => {
    const unit = divisorOf(row, eps, isAlways);
    const { numbers, square } = prepare(row.map((entry) => entry / unit));
    const size = Math.sqrt(square + eps / unit / unit);
    return numbers.map((entry) => entry / (size === 0 ? 1 : size));
  });
  const scaled = gain === undefined ? divided : mapPairs(divided, ofRows(gain), (u, g) => u * (plusOne ? g + 1 : g));
  return bias === undefined ? scaled : mapPairs(scaled, ofRows(bias), (u, b) => u + b);
}

/** What a row is divided by first. */
function divisorOf(row, eps, isAlways) {
  const largest = row.reduce((most, entry) => Math.max(most, Math.abs(entry)), Math.sqrt(eps));
  const isFar = (largest < SMALLEST || largest > LARGEST) && largest !== 0 && largest < Infinity;
  return (isAlways ? largest !== 0 : isFar) ? largest : 1;
}

/** A vector of each head, [h d], in the shape that broadcasts with [… h n d]; one vector stays. */
function ofRows(array) {
  return array.shape.length === 1 ? array : withAxis(array, -2);
}

/** The mean of the squares of some numbers. */
export function meanSquare(numbers) {
  return numbers.reduce((sum, entry) => sum + entry * entry, 0) / numbers.length;
}

/** A term and what is added to it before the root is taken. */
export function withEps(term, { eps = 0 }) {
  return eps === 0 ? term : sumOf([term, parameterTerm(eps)]);
}

/** The lines of one feature that is divided by the size, and times its gain, plus its bias. */
export function linesWithGain(cell, numerator, size, name) {
  const quotient = quotientOf(numerator, size);
  if (!cell.has("gain") && !cell.has("bias")) return [cell.equation(quotient)];
  const divided = cell.computed(name, quotient);
  return [divided.line, cell.equation(withBias(cell, withGain(cell, divided)))];
}

/** What becomes of a zero vector: it stays zero, and the bias is added. */
export function zeroLines(cell) {
  const first = ["a zero vector stays zero"];
  return cell.has("bias") ? [first, cell.equation(withBias(cell, numberTerm(0)))] : [first];
}

function withGain(cell, term) {
  if (!cell.has("gain")) return term;
  const gain = cell.term("gain");
  return productOf(cell.options.gain_plus_one ? sumOf([numberTerm(1), gain]) : gain, term);
}

function withBias(cell, term) {
  return cell.has("bias") ? sumOf([term, cell.term("bias")]) : term;
}
