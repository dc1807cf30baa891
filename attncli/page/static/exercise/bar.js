/* The line above an exercise: what is to be filled in, how many are right, and the key on demand. */

import { arithmeticOf } from "../arithmetic.js";
import { placeName } from "../cell.js";
import { resetAll } from "../changes.js";
import { changeTexts } from "../changes_text.js";
import { make } from "../elements.js";
import { exerciseFunctions, isToFill } from "../exercise.js";
import { indexInView, showStep } from "../navigation.js";
import { addPart } from "../parts.js";
import {
  countOfRight, explanationOf, filledText, isBlank, isSolved, placeOfField, showKey, wrongAnswer,
} from "./answers.js";
import { exerciseTable } from "./fields.js";

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

const UNTIL = "The arithmetic is shown when all numbers are right, or with the key.";

/** Write the help for the field in view into `live`, and below it, in `element`, the button of the hint. */
export function fieldHelp(element, live, state, node) {
  const now = state.get();
  const index = isToFill(now, node.name) ? indexInView(state) : null;
  if (index === null || !isBlank(now, node.name, index)) {
    live.append(make("p", { class: "hint" }, isToFill(now, node.name) ? `Click a field for a hint. ${UNTIL}` : UNTIL));
    return;
  }
  const place = placeOfField(node.name, index);
  const text = now.typing === place ? "" : filledText(now, node.name, index);
  const own = explanationOf(now, node.name, index, text);
  const line = (says) => make("p", { class: "line" }, says);
  live.append(...othersLine(now, node, index), make("h3", {}, placeName(now.page, node, index)), ...(own === "" ? [] : [line(own)]));
  if (now.hinted === place) live.append(line(hintOf(node, index, now)));
  else if (own !== "right") element.append(hintButton(state, place));
}

/** What the mark of the field says that was left before this one. */
function othersLine(now, node, index) {
  const { judged } = now;
  if (judged === null || judged.step !== node.name || `${judged.index}` === `${index}`) return [];
  const says = explanationOf(now, node.name, judged.index, filledText(now, node.name, judged.index));
  if (["", "right"].includes(says)) return [];
  return [make("p", { class: "line field-before" }, `${placeName(now.page, node, judged.index)}: ${says}`)];
}

/** The button of the hint; the field keeps the focus. */
function hintButton(state, place) {
  const show = () => {
    state.update({ hinted: place });
    document.getElementById(`fill-${place}`)?.focus();
  };
  return make("button", { type: "button", class: "hint-button", onclick: show, onpointerdown: (event) => event.preventDefault() }, "Hint");
}

/** The first line of the arithmetic of a cell without its result: `exp(2.3094 − 2.8868) = ?` */
function hintOf(node, index, now) {
  const [first = [], ...others] = arithmeticOf(node, index, { ...now, values: now.answers });
  const hasResult = typeof first.at(-1) === "string" && /^ [=≈] /.test(first.at(-1));
  const parts = hasResult ? first.slice(0, -1) : first.filter((part) => typeof part === "string").slice(0, 1); // a number that is moved is its result
  const text = parts.map((part) => part.text ?? part).join("").replace(/( =|:)? *$/, "");
  if (text === "") return "There is no hint: the formula above says it.";
  return `${others.length > 0 ? "First: " : ""}${text}${hasResult ? " = ?" : ""}`;
}
