/* The numbers of the cell in view in every variant, their differences, and a chart where a number is varied. */

import { signedDifference, differenceText, gridsOf } from "./comparison_tables.js";
import { make } from "../elements.js";
import { cellName } from "./linked_tables.js";
import { decimalText, numberStyle } from "../numerals.js";
import { valueChart } from "./value_chart.js";

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
