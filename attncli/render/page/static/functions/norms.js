/* Norms, vectors of one length, and their gradients. */

import { concatenated, mapPairs, mapRows, sumsOver, withAxis, withoutAxes } from "../arrays.js";
import { defineFunction } from "../functions.js";
import {
  differenceOf, numberTerm, parameterTerm, powerOf, productOf, productsOf, quotientOf, rootOf, sumOf,
} from "../terms.js";

const [SMALLEST, LARGEST] = [2 ** -40, 2 ** 50]; // between them squares neither overflow nor vanish

/** What is known of every norm: each cell is made of a whole vector, and of one number of the gain and of the bias. */
const NORM = {
  whole: ["d", "c", "e", "x", "λ", "μ", "η"],
  index: { gain: (cell, source) => [ownPlace(cell, source)], bias: (cell, source) => [ownPlace(cell, source)] },
};

/** The place of a vector of features, or of each head, that belongs to a cell. */
function ownPlace(cell, source) {
  return [...source.axes.slice(0, -1).map((letter) => cell.at[letter]), cell.column];
}

/**
 * The numbers y of a row that is divided by √(square + eps), and that root, of a row that is divided first by its largest
 * entry where that is very small or large, or always.
 */
function dividedRow({ prepare, isAlways = false }, row, eps) {
  const unit = divisorOf(row, eps, isAlways);
  const { numbers, square } = prepare(row.map((entry) => entry / unit));
  const size = Math.sqrt(square + eps / unit / unit);
  return { divided: numbers.map((entry) => entry / (size === 0 ? 1 : size)), size: unit * size };
}

/** Each row of `x` divided, times gain plus bias. */
function normalized(kind, { x, gain, bias }, { eps, ...options }) {
  const divided = mapRows(x, x.shape.at(-1), (row) => dividedRow(kind, row, eps ?? 0).divided);
  const scaled = gainOf(divided, gain, options);
  return bias === undefined ? scaled : mapPairs(scaled, ofRows(bias), (u, b) => u + b);
}

