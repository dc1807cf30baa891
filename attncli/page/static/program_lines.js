/* The lines of a cell of a program, the terms that it is made of, and the cells that these are read from. */

import { offsetsIn } from "./arrays.js";
import { alongAxes, MOVES, numbered } from "./program_moves.js";
import {
  absoluteOf, arctanOf, cosOf, cubeRootOf, differenceOf, expOf, floorOf, lnOf, maximumOf, minimumOf, negativeOf, numberTerm,
  parameterTerm, powerOf, productOf, quotientOf, remainderOf, rootOf, sinOf, sumOf, tanhOf,
} from "./terms.js";
import { strides } from "./values.js";

const MAX_OWN_CELLS = 2; // of an array whose numbers have lines of their own
const MAX_LINES = 12; // of numbers on the way
const MAX_INLINE = 2; // terms of a sum that stands in brackets among others

const [one, two] = [numberTerm(1), numberTerm(2)];
const ln1p = (x) => lnOf(sumOf([one, x]));
const half = (combine) => (x) => quotientOf(combine([expOf(x), expOf(negativeOf(x))]), two);

/** What a person writes for a function of terms; numbers that change nothing are left out. */
const TERMS = {
  negative: negativeOf, absolute: absoluteOf, exp: expOf, log: lnOf, log1p: ln1p, sqrt: rootOf, tanh: tanhOf, sin: sinOf,
  cos: cosOf, exp2: (x) => powerOf(two, x), expm1: (x) => differenceOf(expOf(x), one),
  log2: (x) => quotientOf(lnOf(x), lnOf(two)), log10: (x) => quotientOf(lnOf(x), lnOf(numberTerm(10))),
  cbrt: cubeRootOf, square: (x) => powerOf(x, two), reciprocal: (x) => quotientOf(one, x),
  tan: (x) => quotientOf(sinOf(x), cosOf(x)), arctan: arctanOf,
  arcsin: (x) => arctanOf(quotientOf(x, rootOf(differenceOf(one, powerOf(x, two))))),
  arcsinh: (x) => lnOf(sumOf([x, rootOf(sumOf([powerOf(x, two), one]))])),
  sinh: half(([x, y]) => differenceOf(x, y)), cosh: half(sumOf),
  add: (x, y) => (is(x, 0) ? y : is(y, 0) ? x : sumOf([x, y])),
  subtract: (x, y) => (is(y, 0) ? x : differenceOf(x, y)),
  multiply: (x, y) => (is(x, 1) ? y : is(y, 1) ? x : productOf(x, y)),
  divide: (x, y) => (is(y, 1) ? x : quotientOf(x, y)),
  power: (x, y) => (is(y, 1) ? x : is(y, 0.5) ? rootOf(x) : powerOf(x, y)),
  maximum: (x, y) => maximumOf(x, y), minimum: (x, y) => minimumOf(x, y),
  logaddexp: (x, y) => lnOf(sumOf([expOf(x), expOf(y)])), hypot: (x, y) => rootOf(sumOf([powerOf(x, two), powerOf(y, two)])),
  floor: floorOf, remainder: remainderOf,
};
const among = (write) => (terms) => (terms.length > 1 ? write(...terms) : terms[0]);
const SUMS = {
  sum: sumOf, mean: (terms) => quotientOf(sumOf(terms), numberTerm(terms.length)), max: among(maximumOf), min: among(minimumOf),
  cumsum: sumOf, running_max: among(maximumOf), matmul: sumOf, scatter: sumOf,
};
const SIMPLE = new Set(["negative", "add", "subtract", "multiply", "absolute", "maximum", "minimum", "where"]);
const SIGNS = { less: "<", less_equal: "≤", greater: ">", greater_equal: "≥", equal: "=", not_equal: "≠" };
const OPPOSITE = { less: "≥", less_equal: ">", greater: "≤", greater_equal: "<", equal: "≠", not_equal: "=" };
const JOINED = new Set(["logical_and", "logical_or", "logical_not"]);
const DECIDING = { logical_and: false, logical_or: true }; // what one part alone makes of the whole
const NOTHING_READ = new Set(["argument", "option", "number", "constant", "length", "count", "places"]);

