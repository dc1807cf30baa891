/* The page of a comparison: tables of variants with linked cells, their differences, and controls of what is shown. */

import { comparisonControls } from "./comparison_controls.js";
import { differenceGrid, gridsOf, tablesOf } from "./comparison_tables.js";
import { drawReadout } from "./comparison_readout.js";
import { make } from "../elements.js";
import { linkTables } from "./linked_tables.js";
import { drawReportHeading, verdictElement } from "./report_parts.js";

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