/** The rows of an array times the gain. */
function gainOf(array, gain, { gain_plus_one: plusOne = false }) {
  return gain === undefined ? array : mapPairs(array, ofRows(gain), (u, g) => u * (plusOne ? g + 1 : g));
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

/** A term and what is added to it before the root is taken. */
function withEps(term, { eps }) {
  return (eps ?? 0) === 0 ? term : sumOf([term, parameterTerm(eps)]);
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

function withGain(cell, term, gain = cell.has("gain") ? cell.term("gain") : null) {
  if (gain === null) return term;
  return productOf(cell.options.gain_plus_one ? sumOf([numberTerm(1), gain]) : gain, term);
}

function withBias(cell, term) {
  return cell.has("bias") ? sumOf([term, cell.term("bias")]) : term;
}

const sumOfEntries = (numbers) => numbers.reduce((sum, entry) => sum + entry, 0);
const meanOfEntries = (numbers) => sumOfEntries(numbers) / numbers.length;
const entrySquares = (numbers) => numbers.map((entry) => entry * entry);

/*
 * The three kinds of norms. `prepare(row)` gives what is divided and its square, `average` is what makes one number of
 * some, with its `name`, and `sizeOf(cell)` has the terms of what is divided and of what it is divided by, with lines.
 */
const LENGTH = {
  prepare: (row) => ({ numbers: row, square: sumOfEntries(entrySquares(row)) }),
  average: sumOfEntries,
  averageName: "(y·g)",
  isAlways: true,
  sizeOf(cell) {
    const numbers = cell.terms("x");
    const hasEps = (cell.options.eps ?? 0) !== 0;
    const square = withEps(productsOf(numbers, numbers), cell.options);
    const size = cell.computed(hasEps ? "√(‖u‖² + eps)" : "‖u‖", rootOf(square));
    return { numbers, size, lines: [size.line], name: hasEps ? "u/√(‖u‖² + eps)" : "u/‖u‖" };
  },
};

const ROOT_MEAN_SQUARE = {
  prepare: (row) => ({ numbers: row, square: meanOfEntries(entrySquares(row)) }),
  average: meanOfEntries,
  averageName: "mean(y g)",
  sizeOf(cell) {
    const numbers = cell.terms("x");
    const mean = cell.computed("mean(u²)", quotientOf(productsOf(numbers, numbers), numberTerm(numbers.length)));
    const size = cell.computed("rms(u)", rootOf(withEps(mean, cell.options)));
    return { numbers, size, lines: [mean.line, size.line], name: "u/rms(u)" };
  },
};

const DEVIATION = {
  prepare(row) {
    const mean = meanOfEntries(row);
    const numbers = row.map((entry) => entry - mean);
    return { numbers, square: meanOfEntries(entrySquares(numbers)) };
  },
  average: meanOfEntries,
  averageName: "mean(y g)",
  isCentred: true,
  sizeOf(cell) {
    const vector = cell.terms("x");
    const count = numberTerm(vector.length);
    const mean = cell.computed("mean(u)", quotientOf(sumOf(vector), count));
    const numbers = vector.map((entry) => differenceOf(entry, mean));
    const squares = numbers.map((entry) => powerOf(entry, numberTerm(2)));
    const variance = cell.computed("var(u)", quotientOf(sumOf(squares), count));
    const size = cell.computed("std(u)", rootOf(withEps(variance, cell.options)));
    return { numbers, size, lines: [mean.line, variance.line, size.line], name: "(u − mean(u))/std(u)", first: mean.line };
  },
};

/** Whether every term is 0. */
function areZero(terms) {
  return terms.every((term) => term.value(null) === 0);
}

/** The definition of a norm of a kind. */
function normOf(kind) {
  return {
    ...NORM,
    compute: (inputs, options) => normalized(kind, inputs, options),
    work(cell) {
      const { numbers, size, lines, name, first } = kind.sizeOf(cell);
      if (areZero(numbers)) return [...(first === undefined ? [] : [first]), ...zeroLines(cell)];
      return [...lines, ...linesWithGain(cell, numbers[cell.column], size, name)];
    },
  };
}

/** The definition of the gradient of the vectors: what changes their size alone changes nothing. */
function gradientOf(kind) {
  return {
    whole: NORM.whole,
    index: { gain: (cell, source) => [[...source.axes.slice(0, -1).map((letter) => cell.at[letter]), null]] },
    compute({ grad, x, gain }, options) {
      const width = x.shape.at(-1);
      return mapRows(concatenated(gainOf(grad, gain, options), x, -1), width, (both) => {
        const [g, { divided, size }] = [both.slice(0, width), dividedRow(kind, both.slice(width), options.eps ?? 0)];
        const fit = kind.average(divided.map((y, at) => y * g[at]));
        const less = kind.isCentred ? meanOfEntries(g) : 0;
        return g.map((own, at) => (size === 0 ? 0 : (own - divided[at] * fit - less) / size));
      });
    },
    work: (cell) => gradientLines(kind, cell),
  };
}

/** The lines of one number of that gradient: y and g, how well they fit, and what of g is across y. */
function gradientLines(kind, cell) {
  const { numbers, size, lines, name } = kind.sizeOf(cell);
  if (size.value(null) === 0) return [["a vector without size: 0 is taken"]];
  const [gains, gradients] = [cell.has("gain") ? cell.terms("gain") : [], cell.terms("grad")];
  const each = gradients.map((gradient, at) => withGain(cell, gradient, gains[at]));
  const [count, own] = [numberTerm(numbers.length), each[cell.column]];
  const y = cell.computed(`y = ${name}`, quotientOf(numbers[cell.column], size));
  const g = cell.has("gain") ? cell.computed("g", own) : { ...own, line: null };
  const product = quotientOf(productsOf(numbers, each), size);
  const fit = cell.computed(kind.averageName, kind.average === sumOfEntries ? product : quotientOf(product, count));
  const mean = kind.isCentred ? cell.computed("mean(g)", quotientOf(sumOf(each), count)) : null;
  const across = differenceOf(mean === null ? g : differenceOf(g, mean), productOf(fit, y));
  const shown = [...lines, y.line, g.line, fit.line, mean?.line].filter(Boolean);
  return [...shown, cell.equation(quotientOf(across, size), cell.name)];
}

/** The definition of the gradient of the gain: the sum over the rows. */
function gainGradientOf(kind) {
  const rowsOf = (cell, last) => [[...cell.index.slice(0, -1), null, last]];
  return {
    compute({ grad, x }, { eps }) {
      const divided = mapRows(x, x.shape.at(-1), (row) => dividedRow(kind, row, eps ?? 0).divided);
      return withoutAxes(sumsOver(mapPairs(grad, divided, (g, y) => g * y), -2), -2);
    },
    index: { grad: (cell) => rowsOf(cell, cell.column), x: (cell) => rowsOf(cell, null) },
    work(cell) {
      const [width, numbers] = [cell.lengthOf("x", -1), cell.terms("x").map((entry) => entry.value(null))];
      const ys = cell.terms("grad").map((_, row) => {
        const own = numbers.slice(row * width, (row + 1) * width);
        return numberTerm(dividedRow(kind, own, cell.options.eps ?? 0).divided[cell.column]);
      });
      return [cell.equation(productsOf(cell.terms("grad"), ys), cell.name)];
    },
  };
}

/* Each vector divided by its Euclidean norm, with its gain and bias. */
defineFunction("l2", normOf(LENGTH));
defineFunction("l2_x", gradientOf(LENGTH));
defineFunction("l2_gain", gainGradientOf(LENGTH));

/* Each vector divided by the root of its mean square, with its gain and bias. */
defineFunction("rms", normOf(ROOT_MEAN_SQUARE));
defineFunction("rms_x", gradientOf(ROOT_MEAN_SQUARE));
defineFunction("rms_gain", gainGradientOf(ROOT_MEAN_SQUARE));

/* Each vector less its mean, divided by its standard deviation, with its gain and bias. */
defineFunction("layer", normOf(DEVIATION));
defineFunction("layer_x", gradientOf(DEVIATION));
defineFunction("layer_gain", gainGradientOf(DEVIATION));
