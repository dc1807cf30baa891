/* Tables as heat maps: cells that are walked with the arrow keys, pointed at and chosen, and frames around some of them. */

import { openField } from "./cell_field.js";
import { make } from "./elements.js";
import { cellAfterKey } from "./grid_keys.js";
import { drawnPart, placeOf, CELL_HEIGHT, scrollToCell, tableSizes } from "./table_layout.js";

/**
 * A table of `rows` × `columns` cells, as an element that shows it and functions that change what is marked in it.
 *
 * `table` has rows, columns, rowLabels, columnLabels, caption, corner, and for the cell at a position in order of rows
 * the functions `text`, `kind` (its class), `colors`, `title` and `mark`, in an exercise `wrong` (what is struck through); `longest` has the widest of the texts.
 * `handlers` are called with [row, column]: `point` (null where the pointer left), `walk`, `choose`, and `edit` with a
 * text, where cells can be edited, which gives null or what is wrong; `textOf` gives the text that an edit begins with.
 */
export function makeTable(first, handlers) {
  let table = first;
  const sizes = tableSizes(table);
  const scroller = make("div", { class: "table-scroller" });
  const frames = make("div", { class: "frames", "aria-hidden": "true" });
  const grid = make("table", { role: "grid", "aria-rowcount": table.rows + 1, "aria-colcount": table.columns + 1 });
  grid.classList.toggle("is-turned", sizes.isTurned);
  grid.style.fontSize = `${sizes.type}px`;
  grid.style.setProperty("--head", `${sizes.head}px`);
  const sizer = make("div", { class: "table-sizer" }, grid, frames);
  sizer.style.width = `${sizes.width}px`;
  sizer.style.height = `${sizes.height}px`;
  scroller.style.scrollPadding = `${sizes.head}px 0 0 ${sizes.label}px`; // headings lie over what is scrolled
  scroller.append(sizer);
  let part = null;
  let current = [0, 0]; // the cell that takes the focus

  const cellElement = ([row, column]) => grid.tBodies[0]?.rows[row - part.rows[0]]?.cells[column - part.columns[0] + 1] ?? null;
  const drawPart = () => {
    const next = drawnPart(table, sizes, scroller);
    if (part !== null && sameRange(part.rows, next.rows) && sameRange(part.columns, next.columns)) return;
    const hadFocus = grid.contains(document.activeElement);
    part = next;
    fillGrid(grid, table, part, sizes);
    setCurrent(current);
    if (hadFocus) cellElement(current)?.focus({ preventScroll: true });
  };
  const setCurrent = (cell) => {
    const before = grid.querySelector("td[tabindex='0']");
    before?.setAttribute("tabindex", "-1");
    current = cell;
    (cellElement(cell) ?? grid.querySelector("td"))?.setAttribute("tabindex", "0");
  };
  const cellOf = (target) => {
    const cell = target.closest("td");
    return cell === null ? null : [cell.parentElement.rowIndex - 1 + part.rows[0], cell.cellIndex - 1 + part.columns[0]];
  };
  const goTo = (cell) => {
    scrollToCell(scroller, cell, sizes);
    drawPart();
    setCurrent(cell);
    cellElement(cell).focus({ preventScroll: true });
    cellElement(cell).scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const edit = (cell, text) => openField(cellElement(cell), text ?? handlers.textOf(cell), text === null, (written) => handlers.edit(cell, written), () => cellElement(cell)?.focus());

  scroller.addEventListener("scroll", () => requestAnimationFrame(drawPart), { passive: true });
  new ResizeObserver(drawPart).observe(scroller);
  grid.addEventListener("pointerover", (event) => { if (event.pointerType === "mouse") handlers.point(cellOf(event.target)); });
  grid.addEventListener("pointerleave", () => handlers.point(null));
  grid.addEventListener("click", (event) => {
    const cell = cellOf(event.target);
    if (cell === null || event.target.closest("input")) return;
    goTo(cell);
    handlers.choose(cell);
  });
  grid.addEventListener("dblclick", (event) => {
    const cell = cellOf(event.target);
    if (cell !== null && handlers.edit && !event.target.closest("input")) edit(cell, null);
  });
  grid.addEventListener("keydown", (event) => {
    const cell = cellOf(event.target);
    if (cell === null || event.target.closest("input")) return;
    const rowsInView = Math.max(Math.floor(scroller.clientHeight / CELL_HEIGHT) - 2, 1);
    const next = cellAfterKey(event, cell, table.rows, table.columns, rowsInView);
    const startsEdit = handlers.edit && (event.key === "F2" || (/^[-−+.\d]$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey));
    if (next !== null) { goTo(next); handlers.walk(next); }
    else if (event.key === "Enter" || event.key === " ") handlers.choose(cell);
    else if (startsEdit) edit(cell, event.key === "F2" ? null : event.key);
    else return;
    event.preventDefault();
  });
  drawPart();
  return {
    element: scroller,
    /** Show another table of the same rows and columns in its place; false where its numbers need other widths. */
    refill(next) {
      const isSame = ["rowLabels", "columnLabels"].every((name) => next[name].join() === table[name].join());
      if (!isSame || tableSizes(next).cell > sizes.cell || grid.contains(document.activeElement)) return false;
      refillGrid(grid, table, next, part);
      table = next;
      return true;
    },
    /** Frame blocks of cells, each {rows, columns, kind}, and mark the cell in view or none. */
    mark(blocks, cell) {
      frames.replaceChildren(...blocks.map((block) => {
        const frame = make("div", { class: `frame ${block.kind}` });
        Object.assign(frame.style, placeOf(block, sizes));
        return frame;
      }));
      grid.querySelectorAll("[aria-selected]").forEach((element) => element.removeAttribute("aria-selected"));
      if (cell !== null) cellElement(cell)?.setAttribute("aria-selected", "true");
    },
    /** Scroll to a cell, so that it is in view, and have the focus go there next. */
    reveal(cell) {
      scrollToCell(scroller, cell, sizes);
      drawPart();
      setCurrent(cell);
    },
    /** Put the focus on the cell that takes it. */
    focus: () => goTo(current),
  };
}

function sameRange(one, other) {
  return one[0] === other[0] && one[1] === other[1];
}

/** Write the numbers of a part of a table anew into the cells that had those of another. */
function refillGrid(grid, before, table, part) {
  const hasSameColors = JSON.stringify(before.range) === JSON.stringify(table.range);
  const looks = ({ text, kind, mark, wrong }, at) => `${text(at)} ${kind(at)} ${mark(at)} ${wrong?.(at)}`;
  const isSame = (at) => hasSameColors && Object.is(before.data[at], table.data[at]) && looks(before, at) === looks(table, at);
  [...grid.tBodies[0].rows].forEach((row, down) => {
    const first = (part.rows[0] + down) * table.columns + part.columns[0];
    [...row.cells].slice(1).forEach((cell, across) => {
      if (!isSame(first + across)) fillCell(cell, table, first + across);
    });
  });
}

/** Write the headings and cells of a part of a table into its element. */
function fillGrid(grid, table, part, sizes) {
  const columns = positionsIn(part.columns);
  grid.style.left = `${part.columns[0] * sizes.cell}px`;
  grid.style.top = `${part.rows[0] * CELL_HEIGHT}px`;
  grid.style.width = `${sizes.label + columns.length * sizes.cell}px`;
  const widths = make("colgroup", {}, columnElement(sizes.label), ...columns.map(() => columnElement(sizes.cell)));
  const top = make("tr", { "aria-rowindex": 1 }, make("th", { class: "corner", scope: "col" }, table.corner), ...columns.map((at) => headingCell("col", table.columnLabels[at], at)));
  const body = positionsIn(part.rows).map((row) => make(
    "tr", { "aria-rowindex": row + 2 }, headingCell("row", table.rowLabels[row], -1),
    ...columns.map((at) => numberCell(table, row, at)),
  ));
  const caption = make("caption", { class: "visually-hidden" }, table.caption);
  grid.replaceChildren(caption, widths, make("thead", {}, top), make("tbody", {}, ...body));
}

function positionsIn([from, to]) {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

function columnElement(width) {
  const element = make("col");
  element.style.width = `${width}px`;
  return element;
}

function headingCell(scope, label, at) {
  return make("th", { scope, title: label, "aria-colindex": at + 2 }, make("bdi", {}, label));
}

function numberCell(table, row, column) {
  const element = make("td", { tabindex: "-1", "aria-colindex": column + 2 });
  fillCell(element, table, row * table.columns + column);
  return element;
}

function fillCell(element, table, at) {
  element.className = table.kind(at);
  element.title = table.title(at);
  element.textContent = table.text(at);
  Object.assign(element.style, table.colors(at) ?? { background: "", color: "" });
  if (table.mark(at) !== "") element.append(make("span", { class: "change-mark" }, table.mark(at)));
  if (table.wrong?.(at)) element.append(make("s", { class: "wrong-answer", title: `yours: ${table.wrong(at)}` }, table.wrong(at)));
}
