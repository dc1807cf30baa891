/* The functions of plans that the page has, by the names that nodes have for them. */

const FUNCTIONS = new Map();
let definitionOf = null; // of a program, in pages that have some


/**
 * Register a function of plans; `functions/` has a file for each kind of them.
 *
 * `compute(inputs, options, tap)` returns an array from those of a node's inputs, by argument; `tap(name, array)` keeps
 * an inner quantity, where the node has it, and returns it. Beside it stands what is known of the arithmetic of a cell:
 *
 * - `work(cell)`: its lines (cell.js);
 * - `reads`: the arguments and inner quantities that it is made of; without it all of them;
 * - `whole`: the letters of the axes of which it reads every position, though it has one itself;
 * - `index`: by argument, a function of the cell and of the node that is read, which returns the cells that are read,
 *   each a position or null for all of them on each axis; without it those at the same positions on the same letters;
 * - `sources(cell)`: these cells, {step, role, index}, in place of `whole` and `index`;
 * - `inner`: the same of each inner quantity by name; `isDistribution`: whether its rows add to 1.
 */
export function defineFunction(name, definition) {
  FUNCTIONS.set(name, definition);
}

/** Read programs of nodes by a function that returns the definition of each. */
export function readProgramsBy(define) {
  definitionOf = define;
}

/** What is known of the function of a node; undefined where the page does not have it. */
export function functionOf(node) {
  return node.program ? definitionOf(node.program) : FUNCTIONS.get(node.function);
}
