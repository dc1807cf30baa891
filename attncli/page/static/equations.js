/* Equations: `2·2 + 0·(−4) = 4`, where `=` says that the digits that are written give those of the result. */

import { decimalText, makeStyle, paddedText, roundedNumber, unitOf } from "./numerals.js";
import { numberTerm } from "./terms.js";

const MAX_EXTRA_DECIMALS = 2; // of the numbers in a term, beyond those of its result
const CLOSE = 0.01; // of a result: so far from it may a rounded sum be, whose small factors look as in their table
const TIE = 1e-9; // of a unit: results that lie between two roundings are computed to either
const SAME = 1e-14; // relative: written digits are evaluated with numbers of eight bytes
const ADDED_DECIMALS = 25; // of a number that is only added to others

/**
 * The line `name = term = result`: a list of strings and of links {text, step, index}.
 *
 * The numbers in the term have as many decimals as the result, or one or two more, so that what is written is true;
 * where they can't, `≈` says so.
 */
export function equationLine(style, term, result, name = "") {
  const parts = writtenEquation(style, term, result);
  return name === "" ? parts : [`${name} = `, ...parts];
}

/** A number that is no step's own: the line that computes it, and the number itself as a term for other lines. */
export function computedTerm(style, name, term, isAdded = false) {
  const exact = term.value(null);
  const number = isAdded ? Number(exact.toFixed(ADDED_DECIMALS)) : exact;
  const isSmall = !isAdded && number !== 0 && roundedNumber(number, makeStyle(style.decimals)) === 0;
  const own = makeStyle(style.decimals, style.hasExponents || isSmall);
  return { ...numberTerm(number), line: equationLine(own, term, number, name) };
}

function writtenEquation(style, term, result) {
  const finer = (hasExponents) =>
    Array.from({ length: MAX_EXTRA_DECIMALS + 1 }, (_, extra) => makeStyle(style.decimals + extra, hasExponents));
  const styles = finer(style.hasExponents);
  const equal = equalParts(style, styles, term, result);
  if (equal !== null) return equal;
  const rounded = term.value(styles.at(-1));
  const isNear = isClose(style, rounded, result);
  const used = isNear ? styles : finer(true);
  if (!isNear || !agrees(style, rounded, result, 1)) { // the factors of small numbers may be large
    const withExponents = equalParts(style, finer(true), term, result);
    if (withExponents !== null) return withExponents;
  }
  return bothSides(term.text(used.at(-1)), "≈", resultText(style, result, term.value(used.at(-1)), false));
}

/** `term = result` in the first style whose digits give the result; null where none does. */
function equalParts(style, styles, term, result) {
  for (const finer of styles) {
    const value = term.value(finer);
    if (agrees(style, value, result, 0.5)) {
      return bothSides(term.text(finer), "=", resultText(style, result, value, term.isExact(finer)));
    }
  }
  return null;
}

/** Both sides of an equation; one side of one that says nothing: `0 = 0`. */
function bothSides(left, sign, right) {
  const isTheSame = left.length === 1 && (left[0].text ?? left[0]) === right;
  return isTheSame ? left : [...left, ` ${sign} ${right}`];
}

/** Whether a value is that of the result, up to so many units of the last digit. */
function agrees(style, value, result, tolerance) {
  const rounded = roundedNumber(result, style);
  if (!(Number.isFinite(value) && Number.isFinite(rounded))) return Object.is(value, rounded);
  return Math.abs(value - rounded) <= unitOf(result, style) * (tolerance + TIE);
}

/** Whether a value is within a hundredth of the result, or one unit of a result that is written as 0. */
function isClose(style, value, result) {
  if (!(Number.isFinite(value) && Number.isFinite(result))) return false;
  const allowed = roundedNumber(result, style) === 0 ? unitOf(result, style) : CLOSE * Math.abs(result);
  return Math.abs(value - result) <= allowed;
}

/** The result; zeros at its end say that it is rounded, or that the value comes from rounded numbers. */
function resultText(style, result, value, isExact) {
  const isWhole = Math.abs(roundedNumber(value, style) - value) <= SAME * Math.max(1, Math.abs(value));
  const showsAll = isWhole && (isExact || (value === 0 && result === 0));
  return showsAll ? decimalText(roundedNumber(value, style), style) : paddedText(result, style);
}
