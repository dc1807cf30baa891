/* Programs: functions of plans as lists of instructions, which are read off the functions themselves (program.py). */

import {
  broadcastShape, exchangedAxes, makeArray, mapNumbers, mapPairs, mapRows, matrixProduct, offsetsIn, productWithoutZeros,
  sumsOver, withoutAxes,
} from "./arrays.js";
import { readProgramsBy } from "./functions.js";
import { linesOfProgram, sourcesOfProgram } from "./program_lines.js";
import { alongAxes, MOVES, numbered } from "./program_moves.js";

const scalar = (x) => makeArray([], Float64Array.of(x));
const truth = (compute) => (x, y) => Number(compute(x, y));
const best = (isBefore) => (row) => row.reduce((found, x) => (Number.isNaN(found) || isBefore(found, x) ? found : x));
const [largest, least] = [best((a, b) => a >= b), best((a, b) => a <= b)];
const firstOf = (find) => (row) => { const found = find(row); return row.findIndex((x) => Object.is(x + 0, found + 0)); };

/** The nearest whole number; of two the even one, as NumPy rounds. */
const rint = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

/** The functions of each number, or of the numbers of two arrays. */
const ELEMENTWISE = {
  negative: (x) => -x, absolute: Math.abs, exp: Math.exp, exp2: (x) => 2 ** x, expm1: Math.expm1, log: Math.log,
  log2: Math.log2, log10: Math.log10, log1p: Math.log1p, sqrt: Math.sqrt, cbrt: Math.cbrt, square: (x) => x * x,
  reciprocal: (x) => 1 / x, sin: Math.sin, cos: Math.cos, tan: Math.tan, arcsin: Math.asin, arccos: Math.acos,
  arctan: Math.atan, sinh: Math.sinh, cosh: Math.cosh, tanh: Math.tanh, arcsinh: Math.asinh, sign: Math.sign,
  floor: Math.floor, ceil: Math.ceil, rint, trunc: Math.trunc, isnan: truth(Number.isNaN), isfinite: truth(Number.isFinite),
  isinf: truth((x) => Math.abs(x) === Infinity), signbit: truth((x) => x < 0 || Object.is(x, -0)),
  logical_not: truth((x) => x === 0), add: (x, y) => x + y, subtract: (x, y) => x - y, multiply: (x, y) => x * y,
  divide: (x, y) => x / y, power: (x, y) => x ** y, maximum: (x, y) => Math.max(x, y), minimum: (x, y) => Math.min(x, y),
  logaddexp: (x, y) => (x === y ? x + Math.LN2 : Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)))),
  hypot: (x, y) => Math.hypot(x, y), remainder: (x, y) => x - y * Math.floor(x / y), floor_divide: (x, y) => Math.floor(x / y),
  less: truth((x, y) => x < y), less_equal: truth((x, y) => x <= y), greater: truth((x, y) => x > y),
  greater_equal: truth((x, y) => x >= y), equal: truth((x, y) => x === y), not_equal: truth((x, y) => x !== y),
  logical_and: truth((x, y) => x !== 0 && y !== 0), logical_or: truth((x, y) => x !== 0 || y !== 0),
  logical_xor: truth((x, y) => (x !== 0) !== (y !== 0)),
};
/** Those that a gradient has in their place: a product with 0 is 0, whatever the other number is. */
const OF_GRADIENTS = { multiply: (x, y) => (x === 0 || y === 0 ? 0 : x * y), divide: (x, y) => (x === 0 ? 0 : x / y) };
/** The functions of all numbers along axes. */
const REDUCTIONS = {
  mean: (row) => row.reduce((total, x) => total + x, 0) / row.length, max: largest, min: least,
  any: (row) => Number(row.some((x) => x !== 0)), all: (row) => Number(row.every((x) => x !== 0)),
};
const OF_PLACES = { argmax: firstOf(largest), argmin: firstOf(least) };
/** The functions along an axis that keep its length. */
const ALONG = {
  cumsum: (row) => { let total = 0; return row.map((x) => (total += x)); },
  running_max: (row) => { let found = -Infinity; return row.map((x) => (found = Math.max(found, x))); },
  argsort: (row) => Float64Array.from(row.keys()).sort((a, b) => row[a] - row[b] || Number.isNaN(row[a]) - Number.isNaN(row[b]) || a - b),
};

