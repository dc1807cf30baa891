/* The cell in view: its arithmetic, whose operands lead on to where they came from, and the trail back. */

import { arithmeticOf } from "./arithmetic.js";
import { whyNotEditable } from "./changes.js";
import { make } from "./elements.js";
import { hiddenSteps } from "./exercise.js";
import { goBack, goOn, indexInView } from "./navigation.js";
import { cellOfIndex, sliceLabels, leadingIndex, nodeOf, sliceOf } from "./slices.js";
import { hasSteps } from "./step_order.js";
import { numberAt } from "./values.js";

/** Draw the cell in view; `kinds` has the class of the operands of each step, that of the frames around them. */
export function drawCell(element, state, kinds) {
  const now = state.get();
  const node = nodeOf(now, now.step);
  const index = now.values.has(now.step) ? indexInView(state) : null;
  const live = make("div", { class: "arithmetic", "aria-live": "polite" });
  element.replaceChildren(...trailOf(state), live);
  if (index === null) {
    if (hiddenSteps(now).has(now.step)) {
      live.append(make("p", { class: "hint" }, "The arithmetic is shown with the key."));
      return;
    }
    const promise = hasSteps(now) ? "to see how it came about" : "to see all its digits";
    live.append(make("p", { class: "hint" }, `Point at a number ${promise}; a click keeps it, the arrow keys walk on.`));
    return;
  }
  const lines = arithmeticOf(node, index, now);
  if (lines.length === 0) lines.push([noteOf(state, node, index)]);
  const place = cellPlace(now, node.name, cellOfIndex(index), now.positions);
  live.append(make("h3", {}, `${node.name}(${place})`), ...lines.map((parts) => lineOf(state, parts, kinds)));
}

/** What is said of a cell without arithmetic. */
function noteOf(state, node, index) {
  const now = state.get();
  if (!hasSteps(now)) return `${numberAt(now.values.get(node.name), index)}; the steps that it comes from are not in this page.`.replaceAll("-", "−");
  if (node.function !== null || node.tapped_from !== null) return "The page does not have the arithmetic of this step.";
  return whyNotEditable(state, node.name) ?? "A given number: double-click it, press F2 or type another to change it.";
}

/** A line of arithmetic; an operand is a button that goes on to the cell it came from. */
function lineOf(state, parts, kinds) {
  return make("p", { class: "line" }, ...parts.map((part) => (typeof part === "string" ? part : operand(state, part, kinds.get(part.step) ?? ""))));
}

function operand(state, { text, step, index }, kind) {
  const now = state.get();
  if (nodeOf(now, step) === null || !now.values.has(step)) return text;
  const place = cellPlace(now, step, cellOfIndex(index), now.positions);
  return make("button", { type: "button", class: `operand ${kind}`, "data-step": step, title: `${step}(${place})`, onclick: () => goOn(state, step, index) }, text);
}

/** The cells that led to this one, each a button back to it. */
function trailOf(state) {
  const { trail } = state.get();
  if (trail.length === 0) return [];
  const back = make("button", { type: "button", class: "back", title: "Backspace or Escape", onclick: () => goBack(state) }, "← Back");
  const places = trail.map((place, at) => {
    const text = place.cell === null ? place.step : `${place.step}(${cellPlace(state.get(), place.step, place.cell, place.positions)})`;
    return make("li", {}, make("button", { type: "button", class: "link", onclick: () => goBack(state, at) }, text));
  });
  return [make("nav", { class: "trail", "aria-label": "The way here" }, back, make("ol", {}, ...places))];
}

/** `cat, sat`: the labels of the row and of the column of a cell. */
function cellPlace(state, step, [row, column], positions) {
  const node = nodeOf(state, step);
  const value = state.values.get(step);
  if (node === null || value === undefined) return "";
  const labels = sliceLabels(state.page, node, sliceOf(value, leadingIndex(state.page, node, positions)));
  return (node.axes.length < 2 ? [labels.columns[column]] : [labels.rows[row], labels.columns[column]]).join(", ");
}
