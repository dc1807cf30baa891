/* The keys of a table: where each of them goes from a cell. */

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
