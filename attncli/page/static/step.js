/* The step in view: its purpose, its formula, its table, the tables that it is made from, and the cell in view. */

import { drawCell } from "./cell_panel.js";
import { applyChange, editCell, resultName, typedText, whyNotEditable } from "./changes.js";
import { dataFitFigure } from "./data_fit.js";
import { make, symbolElement } from "./elements.js";
import { exerciseFunctions, isToFill, whyNoNumbers } from "./exercise.js";
import { legendOf } from "./legend.js";
import { paintedMask, whyNoPainting } from "./mask_painting.js";
import { goOn, indexInView, showStep } from "./navigation.js";
import { indexOfCell, leadingIndex, movePosition, nodeOf, placeLabel, sliceText } from "./slices.js";
import { blocksOf, slicesOfSources } from "./source_tables.js";
import { stepHead } from "./step_head.js";
import { stepTable } from "./step_table.js";
import { paintMask } from "./structure.js";
import { makeTable } from "./table.js";
import { tableOverview } from "./thumbnail.js";
import { numberAt } from "./values.js";
import { isPairTable, sentenceTable, wordInForce } from "./weights_table.js";

const REDRAWS = ["page", "step", "plan", "positions"]; // what another table follows from
const REFILLS = ["nodes", "values", "settings"]; // what other numbers follow from

/** Draw the step in view, and again whenever it changes. */
export function drawStep(element, state) {
  const panel = make("section", { class: "cell-panel", "aria-label": "The cell in view" });
  const fit = make("div");
  let tables = { main: null, sources: [] };
  let shownCell = null;
  const reveal = () => element.querySelector(".main .frame.in-view")?.scrollIntoView({ block: "nearest" }); // it is not under the panel
  const observer = new ResizeObserver(reveal); // as the panel opens, and as the heading grows
  [element, panel].forEach((part) => observer.observe(part));
  const draw = () => {
    const hadFocus = element.contains(document.activeElement) && document.activeElement !== element;
    const node = nodeOf(state.get(), state.get().step);
    tables = makeTables(state, node);
    element.replaceChildren(make("div", { class: "step-body" }, stepHead(state, node), tables.element, fit), panel);
    const { cell } = state.get();
    if (cell !== null) tables.main?.table?.reveal(cell);
    if (hadFocus) tables.main?.table?.focus();
    mark();
  };
  const refill = () => {
    const node = nodeOf(state.get(), state.get().step);
    if (tables.main === null || ![tables.main, ...tables.sources].every((figure) => figure.refill())) return draw();
    element.querySelector(".step-head").replaceWith(stepHead(state, node));
    tables.node = node;
    mark();
  };
  const mark = () => {
    const { cell } = state.get();
    fit.replaceChildren(dataFitFigure(state.get(), nodeOf(state.get(), state.get().step)) ?? "");
    markCells(state, tables);
    drawCell(panel, state, new Map(tables.sources.map(({ node }, place) => [node.name, `operand-${place + 1}`])));
    if (cell !== shownCell) reveal();
    shownCell = cell;
  };
  state.listen((names) => {
    if (names.some((name) => REDRAWS.includes(name))) draw();
    else if (names.some((name) => REFILLS.includes(name))) refill();
    else if (["cell", "pointed", "sentence", "fills", "typing", "judged", "hinted"].some((name) => names.includes(name))) mark();
  });
  state.listenAtRest((names) => { if (names.some((name) => REFILLS.includes(name))) tables.main?.refillBeside?.(); });
  draw();
}

/** The tables of a step and of what it is made from, and the element that has them all. */
function makeTables(state, node) {
  const main = isToFill(state.get(), node.name) ? figureToFill(state, node) : makeFigure(state, node, undefined, "main");
  if (main === null) {
    const text = whyNoNumbers(state.get(), node.name, "The numbers of this step follow from a change and can't be computed in this page.");
    return { main, sources: [], element: make("p", { class: "note not-computed" }, "— ", text) };
  }
  const tables = { main, sources: [], element: make("div", { class: "tables" }, main.figure), node };
  showSources(state, tables);
  return tables;
}

