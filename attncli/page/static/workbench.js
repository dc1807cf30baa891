/* The workbench: the parts that show one problem, the list of its steps, the step in view, the sentence, the controls. */

import { consoleTools } from "./console.js";
import { drawControls } from "./controls.js";
import { goBack } from "./navigation.js";
import { printAll } from "./print.js";
import { drawSelectors } from "./selectors.js";
import { drawSentence } from "./sentence.js";
import { drawStep } from "./step.js";
import { drawStepList } from "./step_list.js";

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