/** Whether a term is a number that is written in the function, and has a value. */
function is(term, value) {
  return term.constant === value;
}

/** The position on each axis of a place in the order of rows. */
function indexAt(shape, place) {
  return strides(shape).map((step, axis) => Math.floor(place / step) % shape[axis]);
}

/** The place of an operand that belongs to one of what is computed from it number by number. */
function placeAtSame(shape, result, place) {
  const index = indexAt(result, place).slice(result.length - shape.length);
  const steps = strides(shape);
  return index.reduce((sum, at, axis) => sum + (shape[axis] === 1 ? 0 : at) * steps[axis], 0);
}

/** Of the arrays that an instruction moves the places of its numbers, counted through them from 1; what is none is 0. */
function movedPlaces(found, at) {
  if (!found.moved.has(at)) {
    const [name, ...operands] = found.program.steps[at];
    const { of, move } = MOVES[name](operands, found.numberOf, found.arrayOf);
    let first = 1;
    const starts = of.map((source) => { const start = first; first += found.arrayOf(source).data.length; return start; });
    found.moved.set(at, { of, starts, places: move(of.map((source, part) => numbered(found.arrayOf(source), starts[part]))).data });
  }
  return found.moved.get(at);
}

/** What the number of an instruction at a place is made of: [[instruction, places], …]. */
function reads(found, at, place) {
  const [name, ...operands] = found.program.steps[at];
  const shapeOf = (source) => found.arrayOf(source).shape;
  const { shape } = found.arrayOf(at);
  if (NOTHING_READ.has(name)) return [];
  if (name in MOVES) {
    const { of, starts, places } = movedPlaces(found, at);
    const own = starts.findLastIndex((start) => start <= places[place]);
    return own < 0 ? [] : [[of[own], [places[place] - starts[own]]]];
  }
  if (name === "where") {
    const source = found.arrayOf(operands[0]).data[placeAtSame(shapeOf(operands[0]), shape, place)] !== 0 ? operands[1] : operands[2];
    return [operands[0], source].map((one) => [one, [placeAtSame(shapeOf(one), shape, place)]]);
  }
  if (name === "matmul") {
    const [row, column] = indexAt(shape, place).slice(-2);
    const leading = shape.slice(0, -2);
    const table = Math.floor(place / (shape.at(-1) * shape.at(-2)));
    const [left, right] = operands.map((source) => {
      const own = shapeOf(source);
      const first = leading.length === 0 ? 0 : placeAtSame(own.slice(0, -2), leading, table);
      return { start: first * own.at(-1) * own.at(-2), columns: own.at(-1) };
    });
    const inner = [...Array(left.columns).keys()];
    return [
      [operands[0], inner.map((k) => left.start + row * left.columns + k)],
      [operands[1], inner.map((k) => right.start + k * right.columns + column)],
    ];
  }
  if (name === "scatter") {
    const places = found.arrayOf(operands[1]);
    const from = offsetsIn(found.arrayOf(operands[0]), places.shape);
    return [[operands[0], [...places.data.keys()].filter((one) => places.data[one] === place).map((one) => from[one])]];
  }
  if (Array.isArray(operands[1]) || ["argmax", "argmin"].includes(name)) return [[operands[0], rowOf(found, operands, place)]];
  if (["cumsum", "running_max", "argsort"].includes(name)) {
    const own = shapeOf(operands[0]);
    const axis = own.length + operands[1];
    const [index, steps] = [indexAt(own, place), strides(own)];
    const end = name === "argsort" ? own[axis] : index[axis] + 1;
    return [[operands[0], Array.from({ length: end }, (_, position) => place + (position - index[axis]) * steps[axis])]];
  }
  return operands.map((source) => [source, [placeAtSame(shapeOf(source), shape, place)]]);
}

