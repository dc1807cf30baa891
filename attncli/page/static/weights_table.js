/* The weights as a table of queries and keys: of one head, or the mean of all heads. */

import { resultName } from "./changes.js";
import { nodeOf } from "./slices.js";
import { strides } from "./values.js";

/**
 * The weights of the batch item and the head in view; null where the page has no weights.
 *
 * `data` has the numbers in the order of rows, `rows` and `columns` the labels of queries and keys, `rowTokens` and
 * `columnTokens` the same without the numbers of equal ones; empty where labels are none of tokens. `heads` says how
 * many heads there are, 0 where there is no axis of heads; with `isMean` the numbers are the mean of all heads.
 * `isSelf` says whether queries and keys are the same words in the same order.
 */
export function weightsTable(state, isMean = false, positions = state.get().positions) {
  const { page, nodes, values } = state.get();
  const name = resultName(state.get(), "weights");
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) return null;
  const [rows, columns] = node.labels;
  const heads = node.axes.includes("h") ? page.axes.h.length : 0;
  const isSelf = rows.length === columns.length && rows.every((label, at) => label === columns[at]);
  const [rowTokens, columnTokens] = node.axes.slice(-2).map((letter) => page.axes[letter].tokens);
  const table = { name, rows, columns, rowTokens, columnTokens, heads, isSelf, data: null };
  const value = values.get(name);
  if (value === undefined) return table;
  const chosen = isMean && heads ? Array.from({ length: heads }, (_, h) => ({ ...positions, h })) : [positions];
  return { ...table, data: meanOf(chosen.map((one) => matrixOf(value, node.axes, one))) };
}

/** The rows and columns of a value at a position on each axis before them. */
function matrixOf(value, axes, positions) {
  const size = value.shape.slice(-2).reduce((product, length) => product * length, 1);
  const steps = strides(value.shape);
  const start = axes.slice(0, -2).reduce((sum, letter, axis) => {
    return sum + (value.shape[axis] === 1 ? 0 : (positions[letter] ?? 0) * steps[axis]);
  }, 0);
  return value.data.subarray(start, start + size);
}

function meanOf(matrices) {
  if (matrices.length === 1) return matrices[0];
  return matrices[0].map((_, at) => matrices.reduce((sum, matrix) => sum + matrix[at], 0) / matrices.length);
}

/** The largest absolute value of a table; 1 where all are 0 or there is none. */
export function largestNumber(data) {
  return data.reduce((largest, x) => (Math.abs(x) > largest ? Math.abs(x) : largest), 0) || 1;
}

/** The weights between a word and those on the other side: a query's row, or a key's column. */
export function weightsOfWord(table, { side, index }) {
  const width = table.columns.length;
  if (side === "query") return table.data.slice(index * width, (index + 1) * width);
  return Float64Array.from(table.rows, (_, row) => table.data[row * width + index]);
}

/** A weight as text, with at most three decimals; one that is exactly 0 has none. */
export function weightText(weight, decimals) {
  if (!Number.isFinite(weight)) return String(weight);
  if (weight === 0) return "0";
  const text = weight.toFixed(Math.min(decimals, 3));
  return (/[1-9]/.test(text) ? text : text.replace("-", "")).replace("-", "−");
}

const SUM_ROUNDING = 1e-9; // by which the weights of a distribution may miss 1 in the page's numbers

/** The mean entropy, in nats, of the rows that are distributions; null where none is. */
export function meanEntropy({ data, columns }) {
  const entropies = [];
  for (let start = 0; start < data.length; start += columns.length) {
    const row = data.subarray(start, start + columns.length);
    const total = row.reduce((sum, x) => sum + x, 0);
    const isDistribution = Math.abs(total - 1) <= SUM_ROUNDING && row.every((x) => x >= 0);
    if (isDistribution) entropies.push(row.reduce((sum, x) => (x === 0 ? sum : sum - x * Math.log(x)), 0));
  }
  return entropies.length === 0 ? null : entropies.reduce((sum, x) => sum + x, 0) / entropies.length;
}

/** At first: no word, what a word looks at, in the head in view. */
export const NO_WORD = { pointed: null, pinned: null, isMean: false, isReversed: false };

/** The table that the words are coloured by: of the head in view, or of all. */
export function sentenceTable(state) {
  return weightsTable(state, state.get().sentence.isMean);
}

/** The word in force: the one that is pointed at, by itself or by a number of its row, or else the one that is pinned. */
export function wordInForce(state, table) {
  const { pointed, pinned, isReversed } = state.get().sentence;
  const cell = pairInView(state);
  const ofCell = cell === null ? null : table.isSelf && isReversed ? { side: "key", index: cell[1] } : { side: "query", index: cell[0] };
  const word = pointed ?? ofCell ?? pinned;
  return word === null || !table.isSelf ? word : { ...word, side: isReversed ? "key" : "query" };
}

/** The cell [query, key] that is pointed at in a table of queries and keys; null where there is none. */
export function pairInView(state) {
  const { pointed, step } = state.get();
  return pointed !== null && isPairTable(nodeOf(state.get(), step)) ? pointed : null;
}

/** Whether a step has a row for each query and a column for each key. */
export function isPairTable(node) {
  return node !== null && node.axes.slice(-2).join() === "n,m";
}

/** Change a part of what the sentence shows. */
export function changeSentence(state, changes) {
  state.update({ sentence: { ...state.get().sentence, ...changes } });
}
