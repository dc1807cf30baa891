/* The stage of the story: the tables that a stop reads and its own, around the cell that they meet in. */

import { make } from "../elements.js";
import { sliceText } from "../slices.js";
import { cellSize, labelWidth, longestText, storyTable, tableOfStep, transposed } from "./table.js";
import { sourcesOfStop, titleOf } from "./stops.js";

const STAGE_HEAD = 26; // pixels of the labels of columns
const STAGE_CAPTION = 34; // of a title
const STAGE_GAP = 28; // between tables
const [STAGE_LABEL, LEAST_ROW_LABEL] = [96, 62]; // of the labels of rows

/** Draw a stop in a room of pixels; the result has the `element`, the `lit` cells of each source, and those of the `result`. */
export function stageOf(state, stop, room) {
  const own = ownTable(state, stop);
  const sources = sourcesOfStop(state, stop).map((source, place) => sourceTable(state, source, `operand-${place + 1}`)).filter(({ table }) => table !== null);
  const cross = crossOf(own, sources);
  const place = { ...room, page: state.page };
  return cross === null ? inOneRow(own, sources, place) : inACross(own, cross, place);
}

/** The class of the operands of a stop, that of the frames around them, by the name of their step. */
export function kindsOfStop(state, stop) {
  return new Map([...sourcesOfStop(state, stop).map(({ step }, place) => [step, `operand-${place + 1}`]), [stop.node.name, "own"]]);
}

function ownTable(state, { node, index }) {
  const leading = index.slice(0, -2);
  const [row, column] = index.slice(-2);
  const table = tableOfStep(state, node, leading);
  const block = { rows: [row, row + 1], columns: [column, column + 1] };
  return { table, block, kind: "own", title: [node.symbol, ` ${titleOf(node)}${sliceText(state.page, node, leading)}`], step: node.name };
}

function sourceTable(state, { node, leading, rows, columns }, kind) {
  const title = [node.symbol, ` ${titleOf(node)}`];
  return { table: tableOfStep(state, node, leading), block: { rows, columns }, kind, title, step: node.name };
}

/** A row and a column that are multiplied, {left, top}, the second exchanged where its vectors are rows; else null. */
function crossOf(own, sources) {
  if (sources.length !== 2 || own.table.rows * own.table.columns < 2) return null;
  for (const [left, other] of [sources, [...sources].reverse()]) {
    const isRow = isOne(left.block.rows) && left.block.rows[0] === own.block.rows[0] && left.table.rows === own.table.rows;
    const top = isOne(other.block.columns) && !isOne(other.block.rows) ? other : exchanged(other);
    const isColumn = isOne(top.block.columns) && top.block.columns[0] === own.block.columns[0] && top.table.columns === own.table.columns;
    const isWhole = left.block.columns[1] - left.block.columns[0] === left.table.columns && top.block.rows[1] - top.block.rows[0] === top.table.rows;
    if (isRow && isColumn && isWhole && left.table.columns === top.table.rows) return { left, top };
  }
  return null;
}

function isOne([from, to]) {
  return to - from === 1;
}

/** A table on its side: its symbol has the sign of it. */
function exchanged(source) {
  const { rows, columns } = source.block;
  return { ...source, table: transposed(source.table), block: { rows: columns, columns: rows }, title: [`${source.title[0]}ᵀ`, ...source.title.slice(1)] };
}

/** The tables of a product: a row on the left, a column above, and where they meet the cell. */
function inACross(own, { left, top }, room) {
  const all = [left, top, own];
  const most = Math.min(STAGE_LABEL, Math.max(room.width / 8, LEAST_ROW_LABEL));
  const labels = { left: labelWidth(left.table.rowLabels, most), right: labelWidth([...top.table.rowLabels, ...own.table.rowLabels], most) };
  const free = { width: room.width - labels.left - labels.right - STAGE_GAP, height: room.height - 2 * (STAGE_HEAD + STAGE_CAPTION) - STAGE_GAP / 2 };
  const size = cellSize(
    { width: free.width / (left.table.columns + own.table.columns), height: free.height / (top.table.rows + own.table.rows) },
    longestText(all.map(({ table }) => table)),
  );
  const draw = (part, width, area) => stageFigure(part, { size, labels: width, head: STAGE_HEAD, page: room.page }, area);
  const drawn = [draw(left, labels.left, "left"), draw(top, labels.right, "top"), draw(own, labels.right, "own")];
  const element = make("div", { class: "story-cross" }, ...drawn.map(({ figure }) => figure));
  return { element, lit: [drawn[0].lit, drawn[1].lit], result: drawn[2].lit };
}

/** The tables of any other step: what is read, and what is made of it. */
function inOneRow(own, sources, room) {
  const all = [...sources, own];
  const isNarrow = room.width < 520;
  const most = Math.min(STAGE_LABEL, room.width / (isNarrow ? 5 : 3 * all.length));
  const labels = all.map(({ table }) => labelWidth(table.rowLabels, most));
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const columns = all.map(({ table }) => table.columns);
  const rows = all.map(({ table }) => table.rows);
  const longest = longestText(all.map(({ table }) => table));
  const below = cellSize({
    width: (room.width - Math.max(...labels)) / Math.max(...columns),
    height: (room.height * (isNarrow ? 1.6 : 1) - (STAGE_HEAD + STAGE_CAPTION + STAGE_GAP) * all.length) / sum(rows),
  }, longest);
  const beside = cellSize({
    width: (room.width - sum(labels) - (2 * STAGE_GAP + 12) * (all.length - 1)) / sum(columns),
    height: (room.height - STAGE_HEAD - STAGE_CAPTION) / Math.max(...rows),
  }, longest);
  const isBelow = isNarrow || below.font > beside.font;
  const size = isBelow ? below : beside;
  const drawn = all.map((part, at) => stageFigure(part, { size, labels: labels[at], head: STAGE_HEAD, page: room.page }, "row"));
  const arrow = make("span", { class: "story-arrow", "aria-hidden": "true" }, "→");
  const figures = drawn.map(({ figure }) => figure);
  const element = make("div", { class: `story-row${isBelow ? " is-below" : ""}` }, ...figures.slice(0, -1), ...(sources.length > 0 ? [arrow] : []), figures.at(-1));
  return { element, lit: drawn.slice(0, -1).map(({ lit }) => lit), result: drawn.at(-1).lit };
}

function stageFigure({ table, block, kind, title, step }, look, area) {
  const drawn = storyTable(table, { ...look, block, kind, title });
  drawn.figure.classList.add(`in-${area}`);
  drawn.figure.dataset.moves = `stage ${step}`;
  drawn.figure.dataset.from = `strip ${step}`;
  return drawn;
}
