/* The head of a step: its number and title, what it is for, its formula and its shapes. */

import { brokenNames, make, symbolElement } from "./elements.js";
import { showStep } from "./navigation.js";
import { fillSettings, formulaOf } from "./settings.js";
import { sectionOf, sectionsOf, stepsInOrder, titleOfUnnumbered } from "./step_order.js";

/** The head of a step. */
export function stepHead(state, node) {
  const now = state.get();
  const section = sectionOf(now, node.name);
  const names = section?.names ?? [node.name];
  return make(
    "header", { class: "step-head" },
    make(
      "div", { class: "step-bar" },
      make("h2", {}, make("span", { class: "step-name" }, ...brokenNames(names)), " ", symbolElement(node.symbol)),
      make("p", { class: "step-place" }, placeText(now, section)), neighbours(state, node.name),
    ),
    make("p", { class: "purpose" }, section?.purpose ?? node.purpose),
    make("div", { class: "formula-row" }, formulaElement(state, node, section), make("p", { class: "shapes" }, node.shapes)),
    ...remarksOf(now, section).map((remark) => make("p", { class: "note" }, remark)),
  );
}

/** The program's remarks on a step; of numbers that were changed they may be false. */
function remarksOf({ edits, words }, section) {
  const isChanged = (name) => edits.some(({ step }) => step === name) || (words !== null && name === "embeddings");
  return section === null || section.names.some(isChanged) ? [] : section.remarks;
}

/** The formula of a step, or of its section where that has several, as mathematical type, with the settings in force. */
export function formulaElement(state, node, section) {
  const { settings } = state.get();
  const formula = make("div", { class: "formula" });
  formula.innerHTML = section?.mathml ?? formulaOf(node, settings); // made by the program, which escapes the texts of the user in it
  formula.classList.toggle("in-words", formula.querySelector("math") === null);
  fillSettings(formula, settings);
  return formula;
}

/** `Step 3 of 8`, `Given`. */
function placeText(state, section) {
  if (section === null) return "Inner step";
  const count = sectionsOf(state).filter(({ number }) => number !== null).length;
  return section.number === null ? titleOfUnnumbered(state) : `Step ${section.number} of ${count}`;
}

/** Buttons to the steps before and after one. */
function neighbours(state, step) {
  const order = stepsInOrder(state.get());
  const at = order.indexOf(step);
  const button = (text, label, target) => make("button", {
    type: "button", disabled: target === undefined, "aria-label": target === undefined ? label : `${label}: ${target}`,
    onclick: () => showStep(state, target),
  }, text);
  return make("div", { class: "neighbours" }, button("‹", "Step before", order[at - 1]), button("›", "Step after", order[at + 1]));
}
