/* Lines from token to token: queries on the left, keys on the right, a line's width and opacity its weight. */

import { labelElement, make, makeSvg } from "./elements.js";
import { changeSentence, pairInView, sentenceTable, weightsOfWord, weightText, wordInForce } from "./weights_table.js";

const MOST_LINES = 400; // beside one another more of them are one surface
const MOST_WORDS = 200; // on one side; more of them would be a drawing of many screens
const ROW_HEIGHT = 22; // pixels, and so in views.css

/** Draw the two columns of tokens and the lines between them, of all words or of the one in force. */
export function drawLines(element, state) {
  const parts = { rows: [], columns: [], drawing: null, note: make("figcaption") };
  const draw = () => {
    const table = sentenceTable(state);
    if (table === null) return;
    if (Math.max(table.rows.length, table.columns.length) > MOST_WORDS) {
      element.replaceChildren(make("p", { class: "hint" }, `Lines are drawn between ${MOST_WORDS} words at most.`));
      return;
    }
    element.replaceChildren(figureOf(parts, table, state));
    paint(parts, table, state);
  };
  state.listenAtRest((names) => {
    const table = sentenceTable(state);
    if (table === null) return;
    if (names.includes("nodes")) draw();
    else if (parts.drawing !== null && ["values", "positions", "sentence", "pointed"].some((name) => names.includes(name))) paint(parts, table, state);
  });
  draw();
}

/** The figure: labels, the drawing, labels. Its numbers are in the sentence, so that screen readers leave it out. */
function figureOf(parts, table, state) {
  const height = Math.max(table.rows.length, table.columns.length) * ROW_HEIGHT;
  parts.drawing = makeSvg("svg", { viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", height });
  parts.rows = labelsOf(table.rows, table.rowTokens, "query", state);
  parts.columns = labelsOf(table.columns, table.columnTokens, "key", state);
  const side = (title, labels) => make("div", { class: "lines-side" }, make("div", { class: "lines-title" }, title), ...labels);
  const middle = make("div", { class: "lines-middle" }, make("div", { class: "lines-title" }, "→"), parts.drawing);
  const body = make("div", { class: "lines-body" }, side("query", parts.rows), middle, side("key", parts.columns));
  return make("figure", { class: "lines", "aria-hidden": "true" }, body, parts.note);
}

function labelsOf(labels, tokens, side, state) {
  return labels.map((label, index) => make(
    "div",
    {
      class: "lines-label", title: label,
      onmouseenter: () => changeSentence(state, { pointed: { side, index } }),
      onmouseleave: () => changeSentence(state, { pointed: null }),
    },
    labelElement(label, tokens[index]), make("span", { class: "lines-weight" }),
  ));
}

/** Draw the lines and the numbers beside the tokens that they lead to. */
function paint(parts, table, state) {
  const word = wordInForce(state, table);
  const { page } = state.get();
  const weights = word === null || table.data === null ? null : weightsOfWord(table, word);
  for (const [labels, side] of [[parts.rows, "query"], [parts.columns, "key"]]) {
    labels.forEach((label, index) => {
      const isAcross = weights !== null && side !== word.side;
      label.lastChild.textContent = isAcross ? weightText(weights[index], page.decimals) : "";
      label.classList.toggle("is-chosen", word !== null && side === word.side && index === word.index);
    });
  }
  const lines = table.data === null ? [] : linesOf(table, word);
  const drawn = lines.slice(0, MOST_LINES);
  const largest = Math.max(1, Math.abs(lines[0]?.weight ?? 1)); // the width is the weight
  parts.drawing.replaceChildren(...drawn.map((line) => pathOf(line, largest)).reverse()); // the largest on top
  const cell = pairInView(state);
  if (cell !== null) parts.drawing.querySelector(`[data-row="${cell[0]}"][data-column="${cell[1]}"]`)?.classList.add("is-in-view");
  parts.note.textContent = drawn.length < lines.length ? `The ${MOST_LINES} largest of ${lines.length} weights are drawn.` : "";
}

/** The lines of a word, or of all, whose weight is not 0, the largest first. */
function linesOf(table, word) {
  const width = table.columns.length;
  const lines = [];
  table.data.forEach((weight, at) => {
    const [row, column] = [Math.floor(at / width), at % width];
    const isShown = word === null || (word.side === "query" ? row : column) === word.index;
    if (isShown && weight !== 0 && !Number.isNaN(weight)) lines.push({ row, column, weight });
  });
  return lines.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
}

function pathOf({ row, column, weight }, largest) {
  const [from, to] = [(row + 0.5) * ROW_HEIGHT, (column + 0.5) * ROW_HEIGHT];
  const share = Math.abs(weight) / largest;
  return makeSvg("path", {
    d: `M0 ${from}C45 ${from} 55 ${to} 100 ${to}`, "data-row": row, "data-column": column, "data-weight": weight,
    "stroke-width": (0.5 + 5 * share).toFixed(2), "stroke-opacity": (0.08 + 0.82 * share).toFixed(3),
  });
}
