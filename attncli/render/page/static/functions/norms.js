/* Norms: vectors of one length. */

import { mapPairs, mapRows, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import {
  differenceOf, numberTerm, parameterTerm, powerOf, productOf, productsOf, quotientOf, rootOf, sumOf,
} from "../terms.js";

const [SMALLEST, LARGEST] = [2 ** -40, 2 ** 50]; // between them squares neither overflow nor vanish

/** What is known of every norm: each cell is made of a whole vector, and of one number of the gain and of the bias. */
const NORM = {
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
function normalized({ x, gain, bias }, { eps = 0, gain_plus_one: plusOne = false }, prepare, isAlways = false) {
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
function meanSquare(numbers) {
  return numbers.reduce((sum, entry) => sum + entry * entry, 0) / numbers.length;
}

/** A term and what is added to it before the root is taken. */
function withEps(term, { eps = 0 }) {
  return eps === 0 ? term : sumOf([term, parameterTerm(eps)]);
}

/** The lines of one feature that is divided by the size, and times its gain, plus its bias. */
function linesWithGain(cell, numerator, size, name) {
  const quotient = quotientOf(numerator, size);
  if (!cell.has("gain") && !cell.has("bias")) return [cell.equation(quotient)];
  const divided = cell.computed(name, quotient);
  return [divided.line, cell.equation(withBias(cell, withGain(cell, divided)))];
}

/** What becomes of a zero vector: it stays zero, and the bias is added. */
function zeroLines(cell) {
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

/* Each vector divided by its Euclidean norm, with its gain and bias. */
defineFunction("l2", {
  ...NORM,
  compute: (inputs, options) =>
    normalized(
      inputs,
      options,
      (row) => ({ numbers: row, square: row.reduce((sum, entry) => sum + entry * entry, 0) }),
      true,
    ),
  work(cell) {
    const vector = cell.terms("x");
    if (vector.every((entry) => entry.value(null) === 0)) return zeroLines(cell);
    const hasEps = (cell.options.eps ?? 0) !== 0;
    const norm = cell.computed(hasEps ? "√(‖u‖² + eps)" : "‖u‖", rootOf(withEps(productsOf(vector, vector), cell.options)));
    return [norm.line, ...linesWithGain(cell, vector[cell.column], norm, hasEps ? "u/√(‖u‖² + eps)" : "u/‖u‖")];
  },
});

/* Each vector divided by the root of its mean square, with its gain and bias. */
defineFunction("rms", {
  ...NORM,
  compute: (inputs, options) =>
    normalized(inputs, options, (row) => ({ numbers: row, square: meanSquare(row) })),
  work(cell) {
    const vector = cell.terms("x");
    if (vector.every((entry) => entry.value(null) === 0)) return zeroLines(cell);
    const mean = cell.computed("mean(u²)", quotientOf(productsOf(vector, vector), numberTerm(vector.length)));
    const root = cell.computed("rms(u)", rootOf(withEps(mean, cell.options)));
    return [mean.line, root.line, ...linesWithGain(cell, vector[cell.column], root, "u/rms(u)")];
  },
});

/* Each vector less its mean, divided by its standard deviation, with its gain and bias. */
defineFunction("layer", {
  ...NORM,
  compute: (inputs, options) =>
    normalized(inputs, options, (row) => {
      const mean = row.reduce((sum, entry) => sum + entry, 0) / row.length;
      const numbers = row.map((entry) => entry - mean);
      return { numbers, square: meanSquare(numbers) };
    }),
  work(cell) {
    const vector = cell.terms("x");
    const count = numberTerm(vector.length);
    const mean = cell.computed("mean(u)", quotientOf(sumOf(vector), count));
    const centred = vector.map((entry) => differenceOf(entry, mean));
    if (centred.every((entry) => entry.value(null) === 0)) return [mean.line, ...zeroLines(cell)];
    const squares = centred.map((entry) => powerOf(entry, numberTerm(2)));
    const variance = cell.computed("var(u)", quotientOf(sumOf(squares), count));
    const root = cell.computed("std(u)", rootOf(withEps(variance, cell.options)));
    const name = "(u − mean(u))/std(u)";
    return [mean.line, variance.line, root.line, ...linesWithGain(cell, centred[cell.column], root, name)];
  },
});