/** The places of the numbers along the axes of a reduction. */
function rowOf(found, [source, axes], place) {
  const rows = alongAxes(numbered(found.arrayOf(source)), Array.isArray(axes) ? axes : [axes]);
  const count = rows.shape.at(-1);
  return [...rows.data.subarray(place * count, (place + 1) * count)];
}

/** The roles whose cells instructions have: arguments, and the inner quantities of which `result` is none. */
function rolesOf({ program }, result, cell) {
  const roles = new Map();
  program.steps.forEach(([name, role], at) => { if (name === "argument") roles.set(at, role); });
  for (const [tap, at] of Object.entries(program.taps)) if (at !== result && cell.has(tap)) roles.set(at, tap);
  return roles;
}

/** Whether it is an inner quantity of which one number is read, whose own line stands before. */
function isOpened({ program }, at, count) {
  return count === 1 && program.steps[at][0] !== "argument";
}

/** The cells that a cell is made from: {step, role, index}, null where every position on an axis is read. */
export function sourcesOfProgram(found, result, cell) {
  const roles = rolesOf(found, result, cell);
  const read = new Map([[result, new Set([cell.place])]]);
  for (let at = result; at >= 0; at--) {
    if (!read.has(at) || (roles.has(at) && !isOpened(found, at, read.get(at).size))) continue;
    for (const place of read.get(at)) {
      for (const [source, places] of reads(found, at, place)) {
        if (!read.has(source)) read.set(source, new Set());
        places.forEach((one) => read.get(source).add(one));
      }
    }
  }
  return [...roles].filter(([at]) => read.has(at)).flatMap(([at, role]) =>
    templatesOf(found.arrayOf(at).shape, [...read.get(at)]).map((index) => ({ step: cell.stepOf(role), role, index })),
  );
}

/** Places as templates, in which null stands for every position: one where they are all positions of some axes. */
function templatesOf(shape, places) {
  const indices = places.map((place) => indexAt(shape, place));
  const sets = shape.map((_, axis) => [...new Set(indices.map((index) => index[axis]))]);
  if (sets.reduce((size, own) => size * own.length, 1) !== places.length) return indices;
  const choices = sets.map((own, axis) => (own.length > 1 && own.length === shape[axis] ? [null] : own));
  return choices.reduce((before, own) => before.flatMap((index) => own.map((at) => [...index, at])), [[]]);
}

