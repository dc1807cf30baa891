/* A table of the story: numbers where they fit, otherwise a map of colours, and the cells that are lit. */

import { dotColor } from "../color_scale.js";
import { countOfNoun, make, symbolElement } from "../elements.js";
import { stepTable } from "../step_table.js";

const FONTS = [24, 21, 18, 16, 14, 13]; // pixels of the numbers of a table
const ASPECT = 1.6; // the width of a cell with a number, in heights
const LARGEST_DOT = 26; // pixels of a cell without a number
export const LEAST_LABEL = 14; // pixels of a row that has a label
const LEFT_TO_RIGHT = "\u200e"; // keeps signs at the ends of a label in place, which the style cuts at its front
const LEAST_HEADING = 42; // of a column whose label may be cut

/**
 * The size of cells that have so much room, {width, height} in pixels: with numbers of the largest font that fits, or
 * squares without numbers, whose font is 0.
 */
export function cellSize(room, longest) {
  for (const font of FONTS) {
    const [width, height] = [Math.ceil(longest * font * 0.57 + 12), Math.ceil(font * 1.85)];
    if (width <= room.width && height <= room.height) {
      const [most, best] = [Math.floor(room.width), Math.min(Math.floor(room.height), Math.ceil(font * 2.3))];
      return { width: Math.min(most, Math.max(width + 6, Math.ceil(best * ASPECT))), height: best, font };
    }
  }
  const side = Math.max(2, Math.min(Math.floor(room.width), Math.floor(room.height), LARGEST_DOT));
  return { width: side, height: side, font: 0 };
}

/** The characters of the widest number of some tables. */
export function longestText(tables) {
  return Math.max(...tables.flatMap(({ longest }) => longest.map((text) => text.length)), 1);
}

/** The pixels that the labels of the rows take. */
export function labelWidth(labels, most) {
  const longest = Math.max(0, ...labels.map((label) => label.length));
  return Math.min(Math.ceil(longest * 8 + 14), most);
}

/** What the story draws of a step: its table, and the number of each cell. */
export function tableOfStep(state, node, leading) {
  const table = stepTable(state, node, leading);
  return table === null ? null : { ...table, numberAt: (at) => table.data[at] };
}

/** A table with rows and columns exchanged. */
export function transposed(table) {
  const { rows, columns } = table;
  const from = (at) => (at % rows) * columns + Math.floor(at / rows);
  const moved = Object.fromEntries(["text", "kind", "colors", "numberAt"].map((name) => [name, (at) => table[name](from(at))]));
  return { ...table, ...moved, rows: columns, columns: rows, rowLabels: table.columnLabels, columnLabels: table.rowLabels };
}

/**
 * A figure of a table.
 *
 * `look` has the `size` of its cells, the width of `labels` of rows (0: none), whether it has a `head` of columns' labels,
 * the `block` of cells that are lit, {rows, columns}, and its `kind`, and the `title`; `page` has the colours.
 */
export function storyTable(table, look) {
  const { size, labels, head, block, kind } = look;
  const grid = make("div", { class: `story-grid${size.font === 0 ? " is-map" : ""}` });
  grid.style.gridTemplateColumns = `${labels}px repeat(${table.columns}, ${size.width}px)`;
  grid.style.gridTemplateRows = `${head}px repeat(${table.rows}, ${size.height}px)`;
  grid.style.fontSize = `${size.font || 12}px`;
  const isLit = (row, column) => block !== null && within(row, block.rows) && within(column, block.columns);
  const lit = [];
  if (size.font === 0) grid.append(...hatchesOf(table), mapOf(table, size, look.page));
  for (let row = 0; row < table.rows; row++) {
    if (labels > 0) grid.append(labelOf(table.rowLabels[row], row, block?.rows, size.height >= LEAST_LABEL, true));
    for (let column = 0; column < table.columns; column++) {
      if (size.font === 0 && !isLit(row, column)) continue;
      const cell = cellOf(table, row, column, size);
      if (isLit(row, column)) lit.push(cell);
      grid.append(cell);
    }
  }
  const haveRoom = size.width >= LEAST_HEADING || table.columnLabels.every((label) => label.length * 8 + 4 <= size.width);
  if (head > 0) table.columnLabels.forEach((label, column) => grid.append(labelOf(label, column, block?.columns, haveRoom, false)));
  if (block !== null) grid.append(frameOf(block), ...(size.font === 0 ? lensOf(table, block) : []));
  const name = `${look.title.join("")}: ${countOfNoun(table.rows, "row")} and ${countOfNoun(table.columns, "column")}${block === null ? "" : `; lit: ${litText(table, block)}`}`;
  const figure = make(
    "figure", { class: `story-table ${kind}${block === null ? "" : " has-lit"}`, role: "img", "aria-label": name },
    make("figcaption", {}, symbolElement(look.title[0]), make("span", {}, look.title.slice(1).join(""))), grid,
  );
  lit.forEach((cell) => cell.classList.add("is-lit"));
  return { figure, lit };
}

