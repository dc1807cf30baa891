/* The layout of a table: sizes of its cells, and which rows and columns are drawn of a table that is too large. */

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
