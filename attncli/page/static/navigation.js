/* Going from step to step and from cell to cell: the trail back, and the address that shows the same. */

import { changesInAddress, readChanges } from "./address.js";
import { cellOfIndex, indexOfCell, leadingIndex, movePosition, nodeOf, placesAmong } from "./slices.js";

const MOST_OFTEN = 300; // milliseconds between two addresses of changes

/** Show a step from its beginning: no cell is chosen, and no trail leads back. */
export function showStep(state, step) {
  state.update({ step, cell: null, pointed: null, trail: [] });
}

/** Go on to the cell of another step that has an index on all axes of its value, and leave a trail to this one. */
export function goOn(state, step, index) {
  const { page, cell, positions, trail } = state.get();
  const node = nodeOf(state.get(), step);
  const next = node.axes.slice(0, -2).reduce((moved, letter, axis) => movePosition(page, moved, letter, index[axis]), positions);
  const here = { step: state.get().step, cell, positions };
  state.update({ step, cell: cellOfIndex(index), pointed: null, positions: next, trail: [...trail, here] });
}

/** Go back to a place of the trail, the last unless another is named; without a trail the cell is let go. */
export function goBack(state, to = state.get().trail.length - 1) {
  const { trail } = state.get();
  if (trail.length === 0) state.update({ cell: null, pointed: null });
  else state.update({ ...trail[to], pointed: null, trail: trail.slice(0, to) });
}

/** Whether the page has an address of its own; in the frame of a notebook it has none. */
export function hasAddress() {
  return location.protocol !== "about:";
}

/** The index of the cell that is pointed at, or of that which is kept in view, on all axes of its step; else null. */
export function indexInView(state) {
  const { page, step, cell, pointed, positions } = state.get();
  const node = nodeOf(state.get(), step);
  const at = pointed ?? cell;
  return at === null ? null : indexOfCell(leadingIndex(page, node, positions), node.axes.length, at);
}

/**
 * Keep the address, what is in view and what is changed the same, so that a link and the buttons of the browser lead to
 * it. A link brings its own changes; a step back of the browser leads to a place, and changes stay. Of several states
 * the one that `isInView` has the address.
 */
export function followAddress(state, isInView = () => true) {
  if (!hasAddress()) return;
  let [shown, isReading, writtenAt, timer] = ["", false, -Infinity, null];
  const write = (kind) => {
    clearTimeout(timer);
    writtenAt = performance.now();
    const address = addressOf(state.get());
    if (address !== location.hash) history[kind]({ trail: state.get().trail }, "", address);
  };
  const read = (isLink) => {
    isReading = true;
    if (isLink) readChanges(state, location.hash);
    const place = placeOfAddress(state.get());
    if (place !== null) state.update({ ...place, pointed: null, trail: placesAmong(state.get().nodes, history.state?.trail ?? []) });
    isReading = false;
    shown = keyOf(state.get());
  };
  read(true);
  history.replaceState({ trail: state.get().trail }, "", addressOf(state.get()));
  state.listen((names) => {
    if (isReading || !isInView()) return;
    const key = keyOf(state.get());
    if (["edits", "settings", "mask", "words", "heads", "fills"].some((name) => names.includes(name))) {
      clearTimeout(timer); // a slider moves faster than a browser lets an address change
      timer = setTimeout(() => write("replaceState"), Math.max(MOST_OFTEN - (performance.now() - writtenAt), 0));
    } else if (names.some((name) => ["step", "cell", "positions", "trail", "stop"].includes(name))) {
      write(key === shown ? "replaceState" : "pushState");
    }
    shown = key;
  });
  addEventListener("popstate", () => {
    if (!isInView()) return;
    read(history.state === null);
    write("replaceState");
  });
}

/** What a step back of the browser leads to: another step, another place of the trail, or another stop of the story. */
function keyOf({ step, trail, stop }) {
  return `${step} ${trail.length} ${stop}`;
}

/** The address of what is in view, with what is changed. */
export function addressOf(now) {
  const { step, cell, positions, stop } = now;
  const changes = changesInAddress(now).map(([key, text]) => `${key}=${text}`);
  const part = now.page.part === undefined ? [] : [`part=${now.page.part}`]; // of a file with several
  if (stop !== null) return `#${[...part, `stop=${stop}`, ...changes].join("&")}`;
  const parts = Object.entries(positions).filter(([, at]) => at !== 0);
  if (cell !== null) parts.unshift(["cell", cell.join(",")]);
  const place = `${new URLSearchParams([["step", step], ...parts])}`.replaceAll("%2C", ",");
  return `#${[...part, place, ...changes].join("&")}`;
}

/** The place that the address names, as far as this page has it; null where it names none. */
function placeOfAddress({ page, nodes, positions }) {
  const named = new URLSearchParams(location.hash.slice(1));
  if (page.guide && named.has("stop")) return { stop: wholeBelow(named.get("stop"), Object.keys(page.guide.cells).length + 1) ?? 0 };
  const node = nodes.find(({ name }) => name === named.get("step"));
  if (node === undefined) return null;
  const letters = Object.keys(page.axes).filter((letter) => named.has(letter));
  const at = letters.map((letter) => [letter, wholeBelow(named.get(letter), page.axes[letter].length)]);
  const lengths = [node.shape.at(-2) ?? 1, node.shape.at(-1) ?? 1];
  const cell = (named.get("cell") ?? "").split(",").map((text, axis) => wholeBelow(text, lengths[axis]));
  return {
    stop: null,
    step: node.name,
    cell: cell.length === 2 && cell.every((position) => position !== null) ? cell : null,
    positions: { ...positions, ...Object.fromEntries(at.map(([letter, position]) => [letter, position ?? 0])) },
  };
}

function wholeBelow(text, length) {
  return /^\d+$/.test(text) && Number(text) < length ? Number(text) : null;
}
