/* The table in view as a picture: a drawing in SVG that stands alone, with its colours, labels and title, on paper. */

import { colorsOf, cssColor } from "./color_scale.js";
import { makeSvg } from "./elements.js";
import { decimalText, numberStyle } from "./numerals.js";
import { nodeOf, sliceText } from "./slices.js";
import { stepTable } from "./step_table.js";

const [CELL, GAP, SIZE, SPACE] = [26, 14, 13, 10]; // pixels: the height of a row, around all, of the type, around a text
const MOST_CELLS = 40_000;
const FONT = "Helvetica, Arial, sans-serif";
const [INK, MUTED, HATCH] = ["#1b1f24", "#59626d", "#c5c9cd"];

/** Why there is no picture of the table in view; null where there is one. */
export function whyNoPicture(state) {
  const table = stepTable(state, nodeOf(state, state.step));
  if (table === null) return "This step has no numbers.";
  return table.rows * table.columns > MOST_CELLS ? `A picture has at most ${MOST_CELLS.toLocaleString("en")} cells.` : null;
}

/** The drawing of the table in view as text. */
export function tablePicture(state) {
  const node = nodeOf(state, state.step);
  const table = stepTable(state, node);
  const texts = Array.from({ length: table.rows * table.columns }, (_, at) => table.text(at));
  const width = widestText([...texts, ...table.columnLabels], CELL) + SPACE;
  const [ofColumns, ofRows = ""] = table.axes.map((letter) => state.page.axes[letter]?.meaning ?? letter).reverse();
  const label = widestText([...table.rowLabels, ofRows], 0) + SPACE;
  const top = GAP + 3 * CELL;
  const [right, bottom] = [GAP + label + table.columns * width, top + (table.rows + 1) * CELL];
  const name = `${node.name}${sliceText(state.page, node, table.leading)}`;
  const titles = [state.page.title, name];
  const size = { width: Math.ceil(Math.max(right, ...titles.map((text) => GAP + 1.1 * textWidth(text, "bold"))) + GAP), height: bottom + CELL + GAP };
  const drawing = makeSvg(
    "svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "font-family": FONT, "font-size": SIZE },
    makeSvg("title", {}, `${titles[0]}: ${name}`), hatch(),
    makeSvg("rect", { ...size, fill: "#fff" }),
    ...titles.map((text, line) => textAt(text, GAP, GAP + line * CELL, { "text-anchor": "start", ...(line ? { fill: MUTED } : { "font-weight": "bold" }) })),
    textAt(ofColumns, GAP + label, top - CELL, { "text-anchor": "start", fill: MUTED }),
    textAt(ofRows, GAP + label - SPACE / 2, top, { "text-anchor": "end", fill: MUTED }),
    ...table.columnLabels.map((text, at) => textAt(text, GAP + label + (at + 0.5) * width, top)),
    ...table.rowLabels.map((text, at) => textAt(text, GAP + label - SPACE / 2, top + (at + 1) * CELL, { "text-anchor": "end" })),
    ...texts.flatMap((text, at) => cellAt(table, text, at, GAP + label + (at % table.columns) * width, top + (Math.floor(at / table.columns) + 1) * CELL, width)),
    ...rangeBar(state.page, table, GAP + label, bottom + 0.25 * CELL),
  );
  return new XMLSerializer().serializeToString(drawing);
}

function cellAt(table, text, at, x, y, width) {
  const colors = table.colors(at);
  const isHidden = table.kind(at) === "hidden-cell";
  const fill = colors === null ? (isHidden ? "url(#hatch)" : "#fff") : onPaper(colors.background);
  const box = makeSvg("rect", { x, y, width, height: CELL, fill, stroke: "#fff" });
  return [box, textAt(text, x + width / 2, y, { fill: colors === null ? INK : onPaper(colors.color) })];
}

/** A text on a line that begins at a height, around a place or beside it. */
function textAt(text, x, y, attributes = {}) {
  return makeSvg("text", { x, y: y + CELL / 2, dy: "0.35em", "text-anchor": "middle", fill: INK, "xml:space": "preserve", ...attributes }, text);
}

/** The hatch of cells that a mask hides. */
function hatch() {
  const line = makeSvg("path", { d: "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4", stroke: HATCH, "stroke-width": 1.5 });
  return makeSvg("defs", {}, makeSvg("pattern", { id: "hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse" }, line));
}

/** The bar of colours with the least and the largest number. */
function rangeBar(page, { range, signOf }, x, y) {
  if (range === null || signOf !== null) return [];
  const colors = colorsOf(page, range).map(cssColor);
  const stops = colors.map((color, at) => makeSvg("stop", { offset: at / (colors.length - 1), "stop-color": onPaper(color) }));
  const style = numberStyle([range.least, range.most], page.decimals);
  const [least, most] = [range.least, range.most].map((number) => decimalText(number, style));
  const start = x + textWidth(least) + SPACE / 2;
  const bar = { x: start, y: y + CELL / 4, width: 120, height: CELL / 2, fill: "url(#range)", stroke: HATCH };
  return [
    makeSvg("defs", {}, makeSvg("linearGradient", { id: "range" }, ...stops)), makeSvg("rect", bar),
    textAt(least, x, y, { "text-anchor": "start" }), textAt(most, start + 120 + SPACE / 2, y, { "text-anchor": "start" }),
  ];
}

/** A colour of a style sheet as every program of drawings reads it: that on light paper, in hexadecimal digits. */
function onPaper(color) {
  const light = /^light-dark\((rgb\([^)]*\)|[^,]*),/.exec(color)?.[1] ?? color;
  const parts = /^rgb\((\d+) (\d+) (\d+)\)$/.exec(light);
  return parts === null ? light : `#${parts.slice(1).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
}

/** The width of the widest of some texts, at least as wide as given. */
function widestText(texts, least) {
  return texts.reduce((most, text) => Math.max(most, textWidth(text)), least);
}

let ruler = null;

/** How wide a text is, in pixels. */
function textWidth(text, weight = "normal") {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${weight} ${SIZE}px ${FONT}`;
  return ruler.measureText(text).width;
}