/** A state with the numbers that an exercise hides, from which it is known what its cells are made from. */
function withAnswers(now) {
  return { ...now, values: now.answers };
}

/** The table of a step that is to be filled in, with its title. */
function figureToFill(state, node) {
  const title = sliceTitle(state.get().page, node, { leading: leadingIndex(state.get().page, node, state.get().positions) });
  return { figure: make("figure", { class: "heat-map main" }, make("figcaption", {}, make("span", {}, ...title)), exerciseFunctions.fieldTable(state, node)), table: null, refill: () => false };
}

/** Draw the tables that the step is made from, as far as they are others than those that are shown. */
function showSources(state, tables) {
  const wanted = slicesOfSources(withAnswers(state.get()), tables.node, indexInView(state));
  const key = JSON.stringify(wanted.map(({ node, leading }) => [node.name, leading]));
  if (tables.sourcesKey === key) return;
  tables.sourcesKey = key;
  tables.sources = wanted.map(({ node, leading }, at) => makeFigure(state, node, leading, `operand-${at + 1}`)).filter((figure) => figure !== null);
  tables.element.replaceChildren(tables.main.figure, ...tables.sources.map(({ figure }) => figure));
}

/** A table with its title and legend, and a function that shows the numbers in force in it; null where the step has no numbers in force. */
function makeFigure(state, node, leading, kind) {
  const now = state.get();
  const isMain = kind === "main";
  const content = withWrongAnswers(state, node, stepTable(now, node, leading));
  if (content === null) return null;
  const indexOf = (cell) => indexOfCell(content.leading, node.axes.length, cell);
  const keep = (cell) => state.update({ cell, pointed: null });
  const table = makeTable(content, isMain ? {
    point: (cell) => state.update({ pointed: cell }),
    walk: keep,
    choose: (cell) => {
      if (state.get().mask !== null && node.name === "visible") applyChange(state, { mask: paintedMask(state.get().mask, indexOf(cell)) });
      keep(cell);
    },
    edit: whyNotEditable(state, node.name) === null ? (cell, text) => editCell(state, node.name, indexOf(cell), text) : null,
    textOf: (cell) => typedText(state.get(), node.name, indexOf(cell)) ?? String(numberAt(state.get().values.get(node.name), indexOf(cell))),
  } : {
    point: () => {},
    walk: () => {},
    choose: (cell) => goOn(state, node.name, indexOf(cell)),
    edit: null,
  });
  const title = isMain ? make("span", {}, ...mainTitle(now.page, node, content)) : sourceTitle(state, node, content);
  const overview = isMain ? tableOverview(now.page, content, table.element) : null;
  const legend = isMain ? [legendOf(now.page, content)] : [];
  const figure = make(
    "figure", { class: `heat-map ${kind}` },
    make("figcaption", {}, title, ...(isMain ? [...choicesOfLeading(state, node), ...maskButton(state, node)] : [])),
    table.element, ...legend, ...(overview?.elements ?? []),
  );
  let shown = content;
  const refill = () => {
    const own = nodeOf(state.get(), node.name);
    const next = own === null ? null : withWrongAnswers(state, own, stepTable(state.get(), own, leading));
    if (next === null || !table.refill(next)) return false;
    shown = next;
    return true;
  };
  const refillBeside = () => {
    figure.querySelector(".legend")?.replaceWith(legendOf(now.page, shown));
    overview?.paint(shown);
  };
  return { figure, table, node, content, refill, refillBeside };
}

