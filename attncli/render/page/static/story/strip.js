/* The strip of the story: the whole computation as small tables from left to right, of which one is lit. */

import { make } from "../elements.js";
import { stepTable } from "../step_table.js";
import { LEAST_LABEL, cellSize, labelWidth, longestText, storyTable } from "./table.js";
import { storyLeading, stripOf, titleOf } from "./stops.js";

const [SMALL_HEIGHT, SMALL_WIDTH, SMALL_DOT] = [40, 64, 9]; // pixels of a table while a stop is told, and of its cells
const STRIP_ARROW = 44; // pixels of an arrow with its distances
const [NAME_WIDTH, BOX_PADDING] = [88, 20]; // pixels of a name below a symbol, which breaks between words, and around a table
const STRIP_CAPTION = 72; // pixels of a title with its distances

/**
 * The strip as an element: large while the whole is in view, with `room` in pixels, otherwise small (`room` null).
 *
 * `goTo` is called with the name of the table that is chosen; `lit` is the name of the one that a stop leads to, null of
 * the whole, and `told` has the names of those that have a stop.
 */
export function stripElement(state, { room, lit, told, goTo }) {
  const columns = stripOf(state).map((nodes) => nodes.map((node) => ({ node, table: stepTable(state, node, storyLeading(state, node)) })).filter(({ table }) => table !== null));
  const shown = columns.filter((column) => column.length > 0);
  const isLarge = room !== null;
  const sizeOf = isLarge ? largeSize(shown, room) : smallSize;
  const names = shown.flat().map(({ node }) => node.name);
  const box = ({ node, table }, labels) => boxOf(node, table, { size: sizeOf(table), labels, state: placeState(names, node.name, lit), isTold: told.has(node.name), goTo });
  const arrow = () => make("span", { class: "story-arrow", "aria-hidden": "true" }, "→");
  const parts = shown.flatMap((column, at) => {
    const labels = isLarge && at === 0 && sizeOf(column[0].table).height >= LEAST_LABEL ? labelWidth(column.flatMap(({ table }) => table.rowLabels), 96) : 0;
    const boxes = make("div", { class: "story-column" }, ...column.map((entry) => box(entry, labels)));
    return at === 0 ? [boxes] : [arrow(), boxes];
  });
  return make("div", { class: `story-strip${isLarge ? " is-large" : ""}`, role: "group", "aria-label": "The whole computation" }, ...parts);
}

/** Whether a table is lit, before it, or after it. */
function placeState(names, name, lit) {
  if (lit === null) return "is-open";
  if (name === lit) return "is-lit";
  return names.indexOf(name) < names.indexOf(lit) ? "is-past" : "is-open-later";
}

/** The size of the cells of every table where they are large. */
function largeSize(columns, room) {
  const tables = columns.flat().map(({ table }) => table);
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const isNarrow = room.width < 620;
  const [across, down] = isNarrow
    ? [Math.max(...columns.map((column) => sum(column.map(({ table }) => table.columns)))), 0]
    : [sum(columns.map((column) => Math.max(...column.map(({ table }) => table.columns)))), Math.max(...columns.map((column) => sum(column.map(({ table }) => table.rows))))];
  const boxes = Math.max(...columns.map((column) => column.length));
  if (isNarrow) return () => cellSize({ width: (room.width - 100 - boxes * 24) / across, height: 14 }, longestText(tables));
  const width = room.width - 110 - (STRIP_ARROW + BOX_PADDING) * (columns.length - 1);
  const size = cellSize({ width: width / across, height: (room.height - 32 - STRIP_CAPTION * boxes) / down }, longestText(tables));
  const taken = sum(columns.map((column) => Math.max(NAME_WIDTH, ...column.map((table) => table.table.columns * size.width)))); // names may be wider
  return () => (taken <= width || size.font > 0 ? size : cellSize({ width: (size.width * (2 * width - taken)) / width, height: size.height }, Infinity));
}

/** The size of the cells of a small table: it is a picture of a few pixels. */
function smallSize({ rows, columns }) {
  const side = Math.max(1, Math.min(SMALL_HEIGHT / rows, SMALL_WIDTH / columns, SMALL_DOT));
  return { width: side, height: side, font: 0 };
}

function boxOf(node, table, { size, labels, state, isTold, goTo }) {
  const title = [node.symbol, ` ${titleOf(node)}`];
  const { figure } = storyTable(table, { size, labels, head: 0, block: null, kind: "small", title });
  const attributes = { class: `story-box ${state}`, "data-step": node.name, "data-moves": `strip ${node.name}`, title: node.purpose };
  if (!isTold) return make("div", attributes, figure);
  return make("button", { type: "button", ...attributes, "aria-current": state === "is-lit" ? "step" : null, onclick: () => goTo(node.name) }, figure);
}
