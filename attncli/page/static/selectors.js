/* The selectors of the head and of the batch item in view. */

import { make } from "./elements.js";

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