/** The cells as a picture. */
function mapOf(table, size, page) {
  const { rows, columns, range } = table;
  const [width, height] = [size.width, size.height].map((pixels) => Math.max(1, Math.round(pixels * 2))); // of screens with two dots to a pixel
  const canvas = make("canvas", { class: "story-map", width: columns * width, height: rows * height });
  canvas.style.gridArea = `2 / 2 / ${rows + 2} / ${columns + 2}`;
  if (range === null) return canvas;
  const [colorOf, drawing, gap] = [dotColor(page, range), canvas.getContext("2d"), size.width < 6 ? 0 : 2];
  for (let at = 0; at < rows * columns; at++) {
    if (table.kind(at) !== "number") continue;
    const [red, green, blue, alpha] = colorOf(table.numberAt(at));
    drawing.fillStyle = `rgb(${red} ${green} ${blue} / ${alpha / 255})`;
    drawing.fillRect((at % columns) * width + gap / 2, Math.floor(at / columns) * height + gap / 2, width - gap, height - gap);
  }
  return canvas;
}

/** What a picture does not show: cells without a number, those beside one another as one. */
function hatchesOf(table) {
  const hatches = [];
  for (let at = 0; at < table.rows * table.columns; at++) {
    const kind = table.kind(at);
    const [row, column] = [Math.floor(at / table.columns), at % table.columns];
    const last = hatches.at(-1);
    if (kind === "number") continue;
    if (last !== undefined && last.row === row && last.kind === kind && last.to === column) last.to += 1;
    else hatches.push({ row, kind, from: column, to: column + 1 });
  }
  return hatches.map(({ row, kind, from, to }) => {
    const element = make("div", { class: `story-hatch ${kind}` });
    element.style.gridArea = `${row + 2} / ${from + 2} / ${row + 3} / ${to + 2}`;
    return element;
  });
}

function within(at, [from, to]) {
  return from <= at && at < to;
}

function cellOf(table, row, column, size) {
  const at = row * table.columns + column;
  const cell = make("div", { class: `story-cell ${table.kind(at)}` }, size.font > 0 ? table.text(at) : "");
  cell.style.gridArea = `${row + 2} / ${column + 2}`;
  const colors = table.colors(at);
  if (colors !== null) {
    cell.style.setProperty("--cell", colors.background);
    cell.style.setProperty("--on-cell", colors.color);
  }
  return cell;
}

/** The label of a row or a column; where there is no room for each, of the one that is lit. */
function labelOf(label, at, range, hasRoom, isRow) {
  const isLit = range !== undefined && range[1] - range[0] === 1 && range[0] === at;
  const element = make("div", { class: `story-label ${isRow ? "of-row" : "of-column"}${isLit ? " is-lit" : ""}` }, make("bdi", {}, hasRoom || isLit ? `${LEFT_TO_RIGHT}${label}${LEFT_TO_RIGHT}` : ""));
  element.style.gridArea = isRow ? `${at + 2} / 1` : `1 / ${at + 2}`;
  return element;
}

function frameOf({ rows, columns }) {
  const frame = make("div", { class: "story-frame" });
  frame.style.gridArea = `${rows[0] + 2} / ${columns[0] + 2} / ${rows[1] + 2} / ${columns[1] + 2}`;
  return frame;
}

/** The number of the one cell that is lit, large, where cells have no numbers. */
function lensOf(table, { rows, columns }) {
  if (rows[1] - rows[0] > 1 || columns[1] - columns[0] > 1) return [];
  const lens = make("div", { class: "story-lens" }, table.text(rows[0] * table.columns + columns[0]));
  lens.style.gridArea = `${rows[0] + 2} / ${columns[0] + 2}`;
  return [lens];
}

function litText(table, { rows, columns }) {
  const part = ([from, to], labels, noun) => (to - from === 1 ? labels[from] : `every ${noun}`);
  return `${part(rows, table.rowLabels, "row")}, ${part(columns, table.columnLabels, "column")}`;
}
