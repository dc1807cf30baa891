/* Help with the field of an exercise that has the focus: what its mark says, and a hint at its arithmetic. */

import { arithmeticOf } from "../arithmetic.js";
import { placeName } from "../cell.js";
import { make } from "../elements.js";
import { isToFill } from "../exercise.js";
import { explanationOf, filledText, isBlank, placeOfField } from "./answers.js";
import { indexInView } from "../navigation.js";

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
