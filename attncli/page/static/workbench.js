/* The workbench: the parts that show one problem, the list of its steps, the step in view, the sentence, the controls. */

import { consoleTools } from "./console.js";
import { drawControls } from "./controls.js";
import { make } from "./elements.js";
import { goBack } from "./navigation.js";
import { printAll } from "./print.js";
import { drawSentence } from "./sentence.js";
import { drawStep } from "./step.js";
import { drawStepList } from "./step_list.js";

const SELECTED = [["b", "Batch item"], ["h", "Head"]]; // the axes that have a position in view

/** Draw a selector for each axis that the plan has more than one position of. */
export function drawSelectors(element, state) {
  const { page } = state.get();
  const shown = SELECTED.filter(([letter]) => (page.axes[letter]?.length ?? 0) > 1);
  element.hidden = shown.length === 0;
  const selectors = shown.map(([letter, title]) => selectorOf(letter, title, state));
  element.classList.add("selectors");
  element.replaceChildren(...selectors.map(({ field }) => field));
  const paint = () => selectors.forEach((selector) => selector.paint());
  state.listen((names) => { if (names.includes("positions")) paint(); });
  paint();
}

/** Choose the position on an axis that is in view. */
function choosePosition(state, letter, at) {
  state.update({ positions: { ...state.get().positions, [letter]: at } });
}

/** A list of the positions of an axis, with a button on either side for the neighbours. */
function selectorOf(letter, title, state) {
  const { length } = state.get().page.axes[letter];
  const at = () => state.get().positions[letter] ?? 0;
  const options = Array.from({ length }, (_, index) => make("option", { value: index }, String(index)));
  const list = make("select", { id: `select-${letter}`, onchange: () => choosePosition(state, letter, Number(list.value)) }, ...options);
  const step = (by, sign, name) => make("button", {
    type: "button", "aria-label": `${name} ${title.toLowerCase()}`, onclick: () => choosePosition(state, letter, at() + by),
  }, sign);
  const [previous, next] = [step(-1, "‹", "Previous"), step(1, "›", "Next")];
  const field = make("div", { class: "selector" }, make("label", { for: list.id }, title), list, previous, next, ` (of 0–${length - 1})`);
  const paint = () => {
    list.value = String(at());
    previous.disabled = at() === 0;
    next.disabled = at() === length - 1;
  };
  return { field, paint };
}

/** The part of the document that has a name. */
export function documentPart(name) {
  return document.getElementById(name);
}

/** Offer a state to whoever opens the console, and to tests. */
export function showInConsole(state) {
  window.attnPage = consoleTools(state);
}

/** Draw the parts, in place of those of another problem; they are as high as the screen under the heading. */
export function drawWorkbench(state) {
  const above = [document.querySelector("header"), documentPart("exercise")];
  const observer = new ResizeObserver(() => {
    const height = above.reduce((sum, part) => sum + part.offsetHeight, 0);
    document.documentElement.style.setProperty("--heading", `${height}px`);
  });
  above.forEach((part) => observer.observe(part));
  drawSelectors(documentPart("selectors"), state);
  state.listen((names) => { if (names.includes("heads")) drawSelectors(documentPart("selectors"), state); });
  drawStepList(documentPart("step-list"), state);
  drawSentence(documentPart("sentence"), state); // before the step, whose table frames the row of a word
  drawStep(documentPart("step"), state);
  drawControls(documentPart("controls"), state);
}

/** Go back by keys, print, and skip to the step in view; `current` gives the state that is drawn. */
export function listenToWorkbench(current) {
  printAll(documentPart("print"), { get: () => current().get() });
  document.querySelector(".skip-link").addEventListener("click", (event) => {
    event.preventDefault();
    documentPart("step").focus();
  });
  documentPart("step").addEventListener("keydown", (event) => {
    if (!["Escape", "Backspace"].includes(event.key) || event.target.closest("input, select")) return;
    event.preventDefault();
    goBack(current());
  });
}
