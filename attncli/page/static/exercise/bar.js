/* The line above an exercise: what is to be filled in, how many are right, and the key on demand. */

import { resetAll } from "../changes.js";
import { changeTexts } from "../changes_text.js";
import { make } from "../elements.js";
import { exerciseFunctions } from "../exercise.js";
import { countOfRight, isSolved, showKey, wrongAnswer } from "./answers.js";
import { exerciseTable } from "./fields.js";
import { fieldHelp } from "./help.js";
import { showStep } from "../navigation.js";
import { addPart } from "../parts.js";

const MOST_TEXTS = 3; // of changes in the line

Object.assign(exerciseFunctions, { fieldTable: exerciseTable, fieldHelp, isSolved, wrongAnswer });
addPart((state) => drawExercise(document.getElementById("exercise"), state));

/** Draw the line. */
function drawExercise(element, state) {
  const { page } = state.get();
  const count = make("span", { class: "exercise-count", role: "status" });
  const key = make("button", { type: "button", "aria-pressed": "false", onclick: () => showKey(state, !state.get().isKeyShown) }, "Show the key");
  const links = page.exercise.answers.map((step) => ({ step, link: make("button", { type: "button", onclick: () => showStep(state, step) }) }));
  const changed = make("span", { role: "status" });
  const back = make("button", { type: "button", onclick: () => resetAll(state) }, "Undo");
  const change = make("p", { class: "exercise-change" }, changed, back);
  const ask = `Fill in, to ${page.decimals} decimals; 1/3, sqrt(2) and exp(0) are numbers too:`;
  element.replaceChildren(make("h2", {}, "Exercise"), make("p", {}, ask), ...links.map(({ link }) => link), make("div", { class: "exercise-state" }, change, count, key));
  const paint = () => {
    const now = state.get();
    const { right, all } = countOfRight(now);
    const counted = right === all ? `All ${all} are right.` : `${right} of ${all} right`;
    if (count.textContent !== counted) count.textContent = counted; // said once
    const changes = changeTexts(state);
    change.hidden = changes.length === 0;
    changed.textContent = changes.length === 0 ? "" : `The problem is changed: ${shortened(changes).join("; ")}`;
    key.textContent = now.isKeyShown ? "Hide the key" : "Show the key";
    key.setAttribute("aria-pressed", String(now.isKeyShown));
    for (const { step, link } of links) {
      const own = now.answers.has(step) ? countOfRight(now, [step]) : { right: 0, all: 0 };
      link.textContent = `${step} ${own.right}/${own.all}`;
      if (now.step === step) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    }
  };
  state.listen((names) => { if (["fills", "values", "isKeyShown", "step", "settings"].some((name) => names.includes(name))) paint(); });
  paint();
}

/** The first of some texts, and how many more there are. */
function shortened(texts) {
  return texts.length <= MOST_TEXTS ? texts : [...texts.slice(0, MOST_TEXTS), `and ${texts.length - MOST_TEXTS} more`];
}
