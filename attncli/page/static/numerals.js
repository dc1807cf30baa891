/* Numbers as text with so many decimals: 5.7735, 0.0900, 1.2e−07; exact ones without zeros at their end. */

export const MINUS = "−";
const MAX_FIXED = 1e15; // numbers from here on are written with an exponent
const MORE_DIGITS = 20; // so many more digits tell a number from the middle of two roundings

/**
 * How numbers are written: `decimals` is how many digits follow the point, `hasExponents` whether numbers that would
 * have no digit left are written with an exponent, and not as `0.0000`.
 */
export function makeStyle(decimals, hasExponents = false) {
  return { decimals, hasExponents };
}

/** A number in a style, with the minus sign U+2212; one that its decimals write exactly has no zeros at its end. */
export function decimalText(number, style) {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "NaN" : number > 0 ? "∞" : `${MINUS}∞`;
  let mantissa = fixedText(number, style.decimals);
  let suffix = "";
  if (isWrittenWithExponent(number, style)) {
    const [digits, exponent] = halfEven((count) => Math.abs(number).toExponential(count), style.decimals).split("e");
    mantissa = number < 0 ? `-${digits}` : digits;
    suffix = `e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return ((Number(short + suffix) === number ? short : mantissa) + suffix).replaceAll("-", MINUS);
}

/** Whether a finite number is written as `1.2e−07`. */
function isWrittenWithExponent(number, { decimals, hasExponents }) {
  const size = Math.abs(number);
  return (hasExponents && number !== 0 && size < 10 ** -decimals / 2) || size >= MAX_FIXED;
}

/** A number with all its decimals, also where it is exact. */
export function paddedText(number, style) {
  if (!Number.isFinite(number) || isWrittenWithExponent(number, style)) return decimalText(number, style);
  return fixedText(number, style.decimals).replace("-", MINUS);
}

/** A number with the digits that are written. */
export function roundedNumber(number, style) {
  return Number.isFinite(number) ? Number(decimalText(number, style).replaceAll(MINUS, "-")) : number;
}

/** One unit of the last decimal of a number; 0 of what is not finite. */
export function unitOf(number, style) {
  if (!Number.isFinite(number)) return 0;
  if (!isWrittenWithExponent(number, style)) return 10 ** -style.decimals;
  return 10 ** (Number(number.toExponential(style.decimals).split("e")[1]) - style.decimals);
}

/** A finite number with a fixed count of decimals; one that rounds to 0 has no sign. */
function fixedText(number, decimals) {
  const text = halfEven((count) => Math.abs(number).toFixed(count), decimals);
  return number < 0 && Number(text) !== 0 ? `-${text}` : text;
}

/** The text of a positive number with so many digits; one in the middle of two roundings gets the even digit. */
function halfEven(write, digits) {
  const text = write(digits);
  const [longer, exponent] = write(digits + MORE_DIGITS).split("e");
  const cut = longer.length - MORE_DIGITS;
  const before = longer.slice(0, cut).replace(/\.$/, "");
  const isMiddle = longer.slice(cut) === "5".padEnd(MORE_DIGITS, "0");
  if (!isMiddle || Number(before.at(-1)) % 2 === 1) return text;
  return exponent === undefined ? before : `${before}e${exponent}`;
}

/**
 * The style of the numbers of a table, as the tables of the terminal have it: all have as many decimals as the one that
 * needs most, up to `maxDecimals`; very large and very small numbers have exponents.
 */
export function numberStyle(numbers, maxDecimals) {
  if (needsExponents(numbers, maxDecimals)) return makeStyle(maxDecimals, true);
  let decimals = 0;
  for (let at = 0; at < numbers.length && decimals < maxDecimals; at++) {
    if (Number.isFinite(numbers[at])) decimals = Math.max(decimals, countDecimals(numbers[at], maxDecimals));
  }
  return makeStyle(decimals);
}

/** Whether the numbers of a table are so large or so small that powers of ten are written. */
export function needsExponents(numbers, maxDecimals) {
  let largest = 0;
  for (let at = 0; at < numbers.length; at++) {
    const size = Math.abs(numbers[at]);
    if (size > largest && size < Infinity) largest = size;
  }
  return largest >= 1e9 || (largest > 0 && largest < 10 ** -maxDecimals);
}

/** How many decimals a number needs, up to `maxDecimals`: all of them where fewer do not write it exactly. */
function countDecimals(number, maxDecimals) {
  if (Number.isInteger(number)) return 0;
  const text = fixedText(number, maxDecimals).replace(/\.?0+$/, "");
  return Number(text) === number ? (text.split(".")[1] ?? "").length : maxDecimals;
}

/** A number of a table in the table's style: 0 is `0`, a number that only rounds to 0 is `0.0000`. */
export function numberText(number, style) {
  if (style.hasExponents) return decimalText(number, style);
  if (number === 0) return "0";
  return paddedText(number, style);
}
