/* The tables that a step is made from: which slices of them are shown, and which of their cells a cell is made from. */

import { leadingIndex, nodeOf } from "./slices.js";
import { sourcesOf } from "./sources.js";

/**
 * The nodes that a step is made from, each once, and the slice of each that is shown beside it.
 *
 * Where the cell in view is made from another slice than that in view, as of merged heads, it is that slice.
 */
export function slicesOfSources(state, node, index) {
  const at = index ?? node.axes.map(() => 0);
  const slices = new Map();
  for (const { step, ranges } of sourcesOf(node, state.nodes, at)) {
    const source = nodeOf(state, step);
    if (slices.has(step) || source === null || step === node.name) continue;
    const inView = leadingIndex(state.page, source, state.positions);
    const leading = inView.map((position, axis) => (index !== null && countOf(ranges[axis]) === 1 ? spansOf(ranges[axis])[0][0] : position));
    slices.set(step, { node: source, leading });
  }
  return [...slices.values()];
}

/** The blocks of cells that a cell is made from: the step, its leading index, and [from, to] of rows and columns. */
export function blocksOf(state, node, index) {
  return sourcesOf(node, state.nodes, index).flatMap(({ step, ranges }) => {
    const source = nodeOf(state, step);
    if (source === null) return [];
    const inView = leadingIndex(state.page, source, state.positions);
    const leading = inView.map((position, axis) => (countOf(ranges[axis]) === 1 ? spansOf(ranges[axis])[0][0] : position));
    const [rows, columns] = [ranges.at(-2) ?? [0, 1], ranges.at(-1) ?? [0, 1]];
    return spansOf(rows).flatMap((row) => spansOf(columns).map((column) => ({ step, leading, rows: row, columns: column })));
  });
}

/** A range as a list of [from, to]; it is one of these, or such a list. */
function spansOf(range) {
  return Array.isArray(range[0]) ? range : [range];
}

function countOf(range) {
  return spansOf(range).reduce((sum, [from, to]) => sum + to - from, 0);
}
