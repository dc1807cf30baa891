/* Terms of arithmetic: they write themselves with some digits, and evaluate to what these digits give. */

import { MINUS, decimalText, makeStyle, roundedNumber } from "./numerals.js";

/*
 * A term has `text(style, isFirst)`, the list of its parts, each a string, a link to a cell,
 * or a gap {text} of a long sum, in which a negative
 * number is in brackets where it is not first; `value(style)`, what the written digits give, and without a style the numbers
 * themselves; `isExact(style)`, whether no number in it is rounded; and `binding`, how closely its parts are bound.
 */
const [SUM, PRODUCT, POWER, ATOM] = [0, 1, 2, 3];
const MAX_TERMS = 12; // the longest sum that is written whole
let mostTerms = MAX_TERMS;

/** What a function returns while every sum is written whole. */
export function withWholeSums(write) {
  mostTerms = Infinity;
  try {
    return write();
  } finally {
    mostTerms = MAX_TERMS;
  }
}

/** A number; with `link` {step, index} it leads to the cell that it comes from. */
export function numberTerm(number, link = null, isParameter = false) {
  const own = (style) => (isParameter ? makeStyle(style.decimals, true) : style);
  return {
    binding: ATOM,
    text(style, isFirst = true) {
      const text = decimalText(number, own(style));
      const part = link === null ? text : { text, ...link };
      return isFirst || !text.startsWith(MINUS) ? [part] : ["(", part, ")"];
    },
    value: (style) => (style === null ? number : roundedNumber(number, own(style))),
    isExact: (style) => roundedNumber(number, own(style)) === number,
  };
}

/** A number that the user gave an operator, in no table: a small one is written with its exponent. */
export function parameterTerm(number) {
  return numberTerm(number, null, true);
}

/** Terms that are put together: how that is written, and how it is computed. */
function operation(operands, write, compute, binding = ATOM) {
  return {
    binding,
    text: (style, isFirst = true) => write(operands, style, isFirst),
    value: (style) => compute(...operands.map((operand) => operand.value(style))),
    isExact: (style) => operands.every((operand) => operand.isExact(style)),
  };
}

/** The parts of a term, in brackets where it is bound less closely. */
function termPart(term, style, binding, isFirst = false) {
  return term.binding < binding ? ["(", ...term.text(style), ")"] : term.text(style, isFirst);
}

/** `a + b + c`; one term alone stays as it is, none is 0. Of a long sum the largest terms and that at `own` are written. */
export function sumOf(terms, own = null) {
  if (terms.length < 2) return terms[0] ?? numberTerm(0);
  const write = (operands, style, isFirst) => writeSum(operands, style, isFirst, own);
  return operation(terms, write, (...values) => values.reduce((sum, value) => sum + value, 0), SUM);
}

function writeSum(terms, style, isFirst, own) {
  const write = (shown, inStyle) => shown.map((term, at) => termPart(term, inStyle, SUM, isFirst && at === 0));
  if (terms.length <= mostTerms) return separated(write(terms, style), " + ");
  const { shown, gaps } = largestTerms(terms, own);
  return separated([...write(shown, { ...style, hasExponents: true }), ...gaps.map((text) => [{ text }])], " + ");
}

/** The terms of a long sum that are written, and what is said of the others; what hidden keys add says nothing. */
function largestTerms(terms, own) {
  const sizes = terms.map((term) => Math.abs(term.value(null))).map((size) => (Number.isNaN(size) ? Infinity : size));
  const isOwn = (at) => at === own;
  const order = [...sizes.keys()].sort((a, b) => isOwn(b) - isOwn(a) || (sizes[b] === sizes[a] ? a - b : sizes[b] - sizes[a])).slice(0, MAX_TERMS);
  const isZero = sizes.some((size) => size > 0) ? (at) => sizes[at] === 0 : () => false;
  const shown = order.filter((at) => !isZero(at) || isOwn(at)).sort((a, b) => a - b);
  const zeros = [...sizes.keys()].filter((at) => isZero(at) && !shown.includes(at)).length;
  const counts = [["more", terms.length - shown.length - zeros], ["zeros", zeros]];
  return { shown: shown.map((at) => terms[at]), gaps: counts.filter(([, count]) => count > 0).map(([what, count]) => `… ${count} ${what} …`) };
}

/** The first and last of some lists of parts, around a gap that has the count of those left out. */
function elided(parts) {
  if (parts.length <= MAX_TERMS) return parts;
  const half = MAX_TERMS / 2;
  return [...parts.slice(0, half), [`… ${parts.length - MAX_TERMS} more …`], ...parts.slice(-half)];
}

