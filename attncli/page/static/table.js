/* Tables as heat maps: cells that are walked with the arrow keys, pointed at and chosen, and frames around some of them. */

import { make } from "./elements.js";

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

/** The cell that a key goes to from a cell of a table with so many rows and columns; null where it goes nowhere. */
export function cellAfterKey(event, [row, column], rows, columns, rowsInView) {
  const isAll = event.ctrlKey || event.metaKey;
  const target = {
    ArrowUp: [isAll ? 0 : row - 1, column],
    ArrowDown: [isAll ? rows - 1 : row + 1, column],
    ArrowLeft: [row, isAll ? 0 : column - 1],
    ArrowRight: [row, isAll ? columns - 1 : column + 1],
    Home: [isAll ? 0 : row, 0],
    End: [isAll ? rows - 1 : row, columns - 1],
    PageUp: [row - rowsInView, column],
    PageDown: [row + rowsInView, column],
  }[event.key];
  if (target === undefined || event.altKey) return null;
  return [clamp(target[0], rows - 1), clamp(target[1], columns - 1)];
}

function clamp(at, last) {
  return Math.min(Math.max(at, 0), last);
}

/**
 * Open a field in a cell; it begins with a text, which is selected where it is that of the cell.
 *
 * Enter calls `accept` with what was written, which gives null, or what is wrong; that is then shown below the field.
 * Escape and leaving the field change nothing. `done` is called when the field is gone.
 */
export function openField(cell, text, isOwn, accept, done) {
  const content = [...cell.childNodes];
  const field = make("input", { type: "text", class: "cell-field", "aria-label": "New number", inputmode: "decimal", autocomplete: "off" });
  const error = make("span", { class: "field-error", role: "alert" });
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    cell.replaceChildren(...content);
    done();
  };
  field.value = text;
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    if (event.key !== "Enter") return;
    const wrong = accept(field.value.trim());
    error.textContent = wrong ?? "";
    if (wrong !== null) placeBelow(error, cell);
    field.setAttribute("aria-invalid", String(wrong !== null));
    if (wrong === null) close();
  });
  cell.replaceChildren(field, error);
  field.focus();
  if (isOwn) field.select();
}

/** Put an element below a cell and on the screen; it is fixed there, as what scrolls the table would cut it. */
function placeBelow(element, cell) {
  const { left, bottom } = cell.getBoundingClientRect();
  element.style.top = `${bottom}px`;
  element.style.left = `${Math.max(Math.min(left, document.documentElement.clientWidth - element.offsetWidth), 0)}px`;
}

const ALL_DRAWN = 1600; // a table of as many cells, or fewer, is drawn whole
const BEYOND = 2; // rows and columns that are drawn beyond each edge of what is in view
const MANY_COLUMNS = 12; // columns, beyond which cells are narrower, and labels that are wider are turned
const [WIDE_CELLS, NARROW_CELLS] = [{ least: 38, padding: 6, type: 13 }, { least: 26, padding: 4, type: 11 }];
const [MOST_LABEL, MOST_ROW_LABEL] = [84, 132];
export const CELL_HEIGHT = 30;

/**
 * The sizes of a table, in pixels: of a cell, of the headings of rows and of columns, of the type, and of the whole.
 *
 * Cells are as wide as the longest number, and as the longest label of a column up to a limit; of many columns labels
 * that are wider than the numbers are turned.
 */
export function tableSizes({ rows, columns, longest, rowLabels, columnLabels }) {
  const { least, padding, type } = columns > MANY_COLUMNS ? NARROW_CELLS : WIDE_CELLS;
  const numbers = Math.max(least, widest(longest, type, "") + padding);
  const labels = Math.min(widest(columnLabels, type), MOST_LABEL) + padding;
  const isTurned = columns > MANY_COLUMNS && labels > numbers;
  const cell = Math.ceil(isTurned ? numbers : Math.max(numbers, labels));
  const head = isTurned ? Math.ceil(labels + padding) : CELL_HEIGHT;
  const label = Math.ceil(Math.min(Math.max(widest(rowLabels, type) + padding, 28), MOST_ROW_LABEL));
  return { cell, head, label, type, isTurned, width: label + cell * columns, height: head + CELL_HEIGHT * rows };
}

/** The part of a table that is drawn: [from, to] of rows and of columns; all of it where it is small. */
export function drawnPart({ rows, columns }, sizes, scroller) {
  if (rows * columns <= ALL_DRAWN) return { rows: [0, rows], columns: [0, columns], isWhole: true };
  const height = scroller.clientHeight || innerHeight * 0.6; // it is drawn before it is in the document
  const width = scroller.clientWidth || innerWidth * 0.6;
  const part = (start, length, size, count) => {
    const from = Math.max(0, Math.floor(start / size) - BEYOND);
    return [from, Math.min(count, Math.ceil((start + length) / size) + BEYOND)];
  };
  return {
    rows: part(scroller.scrollTop, height, CELL_HEIGHT, rows),
    columns: part(scroller.scrollLeft, width, sizes.cell, columns),
    isWhole: false,
  };
}

/** The place of a block of cells in a table, as styles of an element that lies over it. */
export function placeOf({ rows, columns }, sizes) {
  return {
    left: `${sizes.label + columns[0] * sizes.cell}px`,
    top: `${sizes.head + CELL_HEIGHT * rows[0]}px`,
    width: `${(columns[1] - columns[0]) * sizes.cell}px`,
    height: `${(rows[1] - rows[0]) * CELL_HEIGHT}px`,
  };
}

/** Scroll a table so that a cell is in view, beside the headings and not under them. */
export function scrollToCell(scroller, [row, column], sizes) {
  const { scrollTop, scrollLeft, clientHeight, clientWidth } = scroller; // read at once: what is written asks for a layout
  const [top, left] = [row * CELL_HEIGHT, column * sizes.cell];
  const below = Math.max(Math.min(scrollTop, top), top + CELL_HEIGHT + sizes.head - clientHeight);
  const beside = Math.max(Math.min(scrollLeft, left), left + sizes.cell + sizes.label - clientWidth);
  if (below !== scrollTop) scroller.scrollTop = below;
  if (beside !== scrollLeft) scroller.scrollLeft = beside;
}

const measure = document.createElement("canvas").getContext("2d");
let family = null; // of the page's letters: asking for it lays the page out

/** The width of the widest of some texts, in pixels, as tables have them; of many, the longest few are measured. */
function widest(texts, type, weight = "600 ") {
  family ??= getComputedStyle(document.documentElement).fontFamily;
  measure.font = `${weight}${type}px ${family}`;
  const longest = [...new Set(texts)].sort((a, b) => b.length - a.length).slice(0, 24);
  return longest.reduce((most, text) => Math.max(most, measure.measureText(text.trim()).width), 0);
}