/** The lines of a cell: of the numbers on the way that have lines of their own, and its own last. */
export function linesOfProgram(found, result, cell) {
  const { program, arrayOf } = found;
  const roles = rolesOf(found, result, cell);
  const opened = new Set();
  const isLeaf = (at) => (roles.has(at) && !opened.has(at)) || NOTHING_READ.has(program.steps[at][0]);
  const [lines, conditions, own, numbers] = [[], [], new Map(), new Map()];
  const { cells, uses } = demand();
  const reading = readingSteps();
  const isVerdict = program.is_truth && result === program.result;
  let leftOut = 0;

  /** How many numbers of each instruction are read, and by how many others. */
  function demand() {
    const [needed, counts] = [new Map([[result, new Set([cell.place])]]), new Map()];
    for (let at = result; at >= 0; at--) {
      if (!needed.has(at)) continue;
      if (at !== result && roles.has(at) && isOpened(found, at, needed.get(at).size)) opened.add(at);
      if (isLeaf(at)) continue;
      const sources = new Map();
      for (const place of needed.get(at)) {
        reads(found, at, place).forEach(([source, places], operand) => {
          if (!needed.has(source)) needed.set(source, new Set());
          places.forEach((one_) => needed.get(source).add(one_));
          sources.set(`${operand} ${source}`, source);
        });
      }
      for (const source of sources.values()) counts.set(source, (counts.get(source) ?? 0) + 1);
    }
    return { cells: new Map([...needed].map(([at, places]) => [at, places.size])), uses: counts };
  }

  /** The instructions that a role is behind, and not only lengths and numbers. */
  function readingSteps() {
    const some = new Set(roles.keys());
    program.steps.forEach((_step, at) => { if (arrayOf(at).data.length > 0 && reads(found, at, 0).some(([source]) => some.has(source))) some.add(at); });
    return some;
  }

  /** A number as it is: of a role with a link to its cell. */
  function plain(at, place) {
    if (roles.has(at) && at !== result) return { ...cell.terms(roles.get(at), [indexAt(arrayOf(at).shape, place)])[0], isPlain: true };
    const value = arrayOf(at).data[place];
    const isWritten = ["number", "option"].includes(program.steps[at][0]);
    return isWritten ? { ...parameterTerm(value), constant: value, isPlain: true } : { ...numberTerm(value), isPlain: true };
  }

  const countOfTerms = (at) => reads(found, at, 0).reduce((most, [, places]) => Math.max(most, places.length), 0);

  /** Whether the numbers of an instruction have lines of their own: sums inside others, and what has a name or recurs. */
  function hasOwnLine(at) {
    const [name] = program.steps[at];
    if (!reading.has(at) || name in MOVES || !(name in TERMS || name in SUMS || name === "where")) return false;
    if (cells.get(at) > MAX_OWN_CELLS) return name in SUMS && countOfTerms(at) > MAX_INLINE;
    if (name in SUMS && countOfTerms(at) > 1) return true;
    return !SIMPLE.has(name) && (at in program.names || uses.get(at) > 1);
  }

  function term(at, place, isRoot = false) {
    if (isLeaf(at)) return plain(at, place);
    if (opened.has(at)) return openedTerm(at, place);
    if (isRoot || !hasOwnLine(at)) return written(at, place, isRoot);
    const key = `${at} ${place}`;
    if (!own.has(key)) own.set(key, withLine(at, place));
    return own.get(key);
  }

  /** An inner quantity of which one number is read, after its own line. */
  function openedTerm(at, place) {
    const known = plain(at, place);
    if (!own.has(at)) {
      own.set(at, known);
      const made = written(at, place);
      if (!made.isPlain) lines.push(cell.equation(made, productName(at, place), known.value(null)));
    }
    return known;
  }

  function withLine(at, place) {
    if (lines.length >= MAX_LINES || cells.get(at) > MAX_LINES) {
      leftOut += 1;
      return plain(at, place);
    }
    const made = written(at, place);
    if (made.isPlain) return made;
    const computed = cell.computed(nameOf(at, place), made);
    lines.push(computed.line);
    return computed;
  }

  function nameOf(at, place) {
    const name = program.names[at];
    if (name !== undefined) return cells.get(at) === 1 ? name : `${name}[${indexAt(arrayOf(at).shape, place).join(", ")}]`;
    const [kind] = program.steps[at];
    const sign = ["max", "min", "mean"].includes(kind) ? kind : kind in SUMS ? "Σ" : "x";
    const count = (numbers.get(sign) ?? 0) + 1;
    numbers.set(sign, count);
    return count === 1 ? sign : sign + String(count).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);
  }

  function written(at, place, isRoot = false) {
    const [name, ...operands] = program.steps[at];
    const read = reads(found, at, place);
    if (name === "where") {
      if (isRoot) conditions.push(conditionLine(operands[0], read[0][1][0]));
      return term(read[1][0], read[1][1][0], isRoot);
    }
    if (name in MOVES) return read.length === 0 ? plain(at, place) : term(read[0][0], read[0][1][0], isRoot);
    const isFinite = read.every(([source, places]) => places.every((one_) => Math.abs(arrayOf(source).data[one_]) !== Infinity));
    if (name in SUMS) {
      const parts = read.map(([source, places]) => places.map((one_) => term(source, one_)));
      if (name !== "matmul") return SUMS[name](parts[0]);
      return sumOf(parts[0].map((x, k) => TERMS.multiply(x, parts[1][k])));
    }
    if (!(name in TERMS) || !isFinite) return plain(at, place);
    return TERMS[name](...read.map(([source, places]) => term(source, places[0], isRoot && name === "negative")));
  }

  /** What makes a truth true or false, as lists of texts and terms, one for each comparison: `2 − 1 ≥ 0`. */
  function conditionsOf(at, place) {
    const [name] = program.steps[at];
    const holdsAt = (one_, position) => arrayOf(one_).data[position] !== 0;
    const holds = holdsAt(at, place);
    const read = isLeaf(at) ? [] : reads(found, at, place);
    if (name in SIGNS) {
      const isSafeguard = !isVerdict && ((name === "equal" && !holds) || (name === "not_equal" && holds));
      if (isSafeguard) return []; // as that a divisor is not 0
      const [left, right] = read.map(([source, places]) => term(source, places[0]));
      return [[left, ` ${holds ? SIGNS[name] : OPPOSITE[name]} `, right]];
    }
    if (!(name in MOVES || JOINED.has(name))) return [];
    const parts = read.map(([source, places]) => [source, places[0]]);
    const deciding = DECIDING[name] === holds ? parts.filter((part) => holdsAt(...part) === holds) : parts;
    return deciding.flatMap((part) => conditionsOf(...part));
  }

  /** The line of a condition; a comparison that stands in it twice is written once. */
  function conditionLine(at, place, ...end) {
    const parts = new Map(conditionsOf(at, place).map((part) => [cell.sentence(...part).map((piece) => piece.text ?? piece).join(""), part]));
    const joined = [...parts.values()].flatMap((part, index) => (index === 0 ? part : [" and ", ...part]));
    return joined.length === 0 && end.length === 0 ? [] : cell.sentence(...joined, ...end);
  }

  if (isVerdict) {
    const line = verdictLine();
    return [...lines, line];
  }
  const made = term(result, cell.place, true);
  const name = made.isPlain ? "" : cell.isNamed ? cell.name : productName(result, cell.place);
  const line = cell.equation(made, name);
  const unchanged = unchangedRole();
  const before = [...lines, ...conditions.filter((line) => line.length > 0)];
  if (leftOut > 0) before.push([`… ${leftOut} ${leftOut === 1 ? "number" : "numbers"} on the way computed alike …`]);
  return [...before, unchanged ?? line];

  /** Why a key is visible or hidden. */
  function verdictLine() {
    const isVisible = arrayOf(result).data[cell.place] !== 0;
    const line = conditionLine(result, cell.place, `: ${isVisible ? "visible" : "hidden"}`);
    return line.length > 1 ? line : [`${isVisible}`, ...line];
  }

  /** `Q(cat)·K(sat)`, of the product of a row of one role and one of another; empty of anything else. */
  function productName(product, row) {
    if (program.steps[product][0] !== "matmul") return "";
    const names = reads(found, product, row).map(([source, [first]]) => {
      let [at, place] = [source, first];
      while (program.steps[at][0] in MOVES && !roles.has(at)) {
        const read = reads(found, at, place);
        if (read.length === 0) return "";
        [[at, [place]]] = read;
      }
      return roles.has(at) ? cell.vectorName(roles.get(at), indexAt(arrayOf(at).shape, place)) : "";
    });
    return names.every((name) => name.endsWith(")")) ? names.join("·") : "";
  }

  /** The line of a number that is moved and not computed; null of another. */
  function unchangedRole() {
    let [at, place] = [result, cell.place];
    while (!isLeaf(at) && !opened.has(at)) {
      const [name] = program.steps[at];
      const read = name in MOVES || name === "where" ? reads(found, at, place) : [];
      if (read.length === 0) return null;
      [at, [place]] = read.at(-1);
    }
    return roles.has(at) ? cell.unchanged(roles.get(at), indexAt(arrayOf(at).shape, place)) : null;
  }
}
