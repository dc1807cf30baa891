/* Slices: the part of a step's value with two axes that is in view, and the cells of it. */

import { strides } from "./values.js";

/** The node of a step in the plan in force; null where the plan has none of that name. */
export function nodeOf({ nodes }, step) {
  return nodes.find(({ name }) => name === step) ?? null;
}

/** The places of a trail whose steps are among some nodes: a change may take a step out of the plan. */
export function placesAmong(nodes, trail) {
  return trail.filter(({ step }) => nodes.some(({ name }) => name === step));
}

/** The position in view on an axis: that of a key head follows from the query head that reads it. */
function positionOn(page, positions, letter) {
  if (letter in positions) return positions[letter];
  if (letter !== "g" || !page.axes.h) return 0;
  return Math.floor((positions.h * page.axes.g.length) / page.axes.h.length);
}

/** The positions in view after moving to a position on an axis. */
export function movePosition(page, positions, letter, at) {
  if (letter !== "g" || !page.axes.h) return { ...positions, [letter]: at };
  const share = page.axes.h.length / page.axes.g.length;
  return Math.floor(positions.h / share) === at ? positions : { ...positions, h: at * share };
}

/** The index on the axes before the last two, in a value of a shape that may broadcast. */
export function leadingIndex(page, node, positions) {
  return node.axes.slice(0, -2).map((letter) => positionOn(page, positions, letter));
}

/** The index of a cell of a slice on all axes of its value: a vector is a row, a number a row of one. */
export function indexOfCell(leading, dimensions, [row, column]) {
  return [...leading, row, column].slice(2 - Math.min(dimensions, 2));
}

/** The cell of an index on all axes of a value. */
export function cellOfIndex(index) {
  return [index.length > 1 ? index[index.length - 2] : 0, index.length > 0 ? index[index.length - 1] : 0];
}

/**
 * A slice of a value: `rows`, `columns`, its numbers in order of rows, and the position of the first in the value.
 *
 * `leading` is the index on the axes before the last two; on an axis of length 1, which broadcasts, the position is 0.
 */
export function sliceOf(value, leading) {
  const { shape } = value;
  const rows = shape.length > 1 ? shape[shape.length - 2] : 1;
  const columns = shape.length > 0 ? shape[shape.length - 1] : 1;
  const steps = strides(shape);
  const start = leading.reduce((sum, at, axis) => sum + Math.min(at, shape[axis] - 1) * steps[axis], 0);
  return { rows, columns, start, data: value.data.subarray(start, start + rows * columns) };
}

/** The indices of all slices of a value on the axes before its last two, in their order. */
export function indicesOfSlices({ shape }) {
  return shape.slice(0, -2).reduce((indices, length) => indices.flatMap((index) => Array.from({ length }, (_, at) => [...index, at])), [[]]);
}

/** The labels of the rows and of the columns of a slice; one row that serves every query is named so. */
export function sliceLabels(page, node, slice) {
  const [rows, columns] = node.labels;
  if (node.axes.length < 2) return { rows: [node.symbol], columns: columns.length ? columns : [""] };
  return { rows: fitLabels(rows, slice.rows, page, node.axes.at(-2)), columns: fitLabels(columns, slice.columns, page, node.axes.at(-1)) };
}

function fitLabels(labels, length, page, letter) {
  if (labels.length === length) return labels;
  if (length === 1) return [`every ${page.axes[letter].noun}`];
  return Array.from({ length }, (_, at) => `${letter}${at + 1}`);
}

/** Which slice of a step it is: `, head 1`; empty of a step with no other axes than rows and columns. */
export function sliceText(page, node, leading) {
  return node.axes.slice(0, -2).map((letter, axis) => `, ${placeLabel(page, letter, leading[axis])}`).join("");
}

/** The label of a position on an axis: `head 1`, `query cat`. */
export function placeLabel(page, letter, at) {
  const { noun, labels } = page.axes[letter];
  const label = labels[at] ?? String(at);
  return label.startsWith(`${noun} `) ? label : `${noun} ${label}`;
}
