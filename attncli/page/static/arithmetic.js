/* The arithmetic of a cell: the lines that compute it, and the cells that it is made from. */

import { makeCell } from "./cell.js";
import { sumOf } from "./terms.js";

/**
 * The cells that a cell of a node is made from: [{step, role, index}]; none of an input, or where numbers are missing.
 *
 * `index` has the position of the cell on each axis of the node; that of a source has null where all positions on an
 * axis are read. `state` has `page`, `nodes` and `values`.
 */
export function sourcesOf(node, index, state) {
  if (node.function === null && node.tapped_from === null) return [];
  const cell = makeCell(node, index, state);
  return cell.isKnown ? cell.sources() : [];
}

/**
 * The lines of arithmetic of a cell: each is a list of strings and of links {text, step, index} to the cells that the
 * numbers come from. Where the page does not have the node's function, they are the program's; an input has none.
 */
export function arithmeticOf(node, index, state) {
  if (node.function === null && node.tapped_from === null) return [];
  const cell = makeCell(node, index, state);
  if (!cell.isKnown) return [];
  if (cell.rule?.work === undefined) return programLines(cell, state);
  return [...workedLines(cell), ...rowSum(cell)];
}

/** The program's own lines of a cell, which the page has for steps whose function it does not have. */
function programLines({ node, at }, { page, values }) {
  const worked = page.worked[node.name];
  if (worked === undefined) return [];
  const lengthOf = (letter) => values.get(node.name).shape[node.axes.indexOf(letter)];
  const place = worked.axes.reduce((before, letter) => before * lengthOf(letter) + at[letter], 0);
  return worked.lines[place].map((line) => [line]);
}

/** The lines of a cell; none where the page does not have the function. */
export function workedLines(cell) {
  return cell.rule?.work?.(cell) ?? [];
}

/** That the weights of a distribution add to 1; nothing of a row that has fewer than two. */
function rowSum(cell) {
  if (!cell.rule.isDistribution) return [];
  const weights = cell.row();
  if (weights.filter((weight) => weight.value(null) !== 0).length < 2) return [];
  return [cell.computed(`Σⱼ ${cell.symbol()}ᵢⱼ`, sumOf(weights, cell.column)).line];
}
