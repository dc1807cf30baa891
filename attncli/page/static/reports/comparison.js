/* The page of a comparison: tables of variants with linked cells, their differences, and controls of what is shown. */

import { make } from "../elements.js";
import { decimalText, numberStyle } from "../numerals.js";
import { differenceGrid, differenceText, gridsOf, signedDifference, tablesOf } from "./comparison_tables.js";
import { cellName, linkTables } from "./linked_tables.js";
import { drawReportHeading, verdictElement } from "./report_parts.js";
import { valueChart } from "./value_chart.js";

const MOST_TOGETHER = 4; // variants that are side by side at first
const comparison = JSON.parse(document.getElementById("content").textContent);
const LAST = comparison.results.length - 1;
const isNumeric = comparison.keys.some(({ numbers, values }) => numbers !== null && values.length > 2);
const start = {
  result: Math.max(comparison.results.findIndex((result) => result.are_weights), LAST < 0 ? -1 : 0),
  slice: 0,
  baseline: 0, // the position of the variant that others are compared with
  variant: comparison.variants.length - 1, // the one in view
  isTogether: comparison.variants.length <= (isNumeric ? 2 : MOST_TOGETHER),
  cell: null, // that was chosen
};
const shown = { ...start, ...stateOfAddress() };
let isDrawing = false;

const headline = make("div", {}, verdictElement(comparison.verdict));
const tables = make("div", { class: "linked-tables" });
const readout = make("section", { class: "readout", "aria-label": "The cell in view" });
const controls = make("div", { class: "report-controls", role: "group", "aria-label": "What is shown" });

drawReportHeading(comparison, comparison.about);
document.getElementById("report").append(
  headline,
  ...(LAST < 0 ? [] : [controls, make("div", { class: "beside" }, tables, readout)]),
  make("details", { class: "in-words" }, make("summary", {}, "What differs, in words"), ...comparison.differences.flatMap(differencesInWords)),
);
if (LAST >= 0) draw();
// Variants that are higher than the screen side by side are seen one at a time, unless that is chosen.
if (shown.isTogether && comparison.variants.length > 2 && location.hash === "" && tables.offsetHeight > innerHeight) choose({ isTogether: false });

/** Change what is shown. */
function choose(changes) {
  Object.assign(shown, changes);
  draw();
  keepAddress();
}

/** Draw the tables of what is shown. */
function draw() {
  isDrawing = true; // the cell that is in view at first is not one that was chosen
  const drawn = tablesOf(comparison, shown);
  const [verdict, ...facts] = comparison.results[shown.result].verdict.split("; ");
  headline.replaceChildren(verdictElement(verdict), make("p", { class: "verdict-facts" }, facts.join("; ")));
  comparisonControls(controls, comparison, shown, choose);
  const linked = linkTables(comparison, drawn.map(({ table }) => table), (cell, isChosen) => {
    drawReadout(readout, comparison, shown, cell);
    readout.classList.toggle("is-high", readout.offsetHeight > innerHeight / 4); // it would hide what it is about
    if (!isChosen || isDrawing) return;
    shown.cell = cell;
    keepAddress();
  });
  tables.replaceChildren(...inColumns(drawn, linked.figures));
  linked.choose(shown.cell ?? largestDifference());
  isDrawing = false;
}

/** The differences of variants from one of them: the label of each, and its lines with what they are of in front. */
function differencesInWords([title, variants]) {
  const line = (text) => {
    const [name, ...others] = text.split(": ");
    return others.length === 0 ? make("p", {}, text) : make("p", {}, make("strong", {}, `${name}: `), others.join(": "));
  };
  const entries = variants.flatMap(([label, first, ...lines]) => [make("dt", {}, label), make("dd", {}, make("p", {}, first), ...lines.map(line))]);
  return [make("h2", {}, title), make("dl", { class: "reasons differences" }, ...entries)];
}

/** The figures of the tables, that of a difference below its variant where several are side by side. */
function inColumns(drawn, figures) {
  if (!shown.isTogether || comparison.variants.length === 2) return figures;
  const columns = comparison.variants.map((_, variant) => figures.filter((_, at) => drawn[at].variant === variant));
  return columns.filter((own) => own.length > 0).map((own) => make("div", { class: "table-column" }, ...own));
}

/** The cell in which the variant in view differs most from the one that it is compared with. */
function largestDifference() {
  const grids = gridsOf(comparison, shown);
  const grid = differenceGrid(grids[shown.baseline], grids[shown.variant]);
  if (grid === null) return [0, 0];
  const sizes = Array.from(grid.data, (number) => (Number.isFinite(number) ? Math.abs(number) : 0));
  const at = sizes.indexOf(sizes.reduce((most, size) => Math.max(most, size), 0));
  return [Math.floor(at / grid.shape[1]), at % grid.shape[1]];
}

