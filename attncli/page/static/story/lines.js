/* Lines of arithmetic as the story shows them: a sum grows addend by addend, any other line stands as it is. */

import { make } from "../elements.js";
import { decimalText, makeStyle } from "../numerals.js";
import { textOfLine } from "./stops.js";
import { numberAt } from "../values.js";

const MOST_ADDENDS = 10; // of a sum that are written one by one: the largest
const MANY = 4; // addends of which those that are 0 are said together
const LONG_LINE = 60; // characters of a line that is written smaller
const WIDE_ADDEND = 17; // characters of an addend that is written smaller

/**
 * Lines {line, whole} as elements; the addends of the first sum are elements of the class `story-term`, which say in
 * `data-term` which one they are. `cells` has the index of the cell that the story goes through in each step, by name: an
 * addend that has one of these is marked.
 */
export function lineElements(state, lines, kinds, cells) {
  const numberOf = ({ step, index }) => numberAt(state.values.get(step), index);
  const sums = lines.map(({ whole }) => sumOfLine(whole, numberOf));
  const first = sums.findIndex((sum) => sum !== null);
  return lines.map(({ line }, at) => (at === first
    ? sumElement(sums[at], kinds, state.page.decimals, cells)
    : lineElement(withoutZeros(line), kinds)));
}

function lineElement(parts, kinds) {
  return make("p", { class: `story-line${textOfLine(parts).length > LONG_LINE ? " is-long" : ""}` }, ...partsOf(parts, kinds));
}

/** A sum of many numbers without those that are written as `0`, which a last part counts. */
function withoutZeros(parts) {
  const isZero = (at) => parts[at]?.text === "0" && parts[at - 1] === " + ";
  const zeros = parts.filter((_, at) => isZero(at)).length;
  if (zeros < 2) return parts;
  const kept = parts.filter((_, at) => !isZero(at) && !(parts[at] === " + " && isZero(at + 1)));
  return [...kept.slice(0, -1), ` + ${zeros} zeros`, kept.at(-1)];
}

function partsOf(parts, kinds) {
  return parts.map((part) => (part === "·" ? " · " : part.step === undefined ? part.text ?? part : make("span", { class: `story-operand ${kinds.get(part.step) ?? ""}` }, part.text)));
}

/**
 * A line `name = a·b + c·d = result` as {name, addends, result, isExact}; null where it is not a sum of several addends.
 *
 * An addend is {parts, value, factors}; the value of one that stands for several, as `… 4 more …`, is null.
 */
function sumOfLine(parts, numberOf) {
  const last = /^ ([=≈]) (.*)$/.exec(parts.at(-1));
  if (last === null) return null;
  const hasName = typeof parts[0] === "string" && parts[0].endsWith(" = ");
  const addends = addendsOf(parts.slice(hasName ? 1 : 0, -1));
  if (addends.length < 2) return null;
  const valued = addends.map((own) => ({ parts: own, ...valueOf(own, numberOf) }));
  if (valued.every(({ value }) => value === null)) return null;
  return { name: hasName ? parts[0].slice(0, -3) : "", addends: withSums(valued), sign: last[1], result: last[2] };
}

/** The addends of a sum: what is between the signs that no bracket encloses. */
function addendsOf(parts) {
  const addends = [[]];
  let depth = 0;
  for (const part of parts) {
    if (part === " + " && depth === 0) addends.push([]);
    else addends.at(-1).push(part);
    for (const letter of typeof part === "string" ? part : "") depth += { "(": 1, ")": -1 }[letter] ?? 0;
  }
  return addends;
}

/** The value of an addend, where it is a number or a product of two, and how many numbers that are. */
function valueOf(parts, numberOf) {
  const numbers = parts.filter((part) => part.step !== undefined).map(numberOf);
  const between = parts.filter((part) => typeof part === "string").join("").replaceAll(/[()]/g, "");
  if (numbers.length === 1 && between === "") return { value: numbers[0], factors: 1 };
  if (numbers.length === 2 && between === "·") return { value: numbers[0] * numbers[1], factors: 2 };
  return { value: null, factors: 0 };
}

/** The addends that are written, the largest, and last the others as one; each with the sum so far. */
function withSums(addends) {
  const sizes = addends.map(({ value }) => (value === null ? Infinity : Math.abs(value)));
  const order = [...addends.keys()].sort((a, b) => sizes[b] - sizes[a] || a - b);
  const isShown = (at) => addends.length <= MANY || (sizes[at] > 0 && order.indexOf(at) < MOST_ADDENDS);
  const shown = addends.map((addend, at) => ({ ...addend, at })).filter(({ at }) => isShown(at));
  const others = addends.filter((_, at) => !isShown(at));
  const total = others.reduce((sum, { value }) => sum + value, 0);
  const isZero = others.every(({ value }) => value === 0);
  const noun = addends[0].factors === 2 ? "products" : "numbers";
  const rest = { parts: [isZero ? `${others.length} ${noun === "products" ? "products: 0" : "zeros"}` : `${others.length} smaller ${noun}`], value: total, factors: 0, at: null };
  let sum = 0;
  return [...shown, ...(others.length > 0 ? [rest] : [])].map((addend) => {
    sum = addend.value === null || sum === null ? null : sum + addend.value;
    return { ...addend, sum };
  });
}

function sumElement({ name, addends, sign, result }, kinds, decimals, cells) {
  const isOwn = (parts) => parts.some(({ step, index }) => index !== undefined && cells.get(step)?.join() === index.join());
  const style = makeStyle(decimals);
  const hasProducts = addends.some(({ factors }) => factors === 2);
  const isWide = addends.some(({ parts }) => textOfLine(parts).length > WIDE_ADDEND);
  const rows = addends.map(({ parts, value, at, sum }) => make(
    "div", { class: `story-term${isOwn(parts) ? " is-own" : ""}`, "data-term": at }, make("span", { class: "story-addend" }, ...partsOf(parts, kinds)),
    ...(hasProducts ? [make("span", { class: "story-product" }, value === null ? "" : decimalText(value, style))] : []),
    make("span", { class: "story-sum-so-far" }, sum === null ? "" : decimalText(sum, style)),
  ));
  const head = make(
    "div", { class: "story-sum-head" }, make("span", {}, name),
    ...(hasProducts ? [make("span", {}, "product")] : []), make("span", {}, "sum"),
  );
  const foot = make("p", { class: "story-result" }, `${sign} ${result}`);
  return make("div", { class: `story-sum${hasProducts ? " has-products" : ""}${rows.length > 7 || isWide ? " is-long" : ""}` }, head, ...rows, foot);
}

/** The lines of a stop as one text, for those who hear it. */
export function spokenLines(lines) {
  return lines.map(({ line }) => textOfLine(line)).join("; ");
}
