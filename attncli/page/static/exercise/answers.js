/* The answers of an exercise: what was filled in, and whether that is right. */

import { shownValues } from "../exercise.js";
import { NUMBERS_TO_TYPE, readTyped } from "../numbers_typed.js";
import { numberAt, strides } from "../values.js";

const ROUNDING = { float32: 1e-6, float64: 1e-9 }; // by which a number may miss what it is typed as, in proportion to it
const LEAST_DECIMALS = 2; // of a number that is called close

/** Show the key, or hide it again. */
export function showKey(state, isKeyShown) {
  const now = state.get();
  state.update({ isKeyShown, nodes: now.nodes, values: shownValues({ ...now, isKeyShown }, now.answers) });
}

/** The indices of the cells of a step that are to be filled in. */
function blankCells({ page, answers }, step) {
  const { shape, data } = answers.get(step);
  const steps = strides(shape);
  const positions = page.exercise.blanks[step] ?? data.keys();
  return Array.from(positions, (at) => steps.map((each, axis) => Math.floor(at / each) % shape[axis]));
}

/** Whether a cell of a step is to be filled in. */
export function isBlank({ page, answers }, step, index) {
  const steps = strides(answers.get(step).shape);
  return page.exercise.blanks[step]?.includes(index.reduce((sum, at, axis) => sum + at * steps[axis], 0)) ?? true;
}

/** The text that was filled in a cell; empty where none was. */
export function filledText({ fills }, step, index) {
  return fills[placeOfField(step, index)] ?? "";
}

/** The name of the field of a cell in the state and in the address: `weights@0,1`. */
export function placeOfField(step, index) {
  return `${step}@${index}`;
}

/** Fill a text in a cell, whose field is being typed in or was left. */
export function fillIn(state, step, index, text, isLeft) {
  const place = placeOfField(step, index);
  const { [place]: before, ...others } = state.get().fills;
  const plain = text.trim();
  const fills = plain === (before ?? "") ? state.get().fills : plain === "" ? others : { ...others, [place]: plain };
  state.update({ fills, typing: isLeft ? null : place, judged: isLeft ? { step, index } : null });
}

/**
 * What a text is as the number of a cell: "right", "short" of right with too few decimals, "wrong", "empty", "unread".
 *
 * A decimal number is right within half a unit of its last digit, with the decimals of the page or all that the number
 * has; one with more decimals within half a unit of the page's last. A fraction or a root is right as its number.
 */
export function verdictOn(now, step, index, text) {
  if (text.trim() === "") return "empty";
  const plain = inPoints(text.trim());
  const typed = readTyped(plain);
  if (typed === null) return "unread";
  const number = numberAt(now.answers.get(step), index);
  const miss = Math.abs(typed - number);
  const rounding = ROUNDING[now.page.dtype];
  const isExact = miss <= rounding * Math.max(Math.abs(number), 10 ** -now.page.decimals);
  const decimals = decimalsOf(plain);
  if (isExact || decimals === null) return isExact ? "right" : "wrong";
  if (miss > (10 ** -Math.min(decimals, now.page.decimals) / 2) * (1 + rounding)) return "wrong";
  return decimals < now.page.decimals ? "short" : "right";
}

/** What the mark of a cell says of a text: what to mend, "right", or nothing where nothing is written. */
export function explanationOf(now, step, index, text) {
  const plain = text.trim();
  return {
    right: () => "right",
    short: () => `${plain}: give ${now.page.decimals} decimals`,
    wrong: () => (isCloseTo(now, step, index, plain) ? `${plain} is close: check the rounding` : `${plain} is not right`),
    unread: () => `${plain} is not a number: write ${NUMBERS_TO_TYPE}`,
    empty: () => "",
  }[verdictOn(now, step, index, text)]();
}

/** Whether a wrong decimal number has a last digit that is one off. */
function isCloseTo(now, step, index, plain) {
  const decimals = Math.min(decimalsOf(inPoints(plain)) ?? 0, now.page.decimals);
  const units = Math.abs(readTyped(inPoints(plain)) - numberAt(now.answers.get(step), index)) * 10 ** decimals;
  return decimals >= Math.min(LEAST_DECIMALS, now.page.decimals) && Math.round(units) <= 1;
}

/** A text with a decimal point where it has a comma. */
function inPoints(text) {
  return text.replace(/^([-−+]?\d+),(\d+)$/, "$1.$2");
}

/** How many decimals a text has; null of one that is no decimal number, such as `1/3`. */
function decimalsOf(text) {
  const match = /^[-−+]?\d*\.?(\d*)(?:e([-+]?\d+))?$/i.exec(text);
  return match === null ? null : match[1].length - Number(match[2] ?? 0);
}

/** How many of the numbers are right, of how many: of a step, or of all. */
export function countOfRight(now, steps = now.page.exercise.answers) {
  const cells = steps.filter((step) => now.answers.has(step)).flatMap((step) => blankCells(now, step).map((index) => [step, index]));
  const right = cells.filter(([step, index]) => verdictOn(now, step, index, filledText(now, step, index)) === "right");
  return { right: right.length, all: cells.length };
}

/** Whether all the numbers are right. */
export function isSolved(now) {
  const { right, all } = countOfRight(now);
  return right === all;
}

/** What was filled in a cell and is wrong, where the key is shown; else nothing. */
export function wrongAnswer(now, step, index) {
  if (!now.isKeyShown || !now.page.exercise.answers.includes(step)) return "";
  const text = filledText(now, step, index);
  return ["wrong", "unread"].includes(verdictOn(now, step, index, text)) ? text : "";
}
