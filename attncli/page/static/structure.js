/* The controls of what a problem is made of: its words, and the mask that is painted. */

import { applyChange } from "./changes.js";
import { make } from "./elements.js";
import { ownHeads } from "./heads.js";
import { firstMask, whyNoPainting } from "./mask_painting.js";
import { showStep } from "./navigation.js";
import { movedChanges, newWord, whyNoWords, wordsOf } from "./words.js";

/** The controls, each with why it can't be used where that is so. */
export function structureControls(state) {
  return [...headsControl(state), wordsControl(state), maskControl(state)];
}

/** A list of the numbers of heads that share the features; none where there is no other number. */
function headsControl(state) {
  const { source } = state.get();
  if (!source.heads || source.heads.length < 2 || source.exercise) return [];
  const choose = () => {
    const heads = Number(list.value) === ownHeads(state.get()) ? null : Number(list.value);
    const { mask } = state.get();
    applyChange(state, { heads, mask: mask !== null && mask.shape.length > 2 ? null : mask }); // one of heads fits no others
  };
  const list = make("select", { id: "set-heads", onchange: choose }, ...source.heads.map(({ heads }) => make("option", { value: heads }, String(heads))));
  const paint = () => { list.value = String(state.get().heads ?? ownHeads(state.get())); };
  state.listen((names) => { if (names.includes("heads")) paint(); });
  paint();
  return [make("div", { class: "field" }, make("label", { for: "set-heads" }, "Heads"), list)];
}

/** The words in a list: each is typed, moved and left out; one more begins with the embedding of the last, or zeros. */
function wordsControl(state) {
  const list = make("ol", { class: "word-fields" });
  const reason = whyNoWords(state.get());
  const summary = make("summary", {}, "Words");
  if (reason !== null) return make("details", {}, summary, make("p", { class: "hint" }, reason));
  const change = (words, from) => applyChange(state, movedChanges(state.get(), words, from));
  const places = () => [...wordsOf(state.get()).keys()];
  const add = (isCopy) => {
    const words = wordsOf(state.get());
    change([...words, newWord(words, isCopy ? words.length - 1 : null)], [...places(), isCopy ? words.length - 1 : null]);
    list.lastElementChild.querySelector("input").select();
  };
  const button = (name, text, press, isOff = false) => make("button", { type: "button", "aria-label": name, title: name, disabled: isOff, onclick: press }, text);
  const row = ({ token }, at, words) => {
    const input = make("input", { type: "text", "aria-label": `Word ${at + 1}`, autocomplete: "off" });
    input.value = token;
    input.addEventListener("change", () => {
      if (input.value.trim() === "") input.value = token;
      else change(words.with(at, { ...words[at], token: input.value.trim() }), places());
    });
    const order = (swapped) => change(swapped.map((old) => words[old]), swapped);
    const moved = (by) => places().map((place) => (place === at ? at + by : place === at + by ? at : place));
    return make(
      "li", {}, input,
      button(`Move ${token} up`, "↑", () => order(moved(-1)), at === 0),
      button(`Move ${token} down`, "↓", () => order(moved(1)), at === words.length - 1),
      button(`Leave out ${token}`, "×", () => order(places().filter((place) => place !== at)), words.length === 1),
    );
  };
  const buttons = make("div", { class: "word-buttons" }, "Add ", button("Add a copy of the last word", "a copy of the last", () => add(true)), button("Add a word of zeros", "zeros", () => add(false)));
  const draw = () => list.replaceChildren(...wordsOf(state.get()).map(row));
  let drawn = null;
  state.listen((names) => {
    if (!names.includes("words") || state.get().words === drawn) return;
    drawn = state.get().words;
    draw();
  });
  draw();
  return make("details", { class: "words-control" }, summary, make("p", { class: "hint" }, "The name only: its vector stays."), list, buttons);
}

/** Begin to paint a mask, and show it. */
export function paintMask(state) {
  const now = state.get();
  applyChange(state, { mask: firstMask(now), settings: now.settings.causal ? { causal: false } : {} });
  showStep(state, "visible");
}

/** The button that begins to paint a mask, or takes the painted one away. */
function maskControl(state) {
  const reason = make("span", { class: "hint" });
  const button = make("button", { type: "button", onclick: () => press() }, "Paint a mask");
  const press = () => {
    const now = state.get();
    if (now.mask !== null) return applyChange(state, { mask: null });
    return paintMask(state);
  };
  const paint = () => {
    const why = state.get().mask === null ? whyNoPainting(state.get()) : null;
    button.textContent = state.get().mask === null ? "Paint a mask" : "Take the painted mask away";
    button.disabled = why !== null;
    reason.textContent = why ?? (state.get().mask === null ? "" : "A click on a cell of visible hides it.");
  };
  state.listen((names) => { if (names.includes("settings")) paint(); });
  paint();
  return make("div", { class: "mask-control" }, button, " ", reason);
}
