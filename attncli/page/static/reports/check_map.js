/* The map of errors of a step: what was given, what is correct and the errors, with linked cells, and the worst cell. */

import { rangeOf } from "../color_scale.js";
import { longestDifferences, signedDifference, differenceText } from "./comparison_tables.js";
import { make } from "../elements.js";
import { cellName, linkTables } from "./linked_tables.js";
import { numberTable } from "../number_cells.js";
import { decimalText, numberStyle } from "../numerals.js";
import { readValue } from "../values.js";

const DIGITS = 3; // of the largest error

/** The elements of a map, under a heading of a level, "h2" or "h3". */
export function drawErrorMap(check, map, level) {
  const tables = make("div", { class: "linked-tables" });
  const readout = make("div", { class: "readout-numbers", "aria-live": "polite" });
  const draw = (at) => {
    const grids = gridsOfTable(map.tables[at]);
    const linked = linkTables(check, errorTables(check, map, grids), (cell) => {
      readout.replaceChildren(...(cell === null ? [] : cellText(check, map, grids, cell)));
    });
    tables.replaceChildren(...linked.figures);
    const inView = () => linked.choose(at === map.worst.table ? map.worst.cell : firstDifference(grids));
    if (tables.isConnected) inView();
    else requestAnimationFrame(inView); // what is not in the document can't be scrolled
  };
  const slices = map.tables.length > 1 ? [slicesList(map, draw)] : [];
  draw(map.worst.table);
  return [
    make(level, {}, `Where ${map.name} differs`), ...slices,
    make("div", { class: "error-map" }, tables, make("div", { class: "worst" }, readout, ...worstCell(map))),
  ];
}

function slicesList(map, draw) {
  const id = `slice-${map.name}-${Math.random().toString(36).slice(2)}`;
  const select = make("select", { id, onchange: () => draw(Number(select.value)) }, ...map.tables.map(({ label }, at) => make("option", { value: at }, label || `table ${at + 1}`)));
  select.value = String(map.worst.table);
  return make("div", { class: "selector" }, make("label", { for: id }, "Where"), select);
}

/** The worst cell, with the arithmetic of the correct number. */
function worstCell({ worst }) {
  return [
    ...worst.lines.map((line) => make("p", { class: "worst-line" }, line)),
    ...(worst.arithmetic.length === 0 ? [] : [make("div", { class: "text-lines arithmetic" }, ...worst.arithmetic.map((line) => make("p", {}, line)))]),
  ];
}

/** The tables of numbers that were given, of correct ones, and of errors: given less correct. */
function gridsOfTable(table) {
  const read = (data) => readValue([], { shape: table.shape, data }).data;
  const [yours, correct] = [read(table.yours), read(table.correct)];
  const isGiven = (at) => table.is_given === null || table.is_given[at] === 1;
  const errors = yours.map((number, at) => (isGiven(at) ? signedDifference(correct[at], number) : NaN));
  const grid = (data, others = {}) => ({ ...table, signs: null, data, ...others });
  return { yours: grid(yours), correct: grid(correct), errors: grid(errors, { hidden: null }), differs: table.differs, isGiven };
}

function errorTables(check, map, { yours, correct, errors, differs, isGiven }) {
  const both = [...yours.data.filter((_, at) => isGiven(at)), ...correct.data];
  const own = { range: rangeOf({ name: map.are_weights ? "weights" : "" }, { data: both }), style: numberStyle(both, check.decimals) };
  const apart = { range: rangeOf({ name: "" }, { data: errors.data }), style: errorStyle(errors.data, check.decimals) };
  const blank = (at) => (isGiven(at) ? null : "");
  const errorText = (at) => (!isGiven(at) ? "" : differs[at] === 1 ? differenceText(errors.data[at], apart.style) : "·");
  const errorTitle = (at) => (!isGiven(at) ? "not given" : differs[at] === 1 ? `differs by ${errors.data[at]}` : "agrees");
  const kindOfGiven = (table) => ({ ...table, kind: (at) => (isGiven(at) ? table.kind(at) : "not-given") });
  const made = numberTable(check, errors, { ...apart, text: errorText, title: errorTitle, caption: `Errors of ${map.name}` });
  return [
    { ...kindOfGiven(made), longest: longestDifferences(made.longest), name: "Error", note: `yours less correct${errors.label === "" ? "" : `, ${errors.label}`}` },
    { ...kindOfGiven(numberTable(check, yours, { ...own, text: blank, caption: `${map.name} as given` })), name: "Yours", note: "" },
    { ...numberTable(check, correct, { ...own, caption: `Correct ${map.name}` }), name: "Correct", note: "" },
  ];
}

/** The style of errors: as many decimals as other numbers, or as many as show DIGITS of the largest. */
function errorStyle(errors, decimals) {
  const largest = errors.reduce((most, error) => (Number.isFinite(error) ? Math.max(most, Math.abs(error)) : most), 0);
  return numberStyle(errors, Math.max(decimals, largest > 0 ? DIGITS - 1 - Math.floor(Math.log10(largest)) : 0));
}

/** The numbers of a cell in words: where it is, yours, correct, by how much they differ. */
function cellText(check, map, { yours, correct, errors, differs, isGiven }, cell) {
  const at = cell[0] * yours.shape[1] + cell[1];
  const style = numberStyle([yours.data[at], correct.data[at]], check.decimals + 2);
  const numbers = isGiven(at)
    ? [["yours", decimalText(yours.data[at], style)], ["correct", decimalText(correct.data[at], style)], ["error", differs[at] === 1 ? differenceText(errors.data[at], errorStyle([errors.data[at]], check.decimals)) : "none: it agrees"]]
    : [["yours", "not given"], ["correct", decimalText(correct.data[at], style)]];
  return [
    make("p", { class: "cell-name" }, `${map.name}: ${cellName(yours, map.nouns, cell)}`),
    make("dl", { class: "cell-numbers" }, ...numbers.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
  ];
}

function firstDifference({ differs, yours }) {
  const at = Math.max(differs.indexOf(1), 0);
  return [Math.floor(at / yours.shape[1]), at % yours.shape[1]];
}
