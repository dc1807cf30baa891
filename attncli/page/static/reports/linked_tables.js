/* Linked tables: a cell that is pointed at or chosen in one of them is framed in all, and they scroll together. */

import { make } from "../elements.js";
import { legendOf } from "../legend.js";
import { makeTable } from "../table.js";
import { tableOverview } from "../thumbnail.js";

const MOST_WHOLE = 16; // columns of a table that is seen whole; wider ones are side by side, and are scrolled

/**
 * Figures of tables whose cells are linked, and a function that shows a cell of all of them.
 *
 * `tables` are what `makeTable` draws, each with a `name` and a `note`. `show` is called with the cell in view, null
 * for none, and whether it was chosen and is not only pointed at.
 */
export function linkTables(page, tables, show) {
  let chosen = null;
  const longest = tables.flatMap((table) => [...table.longest]);
  const areLarge = tables.some(({ columns }) => columns > MOST_WHOLE);
  const made = tables.map((table, at) => makeTable(areLarge ? { ...table, longest } : table, { // of one width, where they scroll together
    point: (cell) => frame(cell ?? chosen, cell === null),
    walk: (cell) => choose(cell, at),
    choose: (cell) => choose(cell, at),
  }));
  const has = (table, cell) => cell !== null && cell[0] < table.rows && cell[1] < table.columns;
  const frame = (cell, isChosen) => {
    made.forEach((each, at) => {
      const own = has(tables[at], cell) ? cell : null;
      each.mark(own === null ? [] : [{ rows: [own[0], own[0] + 1], columns: [own[1], own[1] + 1], kind: "" }], own);
    });
    show(cell, isChosen);
  };
  const choose = (cell, from = null) => {
    chosen = cell;
    made.forEach((each, at) => { if (at !== from && has(tables[at], cell)) each.reveal(cell); });
    frame(cell, true);
  };
  scrollTogether(made.map(({ element }) => element));
  const figures = tables.map((table, at) => make(
    "figure", { class: `heat-map linked${table.columns > MOST_WHOLE ? " is-large" : ""}` },
    make("figcaption", {}, make("span", {}, table.name), ...(table.note === "" ? [] : [make("span", { class: "from" }, table.note)])),
    ...tableOverview(page, table, made[at].element).elements,
    made[at].element, legendOf(page, table),
  ));
  return { figures, choose };
}

/** Scroll all elements to where one of them is scrolled. */
function scrollTogether(elements) {
  for (const element of elements) {
    element.addEventListener("scroll", () => {
      for (const other of elements) {
        if (other.scrollLeft !== element.scrollLeft) other.scrollLeft = element.scrollLeft;
        if (other.scrollTop !== element.scrollTop) other.scrollTop = element.scrollTop;
      }
    }, { passive: true });
  }
}

/** The name of a cell by its labels: `query cat, key sat`; a label that begins with its noun has no other. */
export function cellName(grid, nouns, [row, column]) {
  const named = (noun, label) => (noun === "" || label.startsWith(noun) ? label : `${noun} ${label}`);
  return [[nouns[0], grid.rows[row]], [nouns[1], grid.columns[column]]].map(([noun, label]) => named(noun, label ?? "")).filter((text) => text !== "").join(", ");
}