/** The instructions, by name, of an array and what it is made of: those of each kind. */
const GIVEN = {
  argument: ([name], { inputs }) => inputs[name],
  option: ([name], { options }) => scalar(options[name]),
  number: ([x]) => scalar(Number(x)),
  constant: ([shape, data]) => makeArray(shape, Float64Array.from(data, Number)),
  length: ([x, axis], { arrayOf }) => scalar(arrayOf(x).shape.at(axis)),
  count: ([x], { numberOf }) => makeArray([numberOf(x)], Float64Array.from({ length: numberOf(x) }, (_, at) => at)),
  places: ([x], { arrayOf }) => numbered(arrayOf(x)),
};
const COMPUTED = {
  matmul: ([x, y], { arrayOf, isGradient }) => (isGradient ? productWithoutZeros : matrixProduct)(arrayOf(x), arrayOf(y)),
  where: (operands, { arrayOf }) => chosen(...operands.map(arrayOf)),
  sum: ([x, axes, isKept], { arrayOf }) => (isKept ? sumsOver(arrayOf(x), ...axes) : withoutAxes(sumsOver(arrayOf(x), ...axes), ...axes)),
  scatter([x, places, like], { arrayOf }) {
    const [array, at, result] = [arrayOf(x), arrayOf(places), makeArray(arrayOf(like).shape)];
    offsetsIn(array, at.shape).forEach((offset, place) => { if (at.data[place] >= 0) result.data[at.data[place]] += array.data[offset]; });
    return result;
  },
};

/** An array of a number for all numbers along some axes. */
function reduced(compute, array, axes, isKept) {
  const own = axes.map((axis) => axis + array.shape.length);
  const shape = array.shape.flatMap((length, axis) => (!own.includes(axis) ? [length] : isKept ? [1] : []));
  return makeArray(shape, mapRows(alongAxes(array, axes), 1, (row) => [compute(row)]).data);
}

function chosen(condition, one, other) {
  const result = makeArray(broadcastShape(broadcastShape(condition.shape, one.shape), other.shape));
  const [conditions, ones, others] = [condition, one, other].map((array) => offsetsIn(array, result.shape));
  for (let at = 0; at < result.data.length; at++) {
    result.data[at] = condition.data[conditions[at]] !== 0 ? one.data[ones[at]] : other.data[others[at]];
  }
  return result;
}

/** The result of an instruction; `given` has the inputs, the options, and the arrays of the instructions before it. */
function computed([name, ...operands], given) {
  const compute = GIVEN[name] ?? COMPUTED[name];
  if (compute !== undefined) return compute(operands, given);
  if (name in MOVES) {
    const { of, move } = MOVES[name](operands, given.numberOf, given.arrayOf);
    return move(of.map(given.arrayOf));
  }
  const [x, axes] = [given.arrayOf(operands[0]), operands[1]];
  if (name in REDUCTIONS) return reduced(REDUCTIONS[name], x, axes, operands[2]);
  if (name in OF_PLACES) return reduced(OF_PLACES[name], x, [axes], false);
  if (name in ALONG) {
    const turned = exchangedAxes(x, axes, -1);
    return exchangedAxes(mapRows(turned, turned.shape.at(-1), ALONG[name]), axes, -1);
  }
  const own = (given.isGradient ? OF_GRADIENTS[name] : undefined) ?? ELEMENTWISE[name];
  return operands.length === 1 ? mapNumbers(x, own) : mapPairs(x, given.arrayOf(axes), own);
}

/** Everything that a program computes: `arrays` by the numbers of instructions; the same is computed once. */
function run(program, inputs, options) {
  const last = RUNS.get(program);
  const isSame = last !== undefined && last.options === options && Object.keys(inputs).every((name) => last.inputs[name] === inputs[name]);
  if (isSame) return last.found;
  const arrays = [];
  const given = { inputs, options, isGradient: program.is_gradient, arrayOf: (at) => arrays[at], numberOf: (at) => arrays[at].data[0] };
  for (const step of program.steps) arrays.push(computed(step, given));
  const found = { program, arrays, numberOf: given.numberOf, arrayOf: given.arrayOf, moved: new Map() };
  RUNS.set(program, { inputs, options, found });
  return found;
}
const RUNS = new WeakMap();

/** The definition of the function of a node that has a program, as `defineFunction` gets one. */
export function programDefinition(program) {
  if (!DEFINITIONS.has(program)) {
    const at = (result) => ({
      work: (cell) => linesOfProgram(run(program, cell.inputs(), cell.options), result, cell),
      sources: (cell) => sourcesOfProgram(run(program, cell.inputs(), cell.options), result, cell),
    });
    const inner = Object.fromEntries(Object.entries(program.taps).map(([tap, place]) => [tap, { ...at(place), reads: Object.keys(program.taps) }]));
    const compute = (inputs, options, tap) => {
      const { arrays } = run(program, inputs, options);
      for (const [name, place] of Object.entries(program.taps)) tap(name, arrays[place]);
      return arrays[program.result];
    };
    DEFINITIONS.set(program, { compute, inner, isDistribution: program.is_distribution, ...at(program.result) });
  }
  return DEFINITIONS.get(program);
}
const DEFINITIONS = new WeakMap();
readProgramsBy(programDefinition);