function keepAddress() {
  const { name } = comparison.results[shown.result];
  const parts = [["result", name], ["slice", shown.slice], ["from", shown.baseline], ["variant", shown.variant], ["together", Number(shown.isTogether)], ["cell", shown.cell?.join(",") ?? ""]];
  history.replaceState(null, "", `#${new URLSearchParams(parts)}`.replaceAll("%2C", ","));
}

/** What the address says is shown, as far as this page has it. */
function stateOfAddress() {
  const named = new URLSearchParams(location.hash.slice(1));
  const result = comparison.results.findIndex(({ name }) => name === named.get("result"));
  if (result < 0) return {};
  const within = (name, count, other) => (/^\d+$/.test(named.get(name) ?? "") && Number(named.get(name)) < count ? Number(named.get(name)) : other);
  const cell = (named.get("cell") ?? "").split(",");
  const grids = comparison.results[result].tables.find((own) => own.length > 0);
  const [rows, columns] = grids[0].shape;
  const isCell = cell.length === 2 && cell.every((part, axis) => /^\d+$/.test(part) && Number(part) < [rows, columns][axis]);
  return {
    result,
    slice: within("slice", grids.length, 0),
    baseline: within("from", comparison.variants.length, 0),
    variant: within("variant", comparison.variants.length, start.variant),
    isTogether: named.get("together") === null ? start.isTogether : named.get("together") === "1",
    cell: isCell ? cell.map(Number) : null,
  };
}

/** Draw the controls; they stay as they are where what they choose from is drawn already. */
export function comparisonControls(element, comparison, shown, choose) {
  if (element.childElementCount === 0 || element.dataset.result !== String(shown.result) || element.dataset.together !== String(shown.isTogether)) {
    element.dataset.result = shown.result;
    element.dataset.together = shown.isTogether;
    const focused = document.activeElement?.id;
    element.replaceChildren(...controlsOf(comparison, shown, choose));
    if (focused) document.getElementById(focused)?.focus();
  }
  for (const control of element.querySelectorAll("[data-key]")) showValue(control, comparison, shown);
}

function controlsOf(comparison, shown, choose) {
  const { results, variants } = comparison;
  const slices = results[shown.result].tables.find((own) => own.length > 0).map(({ label }) => label);
  const controls = [];
  if (results.length > 1) controls.push(list("result", "Result", results.map(({ name }) => name), shown.result, (result) => choose({ result, slice: 0, cell: null })));
  if (slices.length > 1) controls.push(list("slice", "Slice", slices, shown.slice, (slice) => choose({ slice })));
  if (variants.length > 2) {
    controls.push(list("baseline", "Compared with", variants.map(({ title }) => title), shown.baseline, (baseline) => choose({ baseline })));
    const box = make("input", { type: "checkbox", id: "together", onchange: () => choose({ isTogether: box.checked }) });
    box.checked = shown.isTogether;
    controls.push(make("div", { class: "selector" }, box, make("label", { for: "together" }, `All ${variants.length} side by side`)));
    if (!shown.isTogether) controls.push(...keyControls(comparison, shown, choose));
  }
  return controls;
}

function list(id, label, texts, value, onchoose) {
  const select = make("select", { id, onchange: () => onchoose(Number(select.value)) }, ...texts.map((text, at) => make("option", { value: at }, text)));
  select.value = String(value);
  return make("div", { class: "selector" }, make("label", { for: id }, label), select);
}

/** A slider for each key whose values are numbers, a list for others; of variants without keys one list of them. */
function keyControls(comparison, shown, choose) {
  const { keys, variants } = comparison;
  const several = keys.filter(({ values }) => values.length > 1);
  if (several.length === 0) return [list("variant", "Variant", variants.map(({ title }) => title), shown.variant, (variant) => choose({ variant }))];
  return several.map((key, at) => {
    const go = (position) => choose({ variant: variantWith(comparison, shown.variant, key.name, key.values[position]) });
    const id = `key-${at}`;
    if (key.numbers === null) {
      const control = list(id, key.name, key.values, 0, go);
      control.querySelector("select").dataset.key = at;
      return control;
    }
    const slider = make("input", { type: "range", id, min: 0, max: key.values.length - 1, step: 1, "data-key": at, oninput: () => go(orderOf(key)[Number(slider.value)]) });
    return make("div", { class: "selector slider" }, make("label", { for: id }, key.name), slider, make("output", { for: id }));
  });
}

/** The positions of the values of a key, from the least number to the largest. */
function orderOf({ numbers }) {
  return [...numbers.keys()].sort((a, b) => numbers[a] - numbers[b]);
}