/** Lists of parts as one, with a text between each two. */
function separated(parts, separator) {
  return parts.flatMap((part, at) => (at === 0 ? part : [separator, ...part]));
}

/** `a·x + b·y + c·z`. */
export function productsOf(lefts, rights) {
  return sumOf(lefts.map((left, at) => productOf(left, rights[at])));
}

/** `a·b`. */
export function productOf(left, right) {
  const write = (operands, style, isFirst) => [
    ...termPart(operands[0], style, PRODUCT, isFirst),
    "·",
    ...termPart(operands[1], style, PRODUCT),
  ];
  return operation([left, right], write, (a, b) => a * b, PRODUCT);
}

/** `a/b`. */
export function quotientOf(left, right) {
  const write = (operands, style, isFirst) => [
    ...termPart(operands[0], style, PRODUCT, isFirst),
    "/",
    ...termPart(operands[1], style, POWER),
  ];
  return operation([left, right], write, (a, b) => a / b, PRODUCT);
}

/** `a − b`. */
export function differenceOf(left, right) {
  const write = (operands, style, isFirst) => [
    ...operands[0].text(style, isFirst),
    ` ${MINUS} `,
    ...termPart(operands[1], style, PRODUCT),
  ];
  return operation([left, right], write, (a, b) => a - b, SUM);
}

/** `−a`. */
export function negativeOf(term) {
  const write = ([operand], style, isFirst) => {
    const parts = [MINUS, ...termPart(operand, style, PRODUCT)];
    return isFirst ? parts : ["(", ...parts, ")"];
  };
  return operation([term], write, (a) => -a, SUM);
}

/** `a^b`, and `a²`. */
export function powerOf(base, exponent) {
  const write = (operands, style) => {
    const parts = operands[1].text(style);
    const text = parts.map((part) => part.text ?? part).join("");
    const isBare = operands[1].binding === ATOM && !text.startsWith(MINUS);
    const mark = text === "2" ? ["²"] : isBare ? ["^", ...parts] : ["^(", ...parts, ")"];
    return [...termPart(operands[0], style, ATOM), ...mark];
  };
  return operation([base, exponent], write, (a, b) => a ** b, POWER);
}

/** `√a`. */
export function rootOf(term) {
  return operation([term], ([operand], style) => ["√", ...termPart(operand, style, ATOM)], Math.sqrt);
}

/** `∛a`. */
export function cubeRootOf(term) {
  return operation([term], ([operand], style) => ["∛", ...termPart(operand, style, ATOM)], Math.cbrt);
}

/** `⌊a⌋`. */
export function floorOf(term) {
  return operation([term], ([operand], style) => ["⌊", ...operand.text(style), "⌋"], Math.floor);
}

/** `a mod b`. */
export function remainderOf(left, right) {
  const write = (operands, style, isFirst) => [
    ...termPart(operands[0], style, PRODUCT, isFirst),
    " mod ",
    ...termPart(operands[1], style, POWER),
  ];
  return operation([left, right], write, (a, b) => a - b * Math.floor(a / b), PRODUCT);
}

/** `|a|`. */
export function absoluteOf(term) {
  return operation([term], ([operand], style) => ["|", ...operand.text(style), "|"], Math.abs);
}

/** A function by its name: `exp(a)`, `max(a, b)`. */
function functionTerm(name, compute, ...terms) {
  const write = (operands, style) => [
    `${name}(`,
    ...separated(elided(operands.map((operand) => operand.text(style))), ", "),
    ")",
  ];
  return operation(terms, write, compute);
}

/** `exp(a)`. */
export const expOf = (term) => functionTerm("exp", Math.exp, term);

/** `ln(a)`. */
export const lnOf = (term) => functionTerm("ln", Math.log, term);

/** `tanh(a)`. */
export const tanhOf = (term) => functionTerm("tanh", Math.tanh, term);

/** `arctan(a)`. */
export const arctanOf = (term) => functionTerm("arctan", Math.atan, term);

/** `cos(a)`, of an angle in radians. */
export const cosOf = (term) => functionTerm("cos", Math.cos, term);

/** `sin(a)`, of an angle in radians. */
export const sinOf = (term) => functionTerm("sin", Math.sin, term);

/** `max(a, b, c)`. */
export const maximumOf = (...terms) => functionTerm("max", Math.max, ...terms);

/** `min(a, b, c)`. */
export const minimumOf = (...terms) => functionTerm("min", Math.min, ...terms);
