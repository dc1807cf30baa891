/* The functions of plans that the page computes, by the names that nodes have for them. */

const FUNCTIONS = new Map();

/**
 * Register a function of plans; each has a file of its own in `functions/`.
 *
 * `compute(inputs, options, tap)` returns an array from those of a node's inputs, by argument; `tap(name, array)` keeps
 * an inner quantity and returns it.
 */
export function defineFunction(name, definition) {
  FUNCTIONS.set(name, definition);
}

/** What is known of a function; undefined where the page does not have it. */
export function functionOf(node) {
  return FUNCTIONS.get(node.function);
}