/** The table of a step with what was filled in its cells and is wrong, where the key is shown beside it. */
function withWrongAnswers(state, node, content) {
  if (content === null || !exerciseFunctions.wrongAnswer) return content;
  const indexOf = (at) => indexOfCell(content.leading, node.axes.length, [Math.floor(at / content.columns), at % content.columns]);
  return { ...content, wrong: (at) => exerciseFunctions.wrongAnswer(state.get(), node.name, indexOf(at)) };
}

function mainTitle(page, node, content) {
  const isChosenBeside = node.axes.slice(0, -2).some((letter) => hasChoice(page, letter));
  return isChosenBeside ? [`${node.name} `, symbolElement(node.symbol)] : sliceTitle(page, node, content);
}

function sourceTitle(state, node, content) {
  const title = sliceTitle(state.get().page, node, content);
  const link = make("button", { type: "button", class: "link", onclick: () => showStep(state, node.name) }, ...title);
  return make("span", {}, make("span", { class: "from" }, "from "), link);
}

/** `weights A, head 1`: the name and symbol of a step, and the slice of it, as texts and elements. */
function sliceTitle(page, node, { leading }) {
  return [`${node.name} `, symbolElement(node.symbol), sliceText(page, node, leading)];
}

/** Whether the table itself has the choice of the position on an axis: those of heads and batch items stand above. */
function hasChoice(page, letter) {
  return !"bhg".includes(letter) && page.axes[letter].length > 1;
}

/** A choice of the position on each leading axis for which the page has no selector of its own. */
function choicesOfLeading(state, node) {
  const { page, positions } = state.get();
  const leading = leadingIndex(page, node, positions);
  return node.axes.slice(0, -2).flatMap((letter, axis) => {
    if (!hasChoice(page, letter)) return [];
    const options = Array.from({ length: page.axes[letter].length }, (_, at) => make("option", { value: at, selected: at === leading[axis] }, placeLabel(page, letter, at)));
    const choose = (event) => state.update({ positions: movePosition(page, state.get().positions, letter, Number(event.target.value)) });
    return [make("select", { "aria-label": page.axes[letter].noun, onchange: choose }, ...options)];
  });
}

/** The button that begins to paint a mask, of the scores that it hides and of the weights. */
function maskButton(state, { name }) {
  const now = state.get();
  const isMasked = ["weights", "masked_scores"].some((result) => resultName(now, result) === name);
  if (!isMasked || now.mask !== null || whyNoPainting(now) !== null) return [];
  return [make("button", { type: "button", onclick: () => paintMask(state) }, "Paint a mask")];
}

/** The frame around the row of the word that is pointed at in the sentence, or around its column. */
function framesOfWord(state, { node, content }) {
  const table = sentenceTable(state);
  const { pointed, pinned } = state.get().sentence;
  if (table === null || !isPairTable(node) || (pointed ?? pinned) === null) return [];
  const { side, index } = wordInForce(state, table);
  const own = [index, index + 1];
  return [side === "query" ? { rows: own, columns: [0, content.columns], kind: "of-word" } : { rows: [0, content.rows], columns: own, kind: "of-word" }];
}

/** Frame the cell in view and the cells that it is made from. */
function markCells(state, tables) {
  if (tables.main === null) return;
  const { cell, pointed } = state.get();
  const index = indexInView(state);
  showSources(state, tables);
  const at = pointed ?? cell;
  const inView = at === null ? [] : [{ rows: [at[0], at[0] + 1], columns: [at[1], at[1] + 1], kind: "in-view" }];
  tables.main.table?.mark([...framesOfWord(state, tables.main), ...inView], cell);
  const blocks = index === null ? [] : blocksOf(withAnswers(state.get()), tables.node, index);
  tables.sources.forEach(({ table, node, content }, place) => {
    const own = blocks.filter(({ step, leading }) => step === node.name && String(leading) === String(content.leading));
    table.mark(own.map((block) => ({ ...block, kind: `operand-${place + 1}` })), null);
    if (own.length && cell !== null && pointed === null) table.reveal([own[0].rows[0], own[0].columns[0]]);
  });
}