/** The variant that has another value of one key, and is otherwise as the one in view; the first that has it, else. */
function variantWith({ variants }, current, name, value) {
  const wanted = { ...variants[current].keys, [name]: value };
  const exact = variants.findIndex(({ keys }) => Object.entries(wanted).every(([key, text]) => keys[key] === text));
  return exact >= 0 ? exact : variants.findIndex(({ keys }) => keys[name] === value);
}

/** Show in a control the value of the variant in view. */
function showValue(control, { keys, variants }, shown) {
  const key = keys[Number(control.dataset.key)];
  const text = variants[shown.variant].keys[key.name] ?? "";
  const at = key.values.indexOf(text);
  if (key.numbers === null) { control.value = String(at); return; }
  control.value = String(orderOf(key).indexOf(at));
  control.setAttribute("aria-valuetext", `${key.name} ${text}`);
  control.nextElementSibling.textContent = text;
}

/** Draw the numbers of a cell; nothing without one. */
export function drawReadout(element, comparison, shown, cell) {
  const grids = gridsOf(comparison, shown);
  const result = comparison.results[shown.result];
  const first = grids.find((grid) => grid !== null && cell !== null && cell[0] < grid.shape[0] && cell[1] < grid.shape[1]);
  if (first === undefined) { element.replaceChildren(); return; }
  const numbers = grids.map((grid) => numberOf(grid, cell));
  const isShown = (at) => numbers[at] !== null && (shown.isTogether || at === shown.baseline || at === shown.variant);
  const positions = [...grids.keys()].filter(isShown);
  const rows = positions.map((at) => readoutRow(comparison, shown, grids, numbers, at, cell));
  const head = make("tr", {}, ...["variant", result.name, "difference"].map((text) => make("th", { scope: "col" }, text)));
  const table = make("table", { class: "readout-numbers" }, make("thead", {}, head), make("tbody", {}, ...rows));
  const scroller = make("div", { class: "readout-scroller", tabindex: "0", role: "group", "aria-label": "Numbers of the cell" }, table);
  const name = make("h2", {}, `${result.name}: ${cellName(first, result.nouns, cell)}`);
  element.replaceChildren(make("div", {}, name, scroller), ...charts(comparison, shown, grids, cell));
}

function numberOf(grid, [row, column]) {
  if (grid === null || row >= grid.shape[0] || column >= grid.shape[1]) return null;
  return grid.data[row * grid.shape[1] + column];
}

function readoutRow(comparison, shown, grids, numbers, at, [row, column]) {
  const style = numberStyle(numbers.filter((number) => number !== null), comparison.decimals);
  const index = row * grids[at].shape[1] + column;
  const before = numbers[shown.baseline];
  const text = grids[at].signs?.[index] ?? decimalText(numbers[at], style);
  const difference = at === shown.baseline ? "–" : before === null ? "" : differenceText(signedDifference(before, numbers[at]), style);
  return make(
    "tr", {}, make("th", { scope: "row" }, comparison.variants[at].title),
    make("td", { title: `${numbers[at]}` }, grids[at].hidden?.[index] ? `${text} (hidden)` : text),
    make("td", { class: at === shown.baseline ? "from" : "" }, difference),
  );
}

/** A chart of the row in view over the key whose values are numbers, with what else is varied as in the variant in view. */
function charts(comparison, shown, grids, [row, column]) {
  const key = comparison.keys.find(({ numbers, values }) => numbers !== null && values.length > 2);
  if (key === undefined) return [];
  const { variants } = comparison;
  const isSame = (keys) => comparison.keys.every(({ name }) => name === key.name || keys[name] === variants[shown.variant].keys[name]);
  const numberOfKey = (at) => key.numbers[key.values.indexOf(variants[at].keys[key.name])];
  const positions = [...variants.keys()].filter((at) => isSame(variants[at].keys) && numberOf(grids[at], [row, column]) !== null);
  positions.sort((a, b) => numberOfKey(a) - numberOfKey(b));
  const grid = grids[positions[0]];
  if (grid === undefined) return [];
  const series = grid.columns.map((label, at) => ({
    label, isInView: at === column, numbers: positions.map((position) => numberOf(grids[position], [row, at]) ?? NaN),
  }));
  const inView = positions.indexOf(shown.variant);
  return [valueChart({
    title: `${cellName(grid, comparison.results[shown.result].nouns, [row, column])} over ${key.name}; grey: the rest of its row`, axis: key.name,
    values: positions.map((at) => ({ text: variants[at].keys[key.name], number: numberOfKey(at) })),
    series, at: inView < 0 || shown.isTogether ? null : inView, decimals: comparison.decimals,
  })];
}
