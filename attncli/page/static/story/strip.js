/* The strip of the story: the whole computation as small tables from left to right, of which one is lit. */

import { make } from "../elements.js";
import { nodeOf } from "../slices.js";
import { LEAST_LABEL, cellSize, labelWidth, longestText, storyTable, tableOfStep } from "./table.js";
import { storyLeading, stripOf, titleOf } from "./stops.js";

const [SMALL_HEIGHT, SMALL_WIDTH, SMALL_DOT] = [40, 64, 9]; // pixels of a table while a stop is told, and of its cells
const STRIP_ARROW = 44; // pixels of an arrow with its distances
const [NAME_WIDTH, BOX_PADDING] = [92, 20]; // pixels of a name below a symbol, and around a table
const STRIP_CAPTION = 60; // pixels of a title with its distances
const [NARROW_STRIP, WIDEST_CELL] = [620, 1.8]; // pixels from which it is one row, and the width of its cells in heights

/**
 * The strip as an element: large while the whole is in view, with `room` in pixels, otherwise small (`room` null).
 *
 * `goTo` is called with the name of the table that is chosen; `told` has the names of those that have a stop.
 */
export function stripElement(state, { room, told, goTo }) {
  const columns = stripOf(state).map((nodes) => nodes.map((node) => ({ node, table: tableOfStep(state, node, storyLeading(state, node)) })).filter(({ table }) => table !== null));
  const shown = columns.filter((column) => column.length > 0);
  const isLarge = room !== null;
  const sizeOf = isLarge ? largeSize(shown, room) : smallSize;
  const box = ({ node, table }, labels) => boxOf(node, table, { size: sizeOf(table), labels, page: state.page, isTold: told.has(node.name), goTo });
  const arrow = () => make("span", { class: "story-arrow", "aria-hidden": "true" }, "→");
  const late = isLarge && room.width >= NARROW_STRIP ? lateTable(state, shown) : null;
  const parts = shown.flatMap((column, at) => {
    const labels = isLarge && at === 0 && sizeOf(column[0].table).height >= LEAST_LABEL ? labelWidth(column.flatMap(({ table }) => table.rowLabels), 96) : 0;
    const boxes = make("div", { class: "story-column" }, ...column.filter((entry) => entry !== late?.entry).map((entry) => box(entry, labels)));
    return at === 0 ? [boxes] : [arrow(), boxes];
  });
  if (late !== null) {
    parts.forEach((part, at) => { part.style.gridArea = `1 / ${at + 1}`; });
    parts.splice(2 * late.from + 1, 0, ...lateElements(late, box(late.entry, 0), shown[late.from].length - 1));
  }
  const kind = `${isLarge ? " is-large" : ""}${late === null ? "" : " has-late"}`;
  return make("div", { class: `story-strip${kind}`, role: "group", "aria-label": "The whole computation" }, ...parts);
}

/**
 * The table beside others that the next column is not made from, {entry, from, to}: the columns that it stands in and
 * that reads it first, as values are read by the context; null where there is none.
 */
function lateTable(state, columns) {
  const isMadeFrom = (name, other, seen = new Set()) => {
    if (name === other || seen.has(name)) return name === other;
    seen.add(name);
    return Object.values(nodeOf(state, name)?.inputs ?? {}).some((input) => isMadeFrom(input, other, seen));
  };
  for (const [from, column] of columns.entries()) {
    for (const entry of column.length > 1 ? column : []) {
      const to = columns.findIndex((later, at) => at > from && later.some(({ node }) => isMadeFrom(node.name, entry.node.name)));
      if (to > from + 1) return { entry, from, to };
    }
  }
  return null;
}

/** A table below the strip, and the arrow from it up to the column that reads it; `above` is how many tables are above it. */
function lateElements({ from, to }, box, above) {
  const [line, turn] = ["story-way", "story-turn"].map((name) => make("div", { class: name, "aria-hidden": "true" }));
  box.style.gridArea = `2 / ${2 * from + 1}`;
  line.style.gridArea = `2 / ${2 * from + 2} / 3 / ${2 * to + 1}`;
  turn.style.gridArea = `2 / ${2 * to + 1}`;
  turn.style.setProperty("--above", above);
  return [box, line, turn];
}

/** Light the table that a stop leads to, by its name, and bring it into view; those after it stand back. */
export function lightTable(strip, name) {
  const boxes = [...strip.querySelectorAll(".story-box")];
  const lit = boxes.findIndex((box) => box.dataset.step === name);
  boxes.forEach((box, at) => {
    box.classList.toggle("is-lit", at === lit);
    box.classList.toggle("is-later", lit >= 0 && at > lit);
    if (box.tagName === "BUTTON") box.toggleAttribute("aria-current", at === lit);
  });
  strip.classList.toggle("is-in-view", strip.scrollWidth <= strip.clientWidth); // what moves to it is not cut
  if (lit >= 0) strip.scrollLeft = boxes[lit].offsetLeft - strip.offsetLeft - (strip.clientWidth - boxes[lit].offsetWidth) / 2;
}

/** The size of the cells of every table where they are large. */
function largeSize(columns, room) {
  const tables = columns.flat().map(({ table }) => table);
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const isNarrow = room.width < NARROW_STRIP;
  const [across, down] = isNarrow
    ? [Math.max(...columns.map((column) => sum(column.map(({ table }) => table.columns)))), 0]
    : [sum(columns.map((column) => Math.max(...column.map(({ table }) => table.columns)))), Math.max(...columns.map((column) => sum(column.map(({ table }) => table.rows))))];
  const boxes = Math.max(...columns.map((column) => column.length));
  if (isNarrow) return () => cellSize({ width: (room.width - 100 - boxes * 24) / across, height: 14 }, longestText(tables));
  const width = room.width - 110 - (STRIP_ARROW + BOX_PADDING) * (columns.length - 1);
  const size = cellSize({ width: width / across, height: (room.height - 32 - STRIP_CAPTION * boxes) / down }, longestText(tables));
  const taken = (cell) => sum(columns.map((column) => Math.max(NAME_WIDTH, ...column.map(({ table }) => table.columns * cell)))); // names may be wider
  if (size.font > 0) return () => size;
  let cell = Math.round(size.height * WIDEST_CELL);
  const least = Math.max(2, Math.floor(NAME_WIDTH / Math.max(...tables.map((table) => table.columns)))); // below a name
  while (cell > least && taken(cell) > width) cell -= 1;
  return () => ({ width: cell, height: Math.min(size.height, cell), font: 0 });
}

/** The size of the cells of a small table: it is a picture of a few pixels. */
function smallSize({ rows, columns }) {
  const side = Math.min(SMALL_HEIGHT / rows, SMALL_WIDTH / columns, SMALL_DOT);
  return { width: side, height: side, font: 0 };
}

function boxOf(node, table, { size, labels, page, isTold, goTo }) {
  const title = [node.symbol, ` ${titleOf(node)}`];
  const { figure } = storyTable(table, { size, labels, page, head: 0, block: null, kind: "small", title });
  const attributes = { class: "story-box", "data-step": node.name, "data-moves": `strip ${node.name}`, title: node.purpose };
  if (!isTold) return make("div", attributes, figure);
  return make("button", { type: "button", ...attributes, onclick: () => goTo(node.name) }, figure);
}
