/* The cell in view: its arithmetic, whose operands lead on to where they came from, and the trail back. */

import { arithmeticOf } from "./arithmetic.js";
import { placeName } from "./cell.js";
import { whyNotEditable } from "./changes.js";
import { make } from "./elements.js";
import { exerciseFunctions, hiddenSteps } from "./exercise.js";
import { goBack, goOn, indexInView } from "./navigation.js";
import { indexOfCell, leadingIndex, nodeOf } from "./slices.js";
import { hasSteps } from "./step_order.js";
import { withWholeSums } from "./terms.js";
import { numberAt } from "./values.js";

/**
 * Draw the cell in view; `kinds` has the class of the operands of each step, that of the frames around them.
 *
 * Until there was one the panel is as high as its hint; from then on it keeps its height.
 */
export function drawCell(element, state, kinds) {
  const isFound = exerciseFunctions.isSolved?.(state.get()) ?? false;
  const now = isFound ? { ...state.get(), values: state.get().answers } : state.get(); // who has found all numbers may see them
  const node = nodeOf(now, now.step);
  const index = now.values.has(now.step) ? indexInView(state) : null;
  const live = make("div", { class: "arithmetic", "aria-live": "polite" });
  element.replaceChildren(...trailOf(state), live);
  if (index === null) {
    if (!isFound && hiddenSteps(now).has(now.step)) return exerciseFunctions.fieldHelp(element, live, state, node);
    const promise = hasSteps(now) ? "to see how it came about" : "to see all its digits";
    const says = isFound && hiddenSteps(now).has(now.step) ? "All numbers are right: click one to see its arithmetic." : `Point at a number ${promise}; a click or the arrow keys keep it.`;
    live.append(make("p", { class: "hint" }, says));
    return;
  }
  element.classList.add("is-open");
  const title = make("h3", {}, placeName(now.page, node, index));
  const found = isFound ? [make("p", { class: "hint" }, "All numbers are right: here is the arithmetic of each.")] : [];
  const write = (lines) => live.replaceChildren(...found, title, ...lines.map((parts) => lineOf(state, parts, kinds, fillGaps)));
  const fillGaps = () => write(withWholeSums(() => arithmeticOf(node, index, now)));
  const lines = arithmeticOf(node, index, now);
  write(lines.length > 0 ? lines : [[noteOf(state, node, index)]]);
}

/** What is said of a cell without arithmetic. */
function noteOf(state, node, index) {
  const now = state.get();
  if (!hasSteps(now)) return `${numberAt(now.values.get(node.name), index)}; the steps that it comes from are not in this page.`.replaceAll("-", "−");
  if (node.function !== null || node.tapped_from !== null) return "The page does not have the arithmetic of this step.";
  return whyNotEditable(state, node.name) ?? "A given number: double-click it, press F2 or type another to change it.";
}

/** A line of arithmetic; an operand is a button that goes on to the cell it came from, a gap in a sum one that fills it. */
function lineOf(state, parts, kinds, fillGaps) {
  const element = (part) => (part.step === undefined ? make("button", { type: "button", class: "gap", title: "Write the whole sum", onclick: fillGaps }, part.text) : operand(state, part, kinds.get(part.step) ?? ""));
  return make("p", { class: "line" }, ...parts.map((part) => (typeof part === "string" ? part : element(part))));
}

function operand(state, { text, step, index }, kind) {
  const now = state.get();
  if (nodeOf(now, step) === null || !now.values.has(step)) return text;
  const title = placeName(now.page, nodeOf(now, step), index);
  return make("button", { type: "button", class: `operand ${kind}`, "data-step": step, title, onclick: () => goOn(state, step, index) }, text);
}

/** The cells that led to this one, each a button back to it. */
function trailOf(state) {
  const { trail } = state.get();
  if (trail.length === 0) return [];
  const back = make("button", { type: "button", class: "back", title: "Backspace or Escape", onclick: () => goBack(state) }, "← Back");
  const places = trail.map((place, at) => make("li", {}, make("button", { type: "button", class: "link", onclick: () => goBack(state, at) }, trailName(state.get(), place))));
  return [make("nav", { class: "trail", "aria-label": "The way here" }, back, make("ol", {}, ...places))];
}

/** The name of a place of the trail: that of its cell, or of its step. */
function trailName({ page, nodes }, { step, cell, positions }) {
  const node = nodeOf({ nodes }, step);
  if (cell === null || node === null) return step;
  return placeName(page, node, indexOfCell(leadingIndex(page, node, positions), node.axes.length, cell));
}
