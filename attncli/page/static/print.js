/* The page on paper: every step in two columns, with its formula and its tables of all heads of the batch item in view. */

import { make, symbolElement } from "./elements.js";
import { legendOf } from "./legend.js";
import { leadingIndex, movePosition, nodeOf, sliceText } from "./slices.js";
import { formulaElement } from "./step_head.js";
import { sectionsOf } from "./step_order.js";
import { stepTable } from "./step_table.js";
import { thumbnail } from "./thumbnail.js";

const MOST_COLUMNS = 14; // a table of more, or of more rows than the next number, is printed as a picture
const MOST_ROWS = 40;
const NARROW_COLUMNS = 8; // a table of more needs both columns of the paper

/** Fill an element with all steps while the page is printed. */
export function printAll(element, state) {
  addEventListener("beforeprint", () => element.replaceChildren(...sectionsOf(state.get()).map((section) => printedStep(state, section))));
  addEventListener("afterprint", () => element.replaceChildren());
}

function printedStep(state, section) {
  const { number, names } = section;
  const now = state.get();
  const node = nodeOf(now, names[0]);
  const title = `${number === null ? "" : `${number}. `}${names.join(", ")} `;
  return make(
    "section", { class: isWide(node) ? "printed-step is-wide" : "printed-step" },
    make("h2", {}, title, symbolElement(node.symbol)),
    make("p", { class: "purpose" }, section.purpose ?? node.purpose),
    formulaElement(state, node, section),
    make("p", { class: "shapes" }, node.shapes),
    make("div", { class: "printed-tables" }, ...headPositions(now, node).map((positions) => printedTable(now, node, positions))),
  );
}

/** Whether the table of a step needs both columns of the paper. */
function isWide({ shape }) {
  return (shape.at(-1) ?? 1) > NARROW_COLUMNS && (shape.at(-1) ?? 1) <= MOST_COLUMNS;
}

/** The positions of the tables of a step: of every head, where it has heads. */
function headPositions({ page, positions }, { axes }) {
  const letter = axes.slice(0, -2).find((one) => "hg".includes(one));
  if (letter === undefined) return [positions];
  return Array.from({ length: page.axes[letter].length }, (_, at) => movePosition(page, positions, letter, at));
}

/** The table of a step at the positions of a head, with its place and its legend; nothing where it has no numbers. */
function printedTable(now, node, positions) {
  const leading = leadingIndex(now.page, node, positions);
  const table = stepTable(now, node, leading);
  if (table === null) return "";
  const place = sliceText(now.page, node, leading).replace(/^, /, "");
  return make("figure", {}, ...(place === "" ? [] : [make("figcaption", {}, place)]), printedCells(now, node, table, positions), legendOf(now.page, table));
}

function printedCells(state, node, table, positions) {
  if (table.rows > MOST_ROWS || table.columns > MOST_COLUMNS) return thumbnail(state.page, node, state.values.get(node.name), positions);
  const cell = (at) => {
    const element = make("td", { class: table.kind(at) }, table.text(at), table.mark(at));
    Object.assign(element.style, table.colors(at));
    return element;
  };
  const head = make("tr", {}, make("th", { scope: "col" }, table.corner), ...table.columnLabels.map((label) => make("th", { scope: "col" }, label)));
  const rows = table.rowLabels.map((label, row) => make("tr", {}, make("th", { scope: "row" }, label), ...table.columnLabels.map((_, column) => cell(row * table.columns + column))));
  const columns = { style: `--columns: ${table.columns + 1}` };
  return make("table", columns, make("caption", { class: "visually-hidden" }, table.caption), make("thead", {}, head), make("tbody", {}, ...rows));
}
