/* The tables that a step is made from: which slices of them are shown, and which of their cells a cell is made from. */

import { sourcesOf } from "./arithmetic.js";
import { leadingIndex, nodeOf } from "./slices.js";

/**
 * The nodes that a step is made from, each once, and the slice of each that is shown beside it.
 *
 * Where the cell in view is made from another slice than that in view, as of merged heads, it is that slice.
 */
export function slicesOfSources(state, node, index) {
  const at = index ?? node.axes.map(() => 0);
  const slices = new Map();
  for (const { step, index: read } of sourcesOf(node, at, state)) {
    const source = nodeOf(state, step);
    if (slices.has(step) || source === null || step === node.name) continue;
    slices.set(step, { node: source, leading: leadingOf(state, source, index === null ? null : read) });
  }
  return [...slices.values()];
}

/** The blocks of cells that a cell is made from: the step, its leading index, and [from, to] of rows and columns. */
export function blocksOf(state, node, index) {
  return sourcesOf(node, index, state).flatMap(({ step, index: read }) => {
    const source = nodeOf(state, step);
    const value = state.values.get(step);
    if (source === null || value === undefined) return [];
    const span = (axis) => {
      const length = value.shape.at(axis) ?? 1;
      const at = read.at(axis) ?? null;
      return at === null ? [0, length] : [Math.min(at, length - 1), Math.min(at, length - 1) + 1];
    };
    return [{ step, leading: leadingOf(state, source, read), rows: source.axes.length < 2 ? [0, 1] : span(-2), columns: span(-1) }];
  });
}

/** The index of a slice on the leading axes: as it is read, and in view where all positions are read. */
function leadingOf(state, source, read) {
  return leadingIndex(state.page, source, state.positions).map((inView, axis) => read?.[axis] ?? inView);
}
