/* The page on paper: every step of the head in view, one after another, with its formula and its table. */

import { make } from "./elements.js";
import { legendOf } from "./legend.js";
import { leadingIndex, nodeOf, sliceText } from "./slices.js";
import { formulaElement } from "./step_head.js";
import { sectionsOf } from "./step_order.js";
import { stepTable } from "./step_table.js";
import { symbolElement } from "./symbols.js";
import { thumbnail } from "./thumbnail.js";

const MOST_COLUMNS = 14; // a table of more, or of more rows than the next number, is printed as a picture
const MOST_ROWS = 40;

/** Fill an element with all steps while the page is printed. */
export function printAll(element, state) {
  addEventListener("beforeprint", () => element.replaceChildren(...sectionsOf(state.get()).map((section) => printedStep(state, section))));
  addEventListener("afterprint", () => element.replaceChildren());
}

function printedStep(state, section) {
  const { number, names } = section;
  const now = state.get();
  const node = nodeOf(now, names[0]);
  const table = stepTable(now, node);
  const title = `${number === null ? "" : `${number}. `}${names.join(", ")} `;
  const place = sliceText(now.page, node, leadingIndex(now.page, node, now.positions));
  return make(
    "section", { class: number === null ? "printed-input" : "printed-step" },
    make("h2", {}, title, symbolElement(node.symbol), make("span", { class: "note" }, place)),
    make("p", { class: "purpose" }, section.purpose ?? node.purpose),
    formulaElement(state, node, section),
    make("p", { class: "shapes" }, node.shapes),
    ...(table === null ? [] : [printedTable(now, node, table), legendOf(now.page, table)]),
  );
}

function printedTable(state, node, table) {
  if (table.rows > MOST_ROWS || table.columns > MOST_COLUMNS) return thumbnail(state.page, node, state.values.get(node.name), state.positions);
  const cell = (at) => {
    const element = make("td", { class: table.kind(at) }, table.text(at), table.mark(at));
    Object.assign(element.style, table.colors(at));
    return element;
  };
  const head = make("tr", {}, make("th", { scope: "col" }, table.corner), ...table.columnLabels.map((label) => make("th", { scope: "col" }, label)));
  const rows = table.rowLabels.map((label, row) => make("tr", {}, make("th", { scope: "row" }, label), ...table.columnLabels.map((_, column) => cell(row * table.columns + column))));
  return make("table", {}, make("caption", { class: "visually-hidden" }, table.caption), make("thead", {}, head), make("tbody", {}, ...rows));
}
